// The visible range of a flame graph and how it moves.
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Tree } from '../core/tree';

export type Range = [number, number];

// The range of a frame.
export const rangeOf = (tree: Tree, node: number): Range => [tree.start[node], tree.start[node] + tree.width[node]];

// Zooms around a fixed point.
export function scaled(tree: Tree, [from, to]: Range, factor: number, centre: number): Range {
  const whole = tree.width[0];
  const span = Math.min((to - from) * factor, whole);
  const left = Math.max(0, Math.min(centre - ((centre - from) / (to - from)) * span, whole - span));
  return [left, left + span];
}

const SEEN = 24; // pixels: a frame that is narrower cannot be read

// The range moved, and narrowed if it must be, so that the frame is in it and wide enough to be seen.
export function broughtIntoView(tree: Tree, range: Range, node: number, pixels: number): Range {
  const [from, to] = rangeOf(tree, node);
  const wide = ((to - from) / (range[1] - range[0] || 1)) * pixels;
  const inside = from >= range[0] && to <= range[1];
  if (pixels <= 0 || !(to > from) || (wide >= SEEN && (inside || wide >= pixels))) return range;
  const span = Math.min(wide < SEEN ? ((to - from) * pixels) / SEEN : range[1] - range[0], tree.width[0]);
  if (inside && span === range[1] - range[0]) return range;
  const left = Math.max(0, Math.min((from + to) / 2 - span / 2, tree.width[0] - span));
  return [left, left + span];
}

// Zooming is animated for 120 ms, unless the reader prefers reduced motion. If only the set of drawn frames changed (a
// search, an opened fold, another order), the view stays where it was.
export function useAnimatedRange(
  tree: Tree,
  zoom: number,
  address: string,
  range: Range,
  set: (r: Range) => void,
): void {
  const last = useRef({ tree, zoom, address });
  useLayoutEffect(() => {
    const to = rangeOf(tree, zoom);
    const before = last.current;
    const jump = before.tree !== tree || matchMedia('(prefers-reduced-motion: reduce)').matches;
    const from = range;
    last.current = { tree, zoom, address };
    if (
      before.tree !== tree &&
      before.address === address &&
      before.tree.width[before.zoom] === tree.width[zoom] &&
      before.tree.width[0] === tree.width[0]
    ) {
      const by = tree.start[zoom] - before.tree.start[before.zoom];
      if (by !== 0) set([from[0] + by, from[1] + by]);
      return;
    }
    if (jump || (from[0] === to[0] && from[1] === to[1])) {
      set(to);
      return;
    }
    const began = performance.now();
    let id = requestAnimationFrame(function frame(now) {
      const t = Math.min(1, (now - began) / 120);
      const ease = 1 - (1 - t) ** 3;
      set([from[0] + (to[0] - from[0]) * ease, from[1] + (to[1] - from[1]) * ease]);
      if (t < 1) id = requestAnimationFrame(frame);
    });
    return () => cancelAnimationFrame(id);
  }, [tree, zoom]);
}
