// How long requests took over time, all that match: a heat map whose rows are durations. Dragging selects a box; by
// keyboard, arrows move a mark, Shift extends it, Enter selects it, Escape clears the selection.
import type { Latency } from '../core/answers';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { formatTime, formatValue } from '../core/format';
import {
  amountIn,
  amountText,
  boxOf,
  boxText,
  latencyNumbers,
  placeOf,
  ticksOf,
  type Cells,
  type LatencyNumbers,
} from '../core/latency';
import { dark, zone } from '../core/settings';
import type { Box } from '../core/state';
import { drawHeat, mostOf, type Cell } from '../draw/heat';
import { FAILED } from '../draw/heat_colours';
import { prepare } from './canvas';
import { useWidth } from './width';

const HEIGHT = 180;
const KEYS = 'Arrow keys move a mark, Shift extends it, Enter selects it, Escape clears the selection.';

interface LatencyMapProps {
  latency: Latency;
  what: string; // one of what is counted: "request", "span"
  box: Box | null;
  onBox: (box: Box | null) => void;
}

export function LatencyMap({ latency, what, box: selected, onBox }: LatencyMapProps) {
  const map = useMemo(() => latencyNumbers(latency), [latency]);
  const { box, width } = useWidth<HTMLDivElement>();
  const canvas = useLatencyPaint(map, width);
  const { drag, mark, hover, ...events } = useBox(map, box, onBox);
  const utc = zone.value === 'utc';
  const shown = drag ?? mark;
  const place = shown ? placeOf(map, boxOf(map, shown)) : selected && placeOf(map, selected);
  const told = hover ?? mark;
  return (
    <figure class="heat latency">
      <Scale map={map} />
      <div
        ref={box}
        class="heat-box"
        style={{ height: HEIGHT }}
        role="application"
        tabIndex={0}
        aria-label={`Heat map of how long each ${what} took, over time: ${amountText(amountIn(map), what)}. ${KEYS}`}
        {...events}
      >
        <canvas ref={canvas} aria-hidden="true" />
        {place && (
          <i
            class="heat-range"
            style={{
              left: `${100 * place.left}%`,
              width: `${100 * (place.right - place.left)}%`,
              bottom: `${100 * place.bottom}%`,
              top: `${100 * (1 - place.top)}%`,
            }}
          />
        )}
      </div>
      <div class="heat-times" aria-hidden="true">
        <span>{formatTime(map.start_ms, utc).slice(11)}</span>
        <span>{formatTime(map.start_ms + map.steps * map.step_ms, utc).slice(11)}</span>
      </div>
      <figcaption>
        {told
          ? `${amountText(amountIn(map, told), what)} ${boxText(boxOf(map, told), utc)}`
          : `${amountText(amountIn(map), what)}, columns of ${columnText(map)}, ` +
            `most in a cell: ${mostOf(heatOf(map))}${map.errors > 0 ? ', red: errors' : ''} · ` +
            'drag a box to compare it with the rest'}
      </figcaption>
      <p class="hidden" role="status">
        {mark ? `${amountText(amountIn(map, mark), what)} ${boxText(boxOf(map, mark), utc)}` : ''}
      </p>
    </figure>
  );
}

const columnText = (map: LatencyNumbers) => formatValue(map.step_ms * 1e6, 'nanoseconds').replace(/\.0+ /, ' ');

// As the drawing takes it: how many, and how many of them failed.
const heatOf = (map: LatencyNumbers) => ({
  steps: map.steps,
  rows: map.rows,
  cells: map.cells.map(([step, row, count, errors]): Cell => [step, row, count, errors, count]),
});

// Tests read what was drawn from window.__wherefore.
function useLatencyPaint(map: LatencyNumbers, width: number) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const size = { width, height: HEIGHT };
    const g = prepare(canvas.current, size);
    const drawn = g ? drawHeat(g, heatOf(map), size, dark.value ? FAILED.dark : FAILED.light) : 0;
    const page = window as unknown as { __wherefore?: object };
    page.__wherefore = { ...page.__wherefore, latency: { drawn, ...amountIn(map), map } };
  }, [map, width, dark.value]);
  return canvas;
}

const within = (place: number, count: number) => Math.max(0, Math.min(count - 1, Math.floor(place)));

// The box that is being drawn by pointer or keyboard.
function useBox(map: LatencyNumbers, box: { current: HTMLDivElement | null }, onBox: LatencyMapProps['onBox']) {
  const [drag, setDrag] = useState<Cells | null>(null);
  const [mark, setMark] = useState<Cells | null>(null);
  const [hover, setHover] = useState<Cells | null>(null);
  useEffect(() => setMark(null), [map.start_ms, map.steps, map.rows]);
  const cellAt = (e: PointerEvent): [number, number] => {
    const area = box.current!.getBoundingClientRect();
    return [
      within(((e.clientX - area.left) / area.width) * map.steps, map.steps),
      within(((area.bottom - e.clientY) / area.height) * map.rows, map.rows),
    ];
  };
  const moves: Record<string, [number, number]> = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, 1],
    ArrowDown: [0, -1],
  };
  const onKeyDown = (e: KeyboardEvent) => {
    const by = moves[e.key];
    if (by && !e.ctrlKey && !e.altKey && !e.metaKey) {
      // The first key sets the mark, where most are.
      const [anchor, end] = mark ?? [fullest(map), fullest(map)];
      const next: [number, number] = mark ? [within(end[0] + by[0], map.steps), within(end[1] + by[1], map.rows)] : end;
      setMark(e.shiftKey && mark ? [anchor, next] : [next, next]);
    } else if (e.key === 'Enter' && mark) onBox(boxOf(map, mark));
    else if (e.key === 'Escape') {
      setMark(null);
      onBox(null);
    } else return;
    e.preventDefault();
  };
  return {
    drag,
    mark,
    hover,
    onKeyDown,
    onPointerLeave: () => setHover(null),
    onPointerDown: (e: PointerEvent) => {
      (e.currentTarget as HTMLElement).setPointerCapture(e.pointerId);
      setDrag([cellAt(e), cellAt(e)]);
    },
    onPointerMove: (e: PointerEvent) => {
      const at = cellAt(e);
      setHover(drag ? [drag[0], at] : [at, at]);
      if (drag) setDrag([drag[0], at]);
    },
    onPointerUp: () => {
      if (drag) onBox(boxOf(map, drag));
      setDrag(null);
      setMark(null);
    },
    onPointerCancel: () => setDrag(null),
    onDblClick: () => onBox(null),
  };
}

function fullest(map: LatencyNumbers): [number, number] {
  const [step, row] = map.cells.reduce((best, c) => (c[2] > best[2] ? c : best));
  return [step, row];
}

function Scale({ map }: { map: LatencyNumbers }) {
  return (
    <div class="heat-rows latency-rows" style={{ height: HEIGHT }} aria-hidden="true">
      {ticksOf(map).map((row) => (
        <span key={row} style={{ bottom: `${(100 * row) / map.rows}%` }}>
          {formatValue(map.bounds[row], 'nanoseconds')}
        </span>
      ))}
    </div>
  );
}
