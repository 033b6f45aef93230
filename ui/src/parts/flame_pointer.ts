// Mouse and touchpad on a flame graph: hover, click, drag, wheel, context menu.
import { useEffect, useRef } from 'preact/hooks';
import { hitFlame, type Hit } from '../draw/flame';
import { scaled } from './flame_range';
import type { FlameView } from './flame_view';

export interface Hover {
  hit: Hit;
  x: number;
  y: number;
}

const DRAG_FROM = 5; // pixels; less is a click

// Returns the handlers for the graph's box. `onMenu`: x and y are window coordinates.
export function useFlamePointer(
  v: FlameView,
  setHover: (hover: Hover | null) => void,
  onPress: (node: number) => void,
  onMenu: (node: number, x: number, y: number) => void,
) {
  const { tree, scroller, base, size, range, setRange, view } = v;
  const held = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  const at = (e: MouseEvent) => {
    const box = base.current!.getBoundingClientRect();
    return hitFlame(tree, view, e.clientX - box.left, e.clientY - box.top);
  };
  const pan = (pixels: number) => {
    const moved = (pixels / size.width) * (range[1] - range[0]);
    const by = Math.max(-range[0], Math.min(moved, tree.width[0] - range[1]));
    setRange([range[0] + by, range[1] + by]);
  };
  // Dragging moves the graph, and the click at its end is ignored.
  const drag = (e: MouseEvent): boolean => {
    const from = held.current;
    if (!from || e.buttons !== 1) {
      held.current = null;
      return false;
    }
    if (!from.moved && Math.hypot(e.clientX - from.x, e.clientY - from.y) < DRAG_FROM) return false;
    pan(from.x - e.clientX);
    scroller.current!.scrollTop += from.y - e.clientY;
    held.current = { x: e.clientX, y: e.clientY, moved: true };
    setHover(null);
    return true;
  };
  useWheel(v, pan);
  return {
    onMouseDown: (e: MouseEvent) => {
      held.current = e.button === 0 ? { x: e.clientX, y: e.clientY, moved: false } : null;
    },
    onMouseMove: (e: MouseEvent) => {
      if (drag(e)) return;
      const hit = at(e);
      setHover(hit && { hit, x: e.clientX, y: e.clientY });
    },
    onMouseLeave: () => setHover(null),
    onClick: (e: MouseEvent) => {
      const hit = held.current?.moved ? null : at(e);
      held.current = null;
      if (hit?.run) setRange([hit.run.from, hit.run.to]);
      else if (hit) onPress(hit.node);
    },
    onContextMenu: (e: MouseEvent) => {
      const hit = at(e);
      if (!hit || hit.run) return;
      e.preventDefault();
      onMenu(hit.node, e.clientX, e.clientY);
    },
  };
}

// Ctrl + wheel zooms at the pointer (pinching sends the same); Shift + wheel moves sideways.
function useWheel({ tree, scroller, base, size, range, setRange }: FlameView, pan: (pixels: number) => void): void {
  useEffect(() => {
    const box = scroller.current!;
    const wheel = (e: WheelEvent) => {
      if (!e.ctrlKey && !e.metaKey && !e.shiftKey) return;
      e.preventDefault();
      if (!e.ctrlKey && !e.metaKey) {
        pan(e.deltaX || e.deltaY);
        return;
      }
      const share = (e.clientX - base.current!.getBoundingClientRect().left) / size.width;
      setRange(scaled(tree, range, Math.exp(e.deltaY / 400), range[0] + share * (range[1] - range[0])));
    };
    box.addEventListener('wheel', wheel, { passive: false });
    return () => box.removeEventListener('wheel', wheel);
  });
}
