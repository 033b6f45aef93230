// What got worse since the last version of each service: the answer of GET /api/v1/worse, and its sentences. Pure.
import type { Int64, ServiceMarks } from './answers';
import { formatRough, formatSpan, formatValue } from './format';
import { encodeDiff, encodeService, newDiff, newService } from './state';

export interface WorseCause {
  function: string;
  module: string;
  kind: string;
  change: number;
  low: number;
  high: number;
  share_of_before: number;
  own: { function: string; module: string; file: string; line: number; text?: string } | null;
  traces: string[];
}

// A service that certainly got worse, most certain cost first.
export interface WorseEntry {
  service: string;
  sentence: string;
  q: number;
  mode: 'request' | 'share';
  since: { label: string; before: string; after: string; at_ms: number };
  type: string;
  unit: string;
  whole: { before: number; after: number; change: number; low: number; high: number };
  cost: { cores: number; low: number; high: number };
  latency: Record<'p50_ns_before' | 'p50_ns_after' | 'p99_ns_before' | 'p99_ns_after', Int64> | null;
  causes: WorseCause[];
  endpoints: string[];
  regressions?: string[]; // ids of its open records
  sides: {
    query: string;
    from_ms: number;
    to_ms: number;
    base_query: string;
    base_from_ms: number;
    base_to_ms: number;
  };
  command: string;
  age_ms: number;
}

// One that did not.
export interface OtherEntry {
  service: string;
  verdict: string;
  since?: { label: string; before: string; after: string; at_ms: number };
  sentence: string;
  detectable_share?: number | null;
  reason: string;
  regressions?: string[];
}

export interface Worse {
  at: string;
  age_ms: number | null;
  looking: boolean;
  looked_at: number;
  services: number;
  worse_in_all: number;
  worse: WorseEntry[];
  others: OtherEntry[];
  marks?: ServiceMarks[];
}

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
  const { sides, type, mode } = e;
  const time = { since: '1h', from: sides.from_ms, to: sides.to_ms };
  const base = { baseQuery: sides.base_query, baseFrom: sides.base_from_ms, baseTo: sides.base_to_ms };
  const own = e.causes[0]?.own ?? e.causes[0];
  const at = { ...newService(e.service, time), type, fn: own?.function ?? '', mod: own?.module ?? null };
  return {
    diff: encodeDiff(newDiff({ ...time, ...base, query: sides.query, type, mode })),
    line: encodeService({ ...at, view: 'source' }),
    traces: encodeService({ ...at, view: 'traces' }),
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
  const oldest = Math.min(...tested.map((o) => o.since!.at_ms));
  const seen = tested.map((o) => o.detectable_share!).sort((a, b) => a - b)[tested.length >> 1];
  // 0: the sides do not differ from block to block, as in made up data.
  const found = seen > 0 ? `; a change of ${formatRough(100 * seen)} % or more would have been found` : '';
  return `Nothing surely got worse since ${formatSpan(now - oldest)} ago${found}${looked}`;
}
