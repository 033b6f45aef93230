// Decodes a flame graph in the FG1 format (docs/format.md, "Flame graph") to columns. Pure; throws on damaged data.
//
// Values beyond 2^53 are rounded. That is fine for a picture; the table gets exact numbers.

import type { FileFacts, FlameChange, FlameMeta as FlameAnswer, Found, Int64 } from './answers';

// The same type with numbers instead of Int64.
export type Rounded<T> = [Int64] extends [T] ? number : T extends object ? { [K in keyof T]: Rounded<T[K]> } : T;
export type FlameMeta = Rounded<FlameAnswer>;
export type FlameFound = Rounded<Found>;

export interface FlameFunction {
  name: string;
  module: string;
  file: string;
  line: number;
  kind: number;
}

export interface FlameColumns {
  meta: FlameMeta;
  functions: FlameFunction[];
  depth: Uint32Array;
  func: Uint32Array;
  self: Float64Array;
  count: Float64Array;
  hidden: Uint32Array;
  before?: Float64Array; // self values before, in a difference
  beforeCount?: Float64Array; // and their observations
  verdict?: Float64Array; // whether a difference is more than chance: UNKNOWN, UNDECIDED, MORE, LESS
}

export const OTHER = 5; // the kind of a fold
export const [UNKNOWN, UNDECIDED, MORE, LESS] = [0, 1, 2, 3];

const META = 1,
  STRINGS = 2,
  FUNCTIONS = 3,
  POPS = 4,
  FUNC = 5,
  SELF = 6,
  HIDDEN = 7,
  COUNT = 10,
  VERDICT = 11;

// Reads numbers in the encoding of protobuf and FG1.
export class Cursor {
  constructor(
    private bytes: Uint8Array,
    public at = 0,
  ) {}
  get done(): boolean {
    return this.at >= this.bytes.length;
  }
  varint(): number {
    let value = 0;
    let factor = 1;
    for (let i = 0; i < 10; i++) {
      if (this.at >= this.bytes.length) break;
      const byte = this.bytes[this.at++];
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
    throw new Error('flame graph: cut short');
  }
  zigzag(): number {
    const u = this.varint();
    return u % 2 === 0 ? u / 2 : -(u + 1) / 2;
  }
  take(n: number): Uint8Array {
    if (n > this.bytes.length - this.at) throw new Error('flame graph: cut short');
    this.at += n;
    return this.bytes.subarray(this.at - n, this.at);
  }
}

interface Section {
  id: number;
  count: number;
  bytes: Uint8Array;
}

function sectionsOf(bytes: Uint8Array): Section[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 8 || view.getUint32(0, true) !== 0x00314746) throw new Error('flame graph: not FG1');
  if (view.getUint16(4, true) !== 1) throw new Error(`flame graph: version ${view.getUint16(4, true)} is not known`);
  const n = view.getUint16(6, true);
  if (bytes.length < 8 + 16 * n) throw new Error('flame graph: section table cut short');
  const out: Section[] = [];
  for (let i = 0; i < n; i++) {
    const p = 8 + 16 * i;
    const id = view.getUint16(p, true);
    const count = view.getUint32(p + 4, true);
    const offset = view.getUint32(p + 8, true);
    const length = view.getUint32(p + 12, true);
    if (offset > bytes.length || length > bytes.length - offset)
      throw new Error('flame graph: section outside the file');
    if (id !== META && count > length) throw new Error('flame graph: more entries than bytes');
    out.push({ id, count, bytes: bytes.subarray(offset, offset + length) });
  }
  return out;
}

// Strings are decoded many at a time, since one call each would take most of the time. If the number of bytes equals
// the number of characters, all are ASCII and the text can be cut by byte lengths.
const TOGETHER = 256;

function stringsOf(section: Section): string[] {
  const cursor = new Cursor(section.bytes);
  const decoder = new TextDecoder();
  const lengths = new Uint32Array(section.count);
  for (let i = 0; i < lengths.length; i++) lengths[i] = cursor.varint();
  const out: string[] = new Array(section.count);
  for (let from = 0; from < lengths.length; from += TOGETHER) {
    const to = Math.min(from + TOGETHER, lengths.length);
    let size = 0;
    for (let i = from; i < to; i++) size += lengths[i];
    const bytes = cursor.take(size);
    const text = decoder.decode(bytes);
    for (let i = from, at = 0; i < to; at += lengths[i++]) {
      out[i] =
        text.length === size ? text.slice(at, at + lengths[i]) : decoder.decode(bytes.subarray(at, at + lengths[i]));
    }
  }
  return out;
}

// The function table as columns; names are indexes into the strings.
export interface FunctionColumns {
  name: Uint32Array;
  module: Uint32Array;
  file: Uint32Array;
  line: Float64Array;
  kind: Uint8Array;
}

