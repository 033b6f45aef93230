// The rows of the list of services: trends that begin and end where any service has data, CPU per request, orders.
// Pure, but for the time.
import type { Overview, ServiceOverview } from './answers';
import { now } from './clock';
import type { OverviewState } from './state';
import { settledSteps, stepsTogether, sumOf, together, trendOf, withGaps, type Values } from './trend';

export interface ServiceRow extends ServiceOverview {
  trend: Values | null;
  trendFrom: number; // ms
  trendStep: number;
  cost: number | null; // CPU nanoseconds per request
}

export function rowsOf(answer: Overview | undefined): ServiceRow[] {
  const rows = (answer?.services ?? []).map((s) => rowOf(s, answer!));
  const has = (v: number | null) => v !== null;
  // All trends have the same steps, or they would not line up below each other.
  const trends = rows.flatMap((r) => (r.trend ? [r] : []));
  const from = Math.min(...trends.map((r) => r.trendFrom + Math.max(r.trend!.findIndex(has), 0) * r.trendStep));
  const ends = (values: Values) => values.length - [...values].reverse().findIndex(has);
  const to = Math.max(...trends.map((r) => r.trendFrom + (r.trend!.some(has) ? ends(r.trend!) : 0) * r.trendStep));
  return to > from ? rows.map((r) => fitted(r, from, to)) : rows;
}

function fitted(row: ServiceRow, from: number, to: number): ServiceRow {
  if (!row.trend) return row;
  const first = Math.max(0, Math.floor((from - row.trendFrom) / row.trendStep));
  const end = Math.ceil((to - row.trendFrom) / row.trendStep);
  const trend = Array.from({ length: end - first }, (_, i) => row.trend![first + i] ?? null);
  return { ...row, trend, trendFrom: row.trendFrom + first * row.trendStep };
}

const POINTS = 60;

function rowOf(s: ServiceOverview, answer: Overview): ServiceRow {
  const none = { ...s, trend: null, trendFrom: 0, trendStep: 0, cost: null };
  if (!s.cpu) return none;
  const fine = withGaps(s.cpu, s.cpu_gaps);
  const phase = Math.round(answer.start_ms / answer.step_ms);
  const k = stepsTogether([fine], phase);
  const all = together(fine, k, false, phase);
  const start = answer.start_ms - (phase % k) * answer.step_ms;
  const step = answer.step_ms * k;
  const newest = s.last ? Date.parse(s.last) : undefined;
  const values = all.slice(0, settledSteps([all], start, step, newest, now()));
  return {
    ...none,
    trend: trendOf(values, together(answer.step_observed_ms, k, false, phase), 1, POINTS),
    trendFrom: start,
    trendStep: step * Math.max(1, Math.ceil(values.length / POINTS)),
    cost: s.latency && s.latency.requests > 0 ? sumOf(s.cpu.map(Number)) / s.latency.requests : null,
  };
}

const lastOf = (r: ServiceOverview) => (r.last ? Date.parse(r.last) : NaN);

// Largest first; what has no value last.
const ORDERS: Record<Exclude<OverviewState['sort'], 'name'>, (r: ServiceRow) => number | null> = {
  cores: (r) => r.cores ?? null,
  cost: (r) => r.cost,
  median: (r) => (r.latency ? Number(r.latency.median_ns) : null),
  p99: (r) => (r.latency ? Number(r.latency.p99_ns) : null),
  heap: (r) => (r.heap_bytes === undefined ? null : Number(r.heap_bytes)),
  last: (r) => (r.last ? lastOf(r) : null),
};

export function sorted(rows: ServiceRow[], by: OverviewState['sort']): ServiceRow[] {
  const byName = (a: ServiceRow, b: ServiceRow) => a.name.localeCompare(b.name);
  if (by === 'name') return [...rows].sort(byName);
  const value = (r: ServiceRow) => ORDERS[by](r) ?? -1;
  return [...rows].sort((a, b) => value(b) - value(a) || byName(a, b));
}

// All senders we know send at least once a minute, so three minutes without a profile are worth a note.
const QUIET_MS = 180e3;
export const isQuiet = (row: ServiceOverview, until: number) => until - lastOf(row) > QUIET_MS;
