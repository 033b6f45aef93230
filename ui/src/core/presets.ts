// Frequent comparisons as the two sides of a difference. Pure.
import { newDiff, type DiffState, type ServiceState, type TimeState } from './state';
import { parseSpan } from './format';

const quoted = (value: string) => '"' + value.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n') + '"';

// The selector with `label` set to `value`, replacing what it said about that label.
export function withLabel(query: string, label: string, value: string): string {
  const { name, matchers } = parts(query);
  const kept = matchers.filter((m) => labelOf(m) !== label);
  return `${name}{${[...kept, `${label}=${quoted(value)}`].join(', ')}}`;
}

const labelOf = (matcher: string) => matcher.split(/=~|!~|!=|=/)[0].trim();

// The selector without the matchers for `label`.
export function withoutLabel(query: string, label: string): string {
  const { name, matchers } = parts(query);
  const kept = matchers.filter((m) => labelOf(m) !== label);
  return kept.length === 0 && name !== '' ? name : `${name}{${kept.join(', ')}}`;
}

// The value that matchers require of a label; "" if they do not.
export function valueIn(matchers: string, label: string): string {
  for (const m of split(matchers)) {
    const text = /^[^=!]*=\s*"((?:[^"\\]|\\.)*)"$/.exec(m)?.[1];
    if (text !== undefined && labelOf(m) === label)
      return text.replace(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c));
  }
  return '';
}

function parts(query: string): { name: string; matchers: string[] } {
  const open = query.indexOf('{');
  if (open < 0) return { name: query.trim(), matchers: [] };
  const close = query.lastIndexOf('}');
  return {
    name: query.slice(0, open).trim(),
    matchers: split(query.slice(open + 1, close < open ? undefined : close)),
  };
}

// Splits 'a="x,y", b=~"z"' at commas outside of quotes.
function split(text: string): string[] {
  const out: string[] = [];
  let part = '';
  let inside = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '\\' && inside) {
      part += c + (text[++i] ?? '');
      continue;
    }
    if (c === '"') inside = !inside;
    if (c === ',' && !inside) {
      out.push(part.trim());
      part = '';
    } else part += c;
  }
  return [...out, part.trim()].filter(Boolean);
}

// The one service a selector asks for, and its other matchers; null if it is none or several.
export function serviceIn(query: string): { service: string; q: string } | null {
  const { name, matchers } = parts(query);
  const own = ['service_name', 'service.name'].find((label) => valueIn(matchers.join(', '), label) !== '');
  const service = name || (own ? valueIn(matchers.join(', '), own) : '');
  return service === '' ? null : { service, q: matchers.filter((m) => name !== '' || labelOf(m) !== own).join(', ') };
}

// The range of B in ms; a relative range is pinned to now.
export function rangeOf(time: TimeState, now: number): [number, number] {
  return time.from !== null && time.to !== null ? [time.from, time.to] : [now - parseSpan(time.since), now];
}

// A service against itself: the selection (or now) against the time just before it, or against `base`. Sides of
// different lengths are compared per second. `covered`: the part of the range that has data, because time without data
// is not idle time.
export function againstItself(
  s: ServiceState,
  query: string,
  base?: [number, number],
  covered?: [number, number] | null,
): DiffState {
  const [from, to] = s.sel ?? (base && covered) ?? (s.from !== null && s.to !== null ? [s.from, s.to] : [null, null]);
  const before: [number, number] | null = base ?? (from !== null && to !== null ? [2 * from - to, from] : null);
  return newDiff({
    since: s.since,
    from,
    to,
    query,
    baseQuery: query,
    baseFrom: before?.[0] ?? null,
    baseTo: before?.[1] ?? null,
    type: s.type,
    lens: s.lens,
    mode: base ? 'rate' : 'raw',
  });
}

// The time window before or after the current one, of the same length, or a text that says why there is none.
export function windowBeside(s: ServiceState, by: 1 | -1, now: number): Partial<ServiceState> | string {
  const [first, last] = rangeOf(s, now);
  const [from, to] = s.sel ?? [first, last];
  const moved: [number, number] = [from + by * (to - from), to + by * (to - from)];
  if (s.sel) return moved[1] <= first || moved[0] >= last ? 'The timeline ends there.' : { sel: moved };
  if (moved[0] >= now) return 'There is nothing after now.';
  // It moves with the clock again.
  if (moved[1] > now && to - from === parseSpan(s.since)) return { from: null, to: null };
  return { from: moved[0], to: moved[1], live: false };
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

// Swaps the sides. Relative times are pinned, since they would move otherwise.
export function swapped(state: DiffState, now: number): Sides {
  const sides = { query: state.baseQuery || state.query, baseQuery: state.query, mode: state.mode };
  const own = state.baseFrom !== null && state.baseTo !== null;
  if (!own && sides.query !== sides.baseQuery)
    return { ...sides, from: state.from, to: state.to, baseFrom: null, baseTo: null };
  const [from, to] = rangeOf(state, now);
  return {
    ...sides,
    from: own ? state.baseFrom : 2 * from - to,
    to: own ? state.baseTo : from,
    baseFrom: from,
    baseTo: to,
  };
}

// Two values of one label at the same time, compared as shares because their load usually differs.
export function valueAgainst(state: DiffState, label: string, before: string, after: string): Sides {
  return {
    query: withLabel(state.query, label, after),
    baseQuery: withLabel(state.query, label, before),
    from: state.from,
    to: state.to,
    baseFrom: null,
    baseTo: null,
    mode: 'share',
  };
}
