// The numbers of a difference: the scale of the side before, and which functions changed most. Pure.
import type { FlameChange } from './answers';
import { formatShare, formatValue, isSignificant } from './format';
import type { Tree } from './tree';

export type DiffMode = 'raw' | 'rate' | 'share';

// The factor for values before. rate: per observed second; share: of each side's total.
export function factorOf(
  mode: DiffMode,
  seconds: { before: number; after: number },
  total: { before: number; after: number },
): number {
  if (mode === 'rate') return seconds.before > 0 && seconds.after > 0 ? seconds.after / seconds.before : 1;
  if (mode === 'share') return total.before > 0 && total.after > 0 ? total.after / total.before : 1;
  return 1;
}

// The unit of a difference's numbers. Both sides are on the scale of the side after.
export interface Measure {
  mode: DiffMode;
  seconds: number;
  whole: number;
}

export function formatMeasured(v: number, unit: string, scale: number, measure?: Measure): string {
  if (measure?.mode === 'share') return formatShare(v, measure.whole);
  if (measure?.mode === 'rate') return formatValue(v / measure.seconds, unit, scale) + ' per s';
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

// Uses the observations of each side; if those of the side before are unknown, it assumes the same sampling.
export function mayBeChance(tree: Tree, node: number): boolean {
  const [before, after, n] = [tree.totalBefore![node], tree.total[node], tree.totalCount[node]];
  if (tree.totalCountBefore) return before !== after && !isSignificant(before, after, tree.totalCountBefore[node], n);
  const perSample = n > 0 ? after / n : tree.totalCount[0] > 0 ? tree.total[0] / tree.totalCount[0] : 0;
  return perSample > 0 && !isSignificant(before, after, before / perSample, n);
}
