// Writes the types of the API's answers, out of docs/openapi.json, to standard output. `tools/ui answers` puts them
// into src/core/answers.ts, `tools/ui check` fails when that file is not what comes out here.
import { readFileSync } from 'node:fs';

const document = JSON.parse(readFileSync(new URL('../docs/openapi.json', import.meta.url), 'utf8'));
const API = '/api/v1/';
const WIDTH = 112;
const schemas = document.components.schemas;
const nameIn = (reference) => reference.split('/').at(-1);

// A description as comment lines.
function comment(text, indent) {
  const lines = [''];
  for (const word of (text ?? '').split(/\s+/).filter(Boolean)) {
    if (lines.at(-1).length + word.length > WIDTH) lines.push('');
    lines[lines.length - 1] += (lines.at(-1) && ' ') + word;
  }
  return lines[0] === '' ? '' : lines.map((line) => `${indent}// ${line}\n`).join('');
}

function tuple(item, { minItems, maxItems }) {
  return `[${Array.from({ length: maxItems }, (_, i) => (i < minItems ? item : `${item}?`)).join(', ')}]`;
}

const several = (type) => (type.includes('|') || type.includes(' ') ? `(${type})[]` : `${type}[]`);

function typeOf(schema) {
  if (schema.$ref) return nameIn(schema.$ref);
  if (schema.oneOf) return schema.oneOf.map(typeOf).join(' | ');
  if (schema.allOf) return schema.allOf.map(typeOf).join(' & ');
  if (schema.enum) return schema.enum.map((value) => `'${value}'`).join(' | ');
  switch (schema.type) {
    case 'array':
      return schema.maxItems ? tuple(typeOf(schema.items), schema) : several(typeOf(schema.items));
    case 'object':
      return schema.additionalProperties ? `Record<string, ${typeOf(schema.additionalProperties)}>` : fields(schema);
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
    case 'boolean':
      return schema.type;
    default:
      return 'unknown';
  }
}

function fields(schema) {
  const lines = Object.entries(schema.properties).map(([name, field]) => {
    const optional = schema.required?.includes(name) ? '' : '?';
    return `${comment(field.description, '  ')}  ${name}${optional}: ${typeOf(field)};\n`;
  });
  return `{\n${lines.join('')}}`;
}

function declaration(name) {
  const schema = schemas[name];
  const said = comment(schema.description, '');
  if (schema.allOf) {
    const bases = schema.allOf.filter((part) => part.$ref).map((part) => nameIn(part.$ref));
    const own = schema.allOf.find((part) => part.properties);
    return `${said}export interface ${name} extends ${bases.join(', ')} ${fields(own)}\n`;
  }
  if (schema.properties) return `${said}export interface ${name} ${fields(schema)}\n`;
  return `${said}export type ${name} = ${typeOf(schema)};\n`;
}

// Names in a schema, and in what they stand for.
function collect(schema, into) {
  if (schema === null || typeof schema !== 'object') return;
  const name = schema.$ref && nameIn(schema.$ref);
  if (name && !into.has(name)) {
    into.add(name);
    collect(schemas[name], into);
  }
  for (const inner of Object.values(schema)) collect(inner, into);
}

const answers = [];
for (const [path, methods] of Object.entries(document.paths)) {
  if (!path.startsWith(API)) continue;
  for (const operation of Object.values(methods)) {
    const schema = operation.responses['200'].content?.['application/json']?.schema;
    if (schema?.$ref || schema?.oneOf?.every((one) => one.$ref)) answers.push([path.slice(API.length), schema]);
  }
}
const used = new Set();
for (const [, schema] of answers) collect(schema, used);

console.log(`// The API's answers. Written by \`tools/ui answers\` out of docs/openapi.json; do not edit.
${[...used].sort().map(declaration).join('\n')}
// By path, below ${API}.
export interface Answers {
${answers.map(([path, schema]) => `  '${path}': ${typeOf(schema)};`).join('\n')}
}`);