function functionsOf(section: Section, strings: number): FunctionColumns {
  const cursor = new Cursor(section.bytes);
  const column = () => {
    const values = new Float64Array(section.count);
    for (let i = 0; i < values.length; i++) values[i] = cursor.varint();
    return values;
  };
  const texts = (ids: Float64Array) => {
    for (const id of ids) if (id >= strings) throw new Error('flame graph: string out of range');
    return Uint32Array.from(ids);
  };
  const [name, , file, line, module, kind] = [column(), column(), column(), column(), column(), column()];
  return { name: texts(name), module: texts(module), file: texts(file), line, kind: Uint8Array.from(kind) };
}

function depthsOf(section: Section): Uint32Array {
  const cursor = new Cursor(section.bytes);
  const depth = new Uint32Array(section.count);
  for (let i = 0; i < depth.length; i++) {
    const pops = cursor.varint();
    if (i === 0) continue;
    if (pops > depth[i - 1]) throw new Error('flame graph: two roots');
    depth[i] = depth[i - 1] + 1 - pops;
  }
  return depth;
}

function column(section: Section | undefined, nodes: number, read: (c: Cursor) => number): Float64Array {
  if (!section || section.count !== nodes) throw new Error('flame graph: columns differ in length');
  const cursor = new Cursor(section.bytes);
  const out = new Float64Array(nodes);
  for (let i = 0; i < nodes; i++) out[i] = read(cursor);
  return out;
}

// The decoded data in parts that are cheap to pass from a worker: numbers as columns, each string once.
export interface FlameParts extends Omit<FlameColumns, 'functions'> {
  strings: string[];
  table: FunctionColumns;
}

export function decodeParts(bytes: Uint8Array): FlameParts {
  const sections = sectionsOf(bytes);
  const need = (id: number) => {
    const found = sections.find((s) => s.id === id);
    if (!found) throw new Error(`flame graph: section ${id} is missing`);
    return found;
  };
  const meta = rounded(JSON.parse(new TextDecoder().decode(need(META).bytes)) as FlameAnswer);
  const strings = stringsOf(need(STRINGS));
  const table = functionsOf(need(FUNCTIONS), strings.length);
  const depth = depthsOf(need(POPS));
  const nodes = depth.length;
  if (nodes === 0) throw new Error('flame graph: empty');
  const func = Uint32Array.from(column(need(FUNC), nodes, (c) => c.varint()));
  for (const f of func) if (f >= table.name.length) throw new Error('flame graph: function out of range');
  const selves = sections.filter((s) => s.id === SELF);
  const counts = sections.filter((s) => s.id === COUNT);
  const verdict = sections.find((s) => s.id === VERDICT);
  const hidden = new Uint32Array(nodes);
  const folds = new Cursor(need(HIDDEN).bytes);
  for (let i = 0; i < need(HIDDEN).count; i++) {
    const node = folds.varint();
    if (node >= nodes) throw new Error('flame graph: hidden nodes');
    hidden[node] = folds.varint();
  }
  return {
    meta,
    strings,
    table,
    depth,
    func,
    hidden,
    self: column(selves[0], nodes, (c) => c.zigzag()),
    count: column(need(COUNT), nodes, (c) => c.zigzag()),
    before: selves[1] && column(selves[1], nodes, (c) => c.zigzag()),
    beforeCount: counts[1] && column(counts[1], nodes, (c) => c.zigzag()),
    verdict: verdict && column(verdict, nodes, (c) => c.zigzag()),
  };
}

export function assemble({ strings, table, ...columns }: FlameParts): FlameColumns {
  const { name, module, file, line, kind } = table;
  return {
    ...columns,
    functions: Array.from(name, (id, i) => ({
      name: strings[id],
      module: strings[module[i]],
      file: strings[file[i]],
      line: line[i],
      kind: kind[i],
    })),
  };
}

export const decodeFlame = (bytes: Uint8Array): FlameColumns => assemble(decodeParts(bytes));

// The server writes integers beyond 2^53 as text. The types make sure that none is forgotten.
const optional = (v: Int64 | undefined) => (v === undefined ? undefined : Number(v));

const roundedFile = (f: FileFacts | undefined) => f && { ...f, duration_ns: optional(f.duration_ns) };

const roundedChange = (c: FlameChange) => ({
  ...c,
  self_before: Number(c.self_before),
  self_after: Number(c.self_after),
  total_before: Number(c.total_before),
  total_after: Number(c.total_after),
});

const roundedFound = (f: Found | undefined) =>
  f && { ...f, value: Number(f.value), count: Number(f.count), value_before: optional(f.value_before) };

// In place: a trace may have 100,000 spans.
function roundedValues(values: Record<string, Int64>): Record<string, number> {
  for (const id in values) values[id] = Number(values[id]);
  return values as Record<string, number>;
}

function rounded(meta: FlameAnswer): FlameMeta {
  return {
    ...meta,
    total: Number(meta.total),
    count: Number(meta.count),
    total_before: optional(meta.total_before),
    search: roundedFound(meta.search),
    changes: meta.changes?.map(roundedChange),
    file: roundedFile(meta.file),
    base: roundedFile(meta.base),
    by_span: meta.by_span && roundedValues(meta.by_span),
  };
}
