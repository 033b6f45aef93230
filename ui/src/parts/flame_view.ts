// The visible part of a flame graph: horizontal range, scroll position, size of the box, and the frames named by the
// address. Drawing, pointer and keyboard all start from this.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { nodeAt } from '../core/path';
import type { Tree } from '../core/tree';
import type { View } from '../draw/flame';
import { rangeOf, useAnimatedRange, type Range } from './flame_range';

export const ROW = 20; // pixels

export interface FlamePlace {
  zoom: string; // addresses of frames
  frame: string;
  flip?: boolean;
}

export function useFlameView(tree: Tree, place: FlamePlace) {
  const scroller = useRef<HTMLDivElement>(null);
  const base = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [top, setTop] = useState(0);
  const zoomedTo = useMemo(() => (place.zoom ? nodeAt(tree, place.zoom) : 0), [tree, place.zoom]);
  const zoom = Math.max(0, zoomedTo);
  const frame = useMemo(() => (place.frame ? nodeAt(tree, place.frame) : -1), [tree, place.frame]);
  const [range, setRange] = useState<Range>(rangeOf(tree, zoom));
  const flip = place.flip ?? false;
  useAnimatedRange(tree, zoom, place.zoom, range, setRange);
  useEffect(() => {
    const box = scroller.current!;
    const observer = new ResizeObserver(() => setSize({ width: box.clientWidth, height: box.clientHeight }));
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (flip && scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
  }, [flip, tree, size.height]);
  const view: View = { from: range[0], to: range[1], top, ...size, row: ROW, minWidth: 0.5, flip, zoom };
  // zoomedTo and frame are -1 if the address names a frame that is not in the tree.
  return { tree, scroller, base, size, setTop, zoomedTo, zoom, frame, range, setRange, flip, view };
}

export type FlameView = ReturnType<typeof useFlameView>;
