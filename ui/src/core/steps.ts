// What a timeline draws: a line per group, and what matches a search. Pure.
import type { SeriesAnswer } from './api';
import { addedUp, stepsTogether, sumOf, together, withGaps, type Values } from './trend';

// `fill`: what a sum of each step is multiplied by to be that of a step seen from end to end, because time without data is no
// time in which nothing happened; 1 for averages, which are over what was seen already.
export interface Lines { startMs: number; stepMs: number; lines: { name: string; values: Values }[]; all: Values; matched: Values | null; fill: number[] }

const groupName = (labels: Record<string, string>) => Object.values(labels).join(', ') || 'all';

// Steps are taken together where the sender is slower than they are.
export function linesOf(s: SeriesAnswer): Lines {
  const fine = s.groups.map((g) => withGaps(g.values, g.gaps));
  const phase = Math.round(s.start_ms / s.step_ms);
  const k = stepsTogether(fine, phase, s.averaged);
  const length = Math.max(0, ...fine.map((v) => v.length));
  const all = addedUp(fine, length);
  const matched = s.search && all.map((v, i) => (v === null ? null : Number(s.search!.values[i])));
  const coarse = (values: Values) => together(values, k, s.averaged, phase, s.observed_ms);
  const seen = together(s.observed_ms, k, false, phase);
  return {
    startMs: s.start_ms - phase % k * s.step_ms, stepMs: s.step_ms * k,
    lines: s.groups.map((g, i) => ({ name: groupName(g.labels), values: coarse(fine[i]) })), all: coarse(all), matched: matched ? coarse(matched) : null,
    fill: seen.map((ms) => (s.averaged || !ms ? 1 : s.step_ms * k / ms)),
  };
}

// Of one step. Both are rounded when a profile is shared out between steps, each for itself: never more than all of it.
export const shareAt = (l: Lines, i: number): number => (l.all[i] ? Math.min(1, (l.matched?.[i] ?? 0) / l.all[i]!) : 0);

// How much of it matches, and the step with the largest share of those before `end`.
export function matchedOf(l: Lines, end = Infinity): { part: number; whole: number; most: { share: number; at: number } | null } | null {
  if (!l.matched) return null;
  let most: { share: number; at: number } | null = null;
  l.matched.forEach((_, i) => {
    const share = shareAt(l, i);
    if (i < end && share > (most?.share ?? 0)) most = { share, at: l.startMs + i * l.stepMs };
  });
  return { part: sumOf(l.matched), whole: sumOf(l.all), most };
}

// The largest value of any line before step `end`, as that of a step seen from end to end, and when.
export function peakOf(l: Lines, end = Infinity): { value: number; at: number } | null {
  let best = { value: 0, at: 0 };
  for (const { values } of l.lines) values.forEach((v, i) => { const value = (v ?? 0) * l.fill[i]; if (i < end && value > best.value) best = { value, at: l.startMs + i * l.stepMs }; });
  return best.value === 0 ? null : best;
}
