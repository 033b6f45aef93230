// Where a trace's time went along its critical path: the parts in the path's flame graph, added up. Pure.
import { PARTS, type Part } from './accounting';
import type { FlameColumns } from './flame';
import { addUp, shapeOf } from './tree';

const PART_KIND = 7; // of a frame
const FRAMES: Record<string, (typeof PARTS)[number]> = {
  '[on CPU]': 'on_cpu',
  '[lock]': 'lock',
  '[thread]': 'thread',
  '[I/O]': 'io',
  '[sleep]': 'sleep',
  '[other]': 'other',
};

// What is no part of a span (the network, what nobody saw, other frames) counts as not observed, so that the parts add
// up to the duration.
export function pathAccount(columns: FlameColumns): { duration: number; parts: Part[] } {
  const { parent } = shapeOf(columns.depth);
  const total = addUp(columns.self, parent);
  const seen = addUp(columns.count, parent);
  const sums = new Map<string, { value: number; observations: number }>();
  let rest = total[0];
  columns.func.forEach((f, i) => {
    const { kind, name } = columns.functions[f];
    const part = kind === PART_KIND ? FRAMES[name] : undefined;
    if (!part) return;
    const sum = sums.get(part) ?? { value: 0, observations: 0 };
    sums.set(part, { value: sum.value + total[i], observations: sum.observations + seen[i] });
    rest -= total[i];
  });
  sums.set('unobserved', { value: rest, observations: 0 });
  return {
    duration: total[0],
    parts: PARTS.map((name) => ({ name, error: 0, source: '', ...(sums.get(name) ?? { value: 0, observations: 0 }) })),
  };
}
