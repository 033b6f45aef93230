// The numbers of a difference: the scale of the side before, and which functions changed most. Pure.
import type { Comparison, FlameChange, TestedChange } from './answers';
import { LESS, MORE } from './flame';
import { formatRough, formatShare, formatValue } from './format';
import type { Tree } from './tree';

export type DiffMode = 'raw' | 'rate' | 'share' | 'request';

export interface BothSides {
  before: number;
  after: number;
}

// The factor for values before. rate: per observed second; share: of each side's total; request: per request.
export function factorOf(mode: DiffMode, seconds: BothSides, total: BothSides, requests?: BothSides): number {
  const of = mode === 'rate' ? seconds : mode === 'share' ? total : mode === 'request' ? requests : undefined;
  return of && of.before > 0 && of.after > 0 ? of.after / of.before : 1;
}

// The unit of a difference's numbers. Both sides are on the scale of the side after.
export interface Measure {
  mode: DiffMode;
  seconds: number;
  whole: number;
  requests?: number;
}

export function formatMeasured(v: number, unit: string, scale: number, measure?: Measure): string {
  if (measure?.mode === 'share') return formatShare(v, measure.whole);
  if (measure?.mode === 'rate') return formatValue(v / measure.seconds, unit, scale) + ' per s';
  if (measure?.mode === 'request' && measure.requests)
    return formatValue(v / measure.requests, unit, scale) + ' per request';
  return formatValue(v, unit, scale);
}

// The size of a change; shares differ by percentage points.
export const formatMoved = (v: number, unit: string, scale: number, measure?: Measure) =>
  formatMeasured(v, unit, scale, measure).replace(/%$/, measure?.mode === 'share' ? 'points' : '%');

export interface Change {
  name: string;
  module: string;
  before: number;
  after: number;
}

// The server's list (exact, whatever was pruned), with values before scaled, largest change first. Differences that are
// only rounding are left out.
export function changesOf(rows: FlameChange[], factor: number): Change[] {
  return rows
    .map((r) => ({
      name: r.name,
      module: r.module,
      before: Number(r.self_before) * factor,
      after: Number(r.self_after),
    }))
    .filter((r) => Math.abs(r.after - r.before) > 1e-9 * Math.max(r.before, r.after))
    .sort((a, b) => Math.abs(b.after - b.before) - Math.abs(a.after - a.before));
}

// What the server is sure of: 1 more, -1 less, 0 neither. Of what was not tested nothing is sure.
export const sureOf = (tree: Tree, node: number): -1 | 0 | 1 =>
  tree.verdict?.[node] === MORE ? 1 : tree.verdict?.[node] === LESS ? -1 : 0;

// The tested change of a function, of those the server lists.
export function testedOf(tree: Tree, node: number): TestedChange | undefined {
  const { name, module } = tree.functions[tree.func[node]];
  return node === 0 ? undefined : tree.meta.changes?.find((c) => c.name === name && c.module === module)?.total;
}

// A tested value in its own unit: a share of 1, per second, or per request.
export function formatTested(v: number, unit: string, scale: number, mode: DiffMode): string {
  const size = Math.abs(v);
  if (mode === 'share') return `${size < 0.01 ? (100 * size).toPrecision(1) : formatRough(100 * size)} points`;
  return formatValue(size, unit, scale) + (mode === 'rate' ? ' per s' : mode === 'request' ? ' per request' : '');
}

const signedTested = (v: number, ...how: [string, number, DiffMode]) =>
  (v > 0 ? '+' : v < 0 ? '−' : '') + formatTested(v, ...how);

// "+1.1 points to +5.3 points"
export const intervalText = (c: Pick<Comparison, 'low' | 'high'>, ...how: [string, number, DiffMode]) =>
  `${signedTested(c.low, ...how)} to ${signedTested(c.high, ...how)}`;

// As the server tested it, over groups that are independent of each other. What was not tested is not judged.
export function mayBeChance(tree: Tree, node: number): boolean {
  return tree.verdict !== undefined && tree.totalBefore![node] !== tree.total[node] && tree.verdict[node] < MORE;
}
