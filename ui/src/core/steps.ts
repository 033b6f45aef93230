// What a timeline draws: one line per group, and what matches a search. Pure.
import type { Series } from './answers';
import { addedUp, stepsTogether, sumOf, together, withGaps, type Values } from './trend';

// `fill`: scales the sum of each step as if it had been observed from end to end, because time without data is not idle
// time. 1 for averages, which already cover only observed time.
export interface Lines {
  startMs: number;
  stepMs: number;
  lines: { name: string; values: Values }[];
  all: Values;
  matched: Values | null;
  fill: number[];
}

// Names short enough to stand beside each other, and still different: what all begin with is left out first.
export function shortGroups(names: string[], most = 24): string[] {
  if (names.every((n) => n.length <= most)) return names;
  const named = names.filter((n) => n !== OTHERS);
  let same = 0;
  while (named.length > 1 && named.every((n) => n.length > same && n[same] === named[0][same])) same++;
  return names.map((n) => {
    const rest = n !== OTHERS && same > 3 ? '…' + n.slice(same) : n;
    return rest.length <= most ? rest : rest.slice(0, most - 1) + '…';
  });
}
const OTHERS = 'other';

const groupName = (labels: Record<string, string>) => Object.values(labels).join(', ') || 'all';

// Steps are merged if the sender's interval is longer.
export function linesOf(s: Series): Lines {
  const fine = s.groups.map((g) => withGaps(g.values, g.gaps));
  const phase = Math.round(s.start_ms / s.step_ms);
  const k = stepsTogether(fine, phase, s.averaged);
  const length = Math.max(0, ...fine.map((v) => v.length));
  const all = addedUp(fine, length);
  const matched = s.search && all.map((v, i) => (v === null ? null : Number(s.search!.values[i])));
  const coarse = (values: Values) => together(values, k, s.averaged, phase, s.observed_ms);
  const seen = together(s.observed_ms, k, false, phase);
  return {
    startMs: s.start_ms - (phase % k) * s.step_ms,
    stepMs: s.step_ms * k,
    lines: s.groups.map((g, i) => ({ name: groupName(g.labels), values: coarse(fine[i]) })),
    all: coarse(all),
    matched: matched ? coarse(matched) : null,
    fill: seen.map((ms) => (s.averaged || !ms ? 1 : (s.step_ms * k) / ms)),
  };
}

// The share of one step. Both values are rounded separately when a profile is split between steps, so it is capped at
// 1.
export const shareAt = (l: Lines, i: number): number => (l.all[i] ? Math.min(1, (l.matched?.[i] ?? 0) / l.all[i]!) : 0);

// How much matches before step `end`, and the step with the largest share.
export function matchedOf(
  l: Lines,
  end = Infinity,
): { part: number; whole: number; most: { share: number; at: number } | null } | null {
  if (!l.matched) return null;
  let most: { share: number; at: number } | null = null;
  l.matched.forEach((_, i) => {
    const share = shareAt(l, i);
    if (i < end && share > (most?.share ?? 0)) most = { share, at: l.startMs + i * l.stepMs };
  });
  return { part: sumOf(l.matched), whole: sumOf(l.all), most };
}

// The largest value of any line before step `end`, scaled to a fully observed step, and its time.
export function peakOf(l: Lines, end = Infinity): { value: number; at: number } | null {
  let best = { value: 0, at: 0 };
  for (const { values } of l.lines)
    values.forEach((v, i) => {
      const value = (v ?? 0) * l.fill[i];
      if (i < end && value > best.value) best = { value, at: l.startMs + i * l.stepMs };
    });
  return best.value === 0 ? null : best;
}
