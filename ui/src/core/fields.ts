// The fields of an address: which values are valid, how they are read and written. Pure. A page is a table of fields
// (state.ts), from which reading and writing both follow: read(write(x)) = x for every valid x.
import { parseSpan } from './format';

export interface Field<T> {
  name?: string; // in the address, if it differs from the key
  initial: T; // the default, left out of the address
  read: (text: string) => T | undefined; // undefined if it is invalid
  write: (value: T) => string | null; // null to leave it out
  wanted?: string; // what a value must be, in words, unless any text is valid
}
// biome-ignore lint/suspicious/noExplicitAny: a table has fields of every type
export type Fields = Record<string, Field<any>>;
export type Values<F extends Fields> = { -readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never };

export const text: Field<string> = { initial: '', read: (t) => t, write: (v) => v };

// As text, but "" and no value are different.
export const textOrNone: Field<string | null> = { initial: null, read: (t) => t, write: (v) => v };

export const flag: Field<boolean> = {
  initial: false,
  read: (t) => (t === '1' ? true : undefined),
  write: (v) => (v ? '1' : null),
  wanted: '1',
};

// The first choice is the default.
export const oneOf = <const C extends readonly string[]>(...choices: C): Field<C[number]> => ({
  initial: choices[0],
  read: (t) => choices.find((c) => c === t),
  write: (v) => v,
  wanted: `one of ${choices.join(', ')}`,
});

// A frame of a flame graph, or a span.
export const id: Field<string> = {
  initial: '',
  read: (t) => (/^[0-9a-f]{16}$/.test(t) ? t : undefined),
  write: (v) => v,
  wanted: 'an id of 16 hex digits',
};

export const lineNumber: Field<number> = {
  initial: 0,
  read: (t) => (/^\d{1,9}$/.test(t) ? Number(t) : undefined),
  write: String,
  wanted: 'the number of a line',
};

export const part: Field<[number, number] | null> = {
  initial: null,
  read: (t) => {
    const [, from, to] = /^(\d{1,15})-(\d{1,15})$/.exec(t) ?? [];
    return from !== undefined && Number(from) < Number(to) ? [Number(from), Number(to)] : undefined;
  },
  write: (v) => v?.join('-') ?? null,
  wanted: 'a part of the timeline, two times in ms such as 1763200000000-1763203600000',
};

// A part of a heat map of durations: two times in ms, and the shortest and the longest duration in ns.
export type Box = [number, number, number, number];
export const box: Field<Box | null> = {
  initial: null,
  read: (t) => {
    const [from, to, least, most] = /^(\d{1,15})-(\d{1,15})-(\d{1,18})-(\d{1,18})$/.exec(t)?.slice(1).map(Number) ?? [];
    return from < to && least <= most ? [from, to, least, most] : undefined;
  },
  write: (v) => v?.join('-') ?? null,
  wanted: 'a part of the heat map, two times in ms and two durations in ns',
};

// How far back. timeProblem reports invalid times.
export const since: Field<string> = {
  initial: '1h',
  read: (t) => (Number.isNaN(parseSpan(t)) ? undefined : t),
  write: (v) => v,
};

// One end of a fixed range, ms; see RANGES.
export const moment: Field<number | null> = {
  initial: null,
  read: (t) => unixMs(t) ?? undefined,
  write: (v) => (v === null ? null : String(v)),
};

export const named = <T>(name: string, field: Field<T>): Field<T> => ({ ...field, name });

// Two fields that are valid only together and in this order.
const RANGES = [
  ['from', 'to'],
  ['base_from', 'base_to'],
] as const;

// Unix time in s, ms, µs or ns, told apart by size as in the API, or a date and time with a zone; in ms. Null if it is
// not from 1970 to 2261. Values in the first day of 1970 are taken as ms, so that what this returns reads as the same
// again.
function unixMs(text: string | null): number | null {
  if (text === null) return null;
  if (/^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)$/.test(text)) return inRange(Date.parse(text));
  if (!/^\d{1,19}$/.test(text)) return null;
  const n = Number(text);
  return inRange(Math.floor(n < 1e8 ? n : n < 1e11 ? n * 1e3 : n < 1e14 ? n : n < 1e17 ? n / 1e3 : n / 1e6));
}

const inRange = (ms: number) => (ms >= 0 && ms < 9_223_372_036_854 ? ms : null);

export function initialOf<F extends Fields>(fields: F): Values<F> {
  return Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, field.initial])) as Values<F>;
}

export function readFields<F extends Fields>(fields: F, p: URLSearchParams): Values<F> {
  const entries = Object.entries(fields).map(([key, field]) => {
    const given = p.get(field.name ?? key);
    return [key, (given === null ? undefined : field.read(given)) ?? field.initial] as const;
  });
  const out = Object.fromEntries(entries);
  for (const range of RANGES) {
    const [from, to] = range.map((name) => Object.keys(fields).find((key) => (fields[key].name ?? key) === name));
    if (!from || !to) continue;
    if (out[from] === null || out[to] === null || out[from] >= out[to]) out[from] = out[to] = null;
  }
  return out as Values<F>;
}

// The query part of an address, with its question mark, or "". `first` goes before the fields.
export function writeFields<F extends Fields>(fields: F, state: Values<F>, first: [string, string][] = []): string {
  const p = new URLSearchParams(first);
  for (const [key, field] of Object.entries(fields)) {
    const written = field.write(state[key]);
    if (written !== null && written !== field.write(field.initial)) p.append(field.name ?? key, written);
  }
  return p.size === 0 ? '' : '?' + p;
}

// Every value in an address that cannot be used, in sentences; "" if there is none.
export function fieldProblems(fields: Fields, p: URLSearchParams): string {
  const said = [timeProblem(p, fields.since?.initial ?? since.initial)];
  for (const [key, { name = key, read, wanted }] of Object.entries(fields)) {
    const given = p.get(name);
    if (!given || !wanted || read(given) !== undefined) continue;
    said.push(`“${name}” in this page's address, ${given.slice(0, 40)}, is not ${wanted}. It is ignored.`);
  }
  return said.filter(Boolean).join(' ');
}

// Why the times of an address cannot be used; "" if they can, or there are none.
function timeProblem(p: URLSearchParams, initial: string): string {
  const back = p.get('since');
  if (back && since.read(back) === undefined)
    return (
      `“since” in this page's address, ${back.slice(0, 40)}, is not a time span (15m, 1h, 2d). ` +
      `The last ${initial === '1h' ? 'hour' : initial} is shown.`
    );
  for (const names of RANGES) {
    const texts = names.map((name) => p.get(name));
    if (!texts.some(Boolean)) continue;
    const bad = texts.findIndex((t) => unixMs(t) === null);
    if (bad >= 0 && !texts[bad])
      return `“${names[bad]}” is missing in this page's address. “${names[1 - bad]}” alone is ignored.`;
    if (bad >= 0)
      return (
        `“${names[bad]}” in this page's address, ${texts[bad]!.slice(0, 40)}, is not a time from 1970 to 2261 ` +
        '(2026-11-15T19:40:00Z, or Unix time in s, ms, µs or ns). It is ignored.'
      );
    if (unixMs(texts[0])! >= unixMs(texts[1])!)
      return `“${names[0]}” in this page's address is not before “${names[1]}”. Both are ignored.`;
  }
  return '';
}
