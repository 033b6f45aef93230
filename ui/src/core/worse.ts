// What got worse since the last version of each service: the answer of GET /api/v1/worse, and its sentences. Pure.
import type { ServiceChange, Worse } from './answers';
import { formatRough, formatSpan, formatValue } from './format';
import { functionIn } from './regressions';
import { encodeDiff, newDiff } from './state';

// A service that certainly got worse: with what it was compared with, and the cost.
export type WorseEntry = ServiceChange & Required<Pick<ServiceChange, 'since' | 'sides' | 'whole' | 'cost'>>;

const isWhole = (c: ServiceChange): c is WorseEntry =>
  [c.since, c.sides, c.whole, c.cost].every((v) => v !== undefined);

// Most certain cost first.
export const cardsOf = (w?: Worse | null): WorseEntry[] => w?.worse.filter(isWhole) ?? [];

// "×3.3"; of costs that nearly doubled or more, else "+12 %".
export function timesText({ before, after }: { before: number; after: number }): string {
  if (!(before > 0)) return 'new';
  const times = after / before;
  return times >= 1.95
    ? `×${formatRough(times)}`
    : `${times >= 1 ? '+' : '−'}${Math.abs(100 * (times - 1)).toFixed(0)} %`;
}

// "CPU/request 3.50 ms → 11.7 ms"; of shares nothing, for the whole is always the whole.
export function costText({ mode, type, unit, whole }: WorseEntry): string {
  if (mode !== 'request') return '';
  const [before, after] = [formatValue(whole.before, unit), formatValue(whole.after, unit)];
  const [low, high] = [whole.low, whole.high].map((v) => (v < 0 ? '−' : '+') + formatValue(Math.abs(v), unit));
  return `${type} per request ${before} → ${after} ${timesText(whole)} (${low} to ${high})`;
}

// Where a card leads: the comparison; the line and the traces of the first cause.
export function addressesOf(e: WorseEntry): { diff: string; line: string; traces: string } {
  const { sides, type } = e;
  const time = { since: '1h', from: Number(sides.from_ms), to: Number(sides.to_ms) };
  const base = { baseFrom: Number(sides.base_from_ms), baseTo: Number(sides.base_to_ms) };
  const own = e.causes[0]?.own ?? e.causes[0];
  const mode = e.mode === 'request' ? 'request' : 'share';
  return {
    diff: encodeDiff(newDiff({ ...time, ...base, query: sides.query, baseQuery: sides.base_query, type, mode })),
    ...functionIn(e, { name: own?.function ?? '', module: own?.module ?? null }),
  };
}

// The heading over the cards.
export function headingOf(w: Worse, now: number): string {
  const looked = w.looked_at < w.services ? `, looked at ${w.looked_at} of ${w.services}` : '';
  if (w.worse.length > 0)
    return `${w.worse_in_all} of ${w.looked_at} services got worse since their last version${looked}`;
  if (w.services === 0) return '';
  if (w.looked_at === 0) return w.looking ? 'Looking for what got worse…' : '';
  const tested = w.others.filter((o) => o.since && typeof o.detectable_share === 'number');
  if (tested.length === 0) return `Nothing could be compared with a version before yet${looked}`;
  const oldest = Math.min(...tested.map((o) => Number(o.since!.at_ms)));
  const seen = tested.map((o) => o.detectable_share!).sort((a, b) => a - b)[tested.length >> 1];
  // 0: the sides do not differ from block to block, as in made up data.
  const found = seen > 0 ? `; a change of ${formatRough(100 * seen)} % or more would have been found` : '';
  return `Nothing surely got worse since ${formatSpan(now - oldest)} ago${found}${looked}`;
}
