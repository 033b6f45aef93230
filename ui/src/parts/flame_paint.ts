// Draws a flame graph on two canvases: the boxes on one, the highlights on the other, so that hovering does not redraw
// the boxes. Tests and scripts can read what was drawn from window.__wherefore.
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { coloursNow } from '../core/colours';
import { sureOf, testedOf } from '../core/difference';
import { shownShare } from '../core/tree';
import { drawFlame, drawOverlay, FONT, rowTop, type Drawn, type Marks } from '../draw/flame';
import { prepare } from './canvas';
import { nameOf } from './describe';
import type { FlameView } from './flame_view';
import { remember } from './picture';

// `name`: the graph's name in window.__wherefore. `matched`: the value the search found.
export function useFlamePaint(v: FlameView, over: Omit<Marks, 'frame'>, name: string, matched: number) {
  const { tree, base, size, range, view, frame, flip } = v;
  const overlay = useRef<HTMLCanvasElement>(null);
  const letter = useMemo(letterWidth, []);
  const palette = coloursNow();
  const drawn = useRef<Drawn & { ms: number }>({ boxes: 0, blocks: 0, visited: 0, ms: 0 });
  useLayoutEffect(() => {
    const g = prepare(base.current, size);
    if (!g) return;
    const began = performance.now();
    drawn.current = { ...drawFlame(g, tree, view, palette, letter), ms: performance.now() - began };
    remember(base.current!, { tree, view, palette, letter });
  }, [tree, range, view.top, size, palette, flip]);
  useLayoutEffect(() => {
    const g = prepare(overlay.current, size);
    if (g) drawOverlay(g, tree, view, palette, { ...over, frame });
  }, [tree, range, view.top, size, palette, flip, over.matches, over.hover, frame, over.focused]);
  const page = window as unknown as { __wherefore?: Record<string, unknown> };
  page.__wherefore = { ...page.__wherefore, [name]: { ...factsOf(v), matched, drawn: drawn.current } };
  useEffect(() => () => void delete page.__wherefore![name], []);
  return { overlay, palette };
}

function letterWidth(): number {
  const g = document.createElement('canvas').getContext('2d')!;
  g.font = FONT;
  return g.measureText('mmmmmmmmmm').width / 10;
}

const factsOf = ({ tree, view, zoom, frame }: FlameView) => ({
  total: tree.total[0],
  totalBefore: tree.totalBefore?.[0],
  count: tree.totalCount[0],
  nodes: tree.func.length,
  unit: tree.meta.unit,
  type: tree.meta.type,
  zoom: nameOf(tree, zoom),
  frame: frame >= 0 ? nameOf(tree, frame) : '',
  range: [view.from, view.to],
  shown: shownShare(tree),
  // What a difference says of the first frame with that name.
  sure: (name: string) => {
    const node = tree.func.findIndex((_, i) => nameOf(tree, i) === name);
    const tested = testedOf(tree, node);
    return { sure: sureOf(tree, node), interval: tested && [tested.low, tested.high] };
  },
  // Position of the first frame with that name.
  box: (name: string) => {
    const node = tree.func.findIndex((_, i) => nameOf(tree, i) === name);
    if (node < 0) return null;
    const scale = view.width / (view.to - view.from || 1);
    return {
      node,
      x: (tree.start[node] - view.from) * scale,
      y: rowTop(tree, view, tree.depth[node]),
      w: tree.width[node] * scale,
      total: tree.total[node],
      self: tree.self[node],
    };
  },
});
