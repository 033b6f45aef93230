// The heat map of durations: cells to times and durations and back, its scale, and what a selection is called. Pure.
import type { Latency } from './answers';
import { formatMany, formatTime, formatValue } from './format';
import type { Box } from './state';

export interface LatencyNumbers extends Omit<Latency, 'bounds_ns'> {
  bounds: number[]; // ns
  rows: number;
}

export function latencyNumbers(answer: Latency): LatencyNumbers {
  const bounds = answer.bounds_ns.map(Number);
  return { ...answer, bounds, rows: Math.max(bounds.length - 1, 0) };
}

// Two corners, in either order: [step, row].
export type Cells = [[number, number], [number, number]];

const sorted = (a: number, b: number): [number, number] => (a < b ? [a, b] : [b, a]);

// The first row has all shorter durations as well.
export function boxOf(map: LatencyNumbers, [[step, row], [otherStep, otherRow]]: Cells): Box {
  const [first, last] = sorted(step, otherStep);
  const [low, high] = sorted(row, otherRow);
  const at = (s: number) => map.start_ms + s * map.step_ms;
  return [at(first), at(last + 1), low === 0 ? 0 : map.bounds[low], map.bounds[high + 1] - 1];
}

// The part of the map that a selection covers, as shares of its width and height from the lower left; null outside.
export function placeOf(map: LatencyNumbers, [from, to, least, most]: Box) {
  const step = (t: number) => (t - map.start_ms) / map.step_ms / map.steps;
  const row = (ns: number) => {
    const at = map.bounds.findIndex((b) => b > ns);
    return at < 0 ? 1 : Math.max(at - 1, 0) / map.rows;
  };
  const [left, right] = [Math.max(step(from), 0), Math.min(step(to), 1)];
  const [bottom, top] = [row(least), row(most + 1)];
  return right > left && top > bottom ? { left, right, bottom, top } : null;
}

export interface Amount {
  count: number;
  errors: number;
}

// What lies between two corners; by default everything.
export function amountIn(map: LatencyNumbers, cells?: Cells): Amount {
  const [first, last] = cells ? sorted(cells[0][0], cells[1][0]) : [0, map.steps];
  const [low, high] = cells ? sorted(cells[0][1], cells[1][1]) : [0, map.rows];
  const sum = { count: 0, errors: 0 };
  for (const [step, row, count, errors] of map.cells)
    if (step >= first && step <= last && row >= low && row <= high) {
      sum.count += count;
      sum.errors += errors;
    }
  return sum;
}

export const amountText = ({ count, errors }: Amount, what: string) =>
  formatMany(count, what) + (errors > 0 ? `, ${formatMany(errors, 'error')}` : '');

const ns = (v: number) => formatValue(v, 'nanoseconds');

// "of 120 ms to 1.1 s, 12:31:05 to 12:35:00"
export function boxText([from, to, least, most]: Box, utc: boolean): string {
  const long = least > 0 ? `of ${ns(least)} to ${ns(most + 1)}` : `of up to ${ns(most + 1)}`;
  const [begin, end] = [formatTime(from, utc), formatTime(to, utc)];
  const day = begin.slice(0, 11);
  return `${long}, ${begin} to ${end.startsWith(day) ? end.slice(11) : end}`;
}

// Parameters of a question about the selection.
export const boxParams = ([from, to, least, most]: Box) => ({
  box_from: String(from),
  box_to: String(to),
  box_min: `${least}ns`,
  box_max: `${most}ns`,
});

// Rows to name on the scale: at most `most`, evenly, from the lowest.
export function ticksOf(map: LatencyNumbers, most = 5): number[] {
  const every = Math.max(Math.ceil(map.rows / most), 1);
  return Array.from({ length: Math.ceil(map.rows / every) }, (_, i) => i * every);
}
