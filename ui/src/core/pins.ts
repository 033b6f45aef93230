// Pins: windows whose days retention leaves alone. Where they begin and end, and in words. Pure.
import type { Alert, Regression } from './answers';
import { formatMany } from './format';
import { culpritOf } from './regressions';

const DAY = 86400e3;
export const LONGEST = 31 * DAY; // the server keeps no longer one

// What is to be kept, ms, and the reason that is offered.
export interface Wanted {
  service: string;
  from: number;
  to: number;
  why: string;
}

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

// The days that stay: those of the server, in UTC.
export function daysText(from: number, to: number): string {
  const [first, last] = [dayOf(from), dayOf(Math.max(from, to - 1))];
  const days = Math.round((Date.parse(last) - Date.parse(first)) / DAY) + 1;
  return days === 1 ? first : `${first} to ${last} (${formatMany(days, 'day')})`;
}

// Why a window cannot be kept; "" if it can.
export function windowProblem({ from, to }: Wanted): string {
  const days = formatMany(Math.ceil((to - from) / DAY), 'day');
  return to - from > LONGEST ? `A pin keeps at most 31 days, and this is ${days}: choose a shorter time.` : '';
}

// Both sides that were compared; the side after alone where they lie too far apart.
export function windowOfRegression(r: Regression): Wanted {
  const [base, from, to] = [r.sides.base_from_ms, r.sides.from_ms, r.sides.to_ms].map(Number);
  const first = Math.min(base, from);
  const why = `regression ${r.id}: ${culpritOf(r).name.slice(0, 100)}`;
  return { service: r.service, from: to - first > LONGEST ? from : first, to, why };
}

// From when its condition held.
export const windowOfAlert = (a: Alert, now: number): Wanted => ({
  service: a.service,
  from: Date.parse(a.activeAt),
  to: now,
  why: `alert ${a.alert}: ${a.text}`,
});
