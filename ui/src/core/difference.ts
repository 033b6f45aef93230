// A difference as numbers: what a value before is worth, and which functions changed most. Pure.
import { formatShare, formatValue, isSignificant } from './format';
import type { FlameChange } from './flame';
import type { Tree } from './tree';

export type DiffMode = 'raw' | 'rate' | 'share';

// The factor for values before. rate: per second in which anything was seen; share: of each side's whole.
export function factorOf(mode: DiffMode, seconds: { before: number; after: number }, total: { before: number; after: number }): number {
  if (mode === 'rate') return seconds.before > 0 && seconds.after > 0 ? seconds.after / seconds.before : 1;
  if (mode === 'share') return total.before > 0 && total.after > 0 ? total.after / total.before : 1;
  return 1;
}

// What numbers of a difference are in: both sides lie on the scale of after, so that one measure fits both.
export interface Measure { mode: DiffMode; seconds: number; whole: number }

export function formatMeasured(v: number, unit: string, scale: number, measure?: Measure): string {
  if (measure?.mode === 'share') return formatShare(v, measure.whole);
  if (measure?.mode === 'rate') return formatValue(v / measure.seconds, unit, scale) + ' per s';
  return formatValue(v, unit, scale);
}

// How far a value moved: two shares differ by points.
export const formatMoved = (v: number, unit: string, scale: number, measure?: Measure) =>
  formatMeasured(v, unit, scale, measure).replace(/%$/, measure?.mode === 'share' ? 'points' : '%');

export interface Change { name: string; module: string; before: number; after: number }

// The server's list (exact, whatever was folded of the tree) with values before brought to the scale of after: largest
// change first. What did not change is not in it: sides brought to one scale differ by rounding.
export function changesOf(rows: FlameChange[], factor: number): Change[] {
  return rows.map((r) => ({ name: r.name, module: r.module, before: Number(r.self_before) * factor, after: Number(r.self_after) }))
    .filter((r) => Math.abs(r.after - r.before) > 1e-9 * Math.max(r.before, r.after))
    .sort((a, b) => Math.abs(b.after - b.before) - Math.abs(a.after - a.before));
}

// Each side by its own observations; where those of the earlier one are not known it is taken to be sampled alike.
export function mayBeChance(tree: Tree, node: number): boolean {
  const [before, after, n] = [tree.totalBefore![node], tree.total[node], tree.totalCount[node]];
  if (tree.totalCountBefore) return before !== after && !isSignificant(before, after, tree.totalCountBefore[node], n);
  const perSample = n > 0 ? after / n : tree.totalCount[0] > 0 ? tree.total[0] / tree.totalCount[0] : 0;
  return perSample > 0 && !isSignificant(before, after, before / perSample, n);
}
