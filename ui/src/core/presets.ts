// Comparisons people ask for often, as two sides of a difference. Pure.
import type { DiffState, TimeState } from './state';
import { parseSpan } from './format';

const quoted = (value: string) => '"' + value.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n') + '"';

// The selector with `label` equal to `value`, whatever it said about that label before.
export function withLabel(query: string, label: string, value: string): string {
  const { name, matchers } = parts(query);
  const kept = matchers.filter((m) => labelOf(m) !== label);
  return `${name}{${[...kept, `${label}=${quoted(value)}`].join(', ')}}`;
}

const labelOf = (matcher: string) => matcher.split(/=~|!~|!=|=/)[0].trim();

// The selector without what it says about `label`.
export function withoutLabel(query: string, label: string): string {
  const { name, matchers } = parts(query);
  const kept = matchers.filter((m) => labelOf(m) !== label);
  return kept.length === 0 && name !== '' ? name : `${name}{${kept.join(', ')}}`;
}

// The value matchers ask a label to have; "" where they leave it open.
export function valueIn(matchers: string, label: string): string {
  for (const m of split(matchers)) {
    const text = /^[^=!]*=\s*"((?:[^"\\]|\\.)*)"$/.exec(m)?.[1];
    if (text !== undefined && labelOf(m) === label) return text.replace(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c));
  }
  return '';
}

function parts(query: string): { name: string; matchers: string[] } {
  const open = query.indexOf('{');
  if (open < 0) return { name: query.trim(), matchers: [] };
  const close = query.lastIndexOf('}');
  return { name: query.slice(0, open).trim(), matchers: split(query.slice(open + 1, close < open ? undefined : close)) };
}

// 'a="x,y", b=~"z"' at the commas that are not in a text.
function split(text: string): string[] {
  const out: string[] = [];
  let part = '';
  let inside = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '\\' && inside) { part += c + (text[++i] ?? ''); continue; }
    if (c === '"') inside = !inside;
    if (c === ',' && !inside) { out.push(part.trim()); part = ''; } else part += c;
  }
  return [...out, part.trim()].filter(Boolean);
}

// What B covers, in ms; a relative range is pinned to now.
export function rangeOf(time: TimeState, now: number): [number, number] {
  return time.from !== null && time.to !== null ? [time.from, time.to] : [now - parseSpan(time.since), now];
}

type Sides = Pick<DiffState, 'query' | 'baseQuery' | 'from' | 'to' | 'baseFrom' | 'baseTo' | 'mode'>;

const DAY = 86400e3;

export function dayBefore(state: DiffState, now: number): Sides {
  const [from, to] = rangeOf(state, now);
  return { query: state.query, baseQuery: state.query, from, to, baseFrom: from - DAY, baseTo: to - DAY, mode: 'raw' };
}

export function justBefore(state: DiffState, now: number): Sides {
  const [from, to] = rangeOf(state, now);
  return { query: state.query, baseQuery: state.query, from, to, baseFrom: 2 * from - to, baseTo: from, mode: 'raw' };
}

// The sides the other way round; times that move with the clock are pinned, or they would not be the same ones.
export function swapped(state: DiffState, now: number): Sides {
  const sides = { query: state.baseQuery || state.query, baseQuery: state.query, mode: state.mode };
  const own = state.baseFrom !== null && state.baseTo !== null;
  if (!own && sides.query !== sides.baseQuery) return { ...sides, from: state.from, to: state.to, baseFrom: null, baseTo: null };
  const [from, to] = rangeOf(state, now);
  return { ...sides, from: own ? state.baseFrom : 2 * from - to, to: own ? state.baseTo : from, baseFrom: from, baseTo: to };
}

// Two values of one label at the same time: shares, because they seldom carry the same load.
export function valueAgainst(state: DiffState, label: string, before: string, after: string): Sides {
  return { query: withLabel(state.query, label, after), baseQuery: withLabel(state.query, label, before), from: state.from, to: state.to, baseFrom: null, baseTo: null, mode: 'share' };
}
