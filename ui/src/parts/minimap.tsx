// The whole graph as a strip, with the visible part marked. Click or drag to move the view. For the pointer only: the
// keyboard does the same in the graph (+, -, arrows).
import { useLayoutEffect, useRef } from 'preact/hooks';
import { coloursNow } from '../core/colours';
import type { Tree } from '../core/tree';
import { drawMinimap } from '../draw/minimap';
import { prepare } from './canvas';
import { useWidth } from './width';

const HEIGHT = 18;

// `node`: the hovered or selected frame, -1 for none.
export function Minimap({
  tree,
  node,
  range,
  onRange,
  flip,
}: {
  tree: Tree;
  node: number;
  range: [number, number];
  onRange: (r: [number, number]) => void;
  flip: boolean;
}) {
  const { box, width } = useWidth<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const held = useRef(false);
  useLayoutEffect(() => {
    const g = prepare(canvas.current, { width, height: HEIGHT });
    if (g) drawMinimap(g, tree, { width, height: HEIGHT, flip }, coloursNow());
  }, [tree, width, flip, coloursNow()]);
  const whole = tree.width[0] || 1;
  const move = (e: PointerEvent) => {
    const span = range[1] - range[0];
    const at = ((e.clientX - box.current!.getBoundingClientRect().left) / width) * whole;
    const from = Math.max(0, Math.min(at - span / 2, whole - span));
    onRange([from, from + span]);
  };
  return (
    <div
      ref={box}
      class="minimap"
      aria-hidden="true"
      style={{ height: HEIGHT }}
      onPointerDown={(e) => {
        held.current = true;
        e.currentTarget.setPointerCapture(e.pointerId);
        move(e);
      }}
      onPointerMove={(e) => {
        if (held.current) move(e);
      }}
      onPointerUp={() => {
        held.current = false;
      }}
    >
      <canvas ref={canvas} />
      {node > 0 && (
        <b
          style={{
            left: (100 * tree.start[node]) / whole + '%',
            width: `max(2px, ${(100 * tree.width[node]) / whole}%)`,
          }}
        />
      )}
      <i
        style={{ left: (100 * range[0]) / whole + '%', width: `max(3px, ${(100 * (range[1] - range[0])) / whole}%)` }}
      />
    </div>
  );
}
