// Comparisons people ask for often, as two sides of a difference. Pure.
import type { DiffState, TimeState } from './state';
import { parseSpan } from './format';

const quoted = (value: string) => '"' + value.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n') + '"';

// The selector with `label` equal to `value`, whatever it said about that label before.
export function withLabel(query: string, label: string, value: string): string {
  const open = query.indexOf('{');
  const name = open < 0 ? query.trim() : query.slice(0, open).trim();
  const matchers = open < 0 ? [] : split(query.slice(open + 1, query.lastIndexOf('}') < open ? undefined : query.lastIndexOf('}')));
  const kept = matchers.filter((m) => m.split(/=~|!~|!=|=/)[0].trim() !== label);
  return `${name}{${[...kept, `${label}=${quoted(value)}`].join(', ')}}`;
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

// Two values of one label at the same time: shares, because they seldom carry the same load.
export function valueAgainst(state: DiffState, label: string, before: string, after: string): Sides {
  return { query: withLabel(state.query, label, after), baseQuery: withLabel(state.query, label, before), from: state.from, to: state.to, baseFrom: null, baseTo: null, mode: 'share' };
}
