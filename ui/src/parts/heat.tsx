// The heat map: columns are time; rows are the time within the second, if the sender gives timestamps, or else the
// profile's value. With a search, it shows how much of each cell and column matches. Dragging selects a range for the
// graph below; by keyboard, arrows move a mark, Shift extends it, Enter selects it.
import type { Heatmap } from '../core/answers';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { getJson } from '../core/api';
import type { Rounded } from '../core/flame';
import { formatCount, formatShare, formatTime, formatValue } from '../core/format';
import { DARK as FLAME_DARK, LIGHT as FLAME_LIGHT } from '../core/palette';
import { dark, said, zone } from '../core/settings';
import { drawHeat, drawShares, matchedBySteps, mostOf, SHADES, type Cell } from '../draw/heat';
import { SEARCHED } from '../draw/heat_colours';
import { prepare } from './canvas';
import { Answer, QueryState, useQuery } from './query';
import { useSearchedTimes } from './searched';
import { useTimeKeys } from './time_keys';
import { useWidth } from './width';

type HeatNumbers = Rounded<Heatmap>;

function rounded(heat: Heatmap): HeatNumbers {
  return { ...heat, row_width: Number(heat.row_width), cells: heat.cells.map((c) => c.map(Number) as Cell) };
}

const HEIGHT = 200;
const LANE = 32;
const HEAT_KEYS =
  'Left and right move a mark, Shift extends it, Enter selects it, Escape clears the selection. ' +
  'W and S zoom, A and D move, F shows all of it, R selects what is in view.';
export interface HeatMapProps {
  asked: Record<string, string>;
  lens: string;
  search: string;
  selection: [number, number] | null;
  onSelect: (range: [number, number] | null) => void;
  tick: number;
}

export function HeatMap(p: HeatMapProps) {
  const query = useQuery(JSON.stringify(['heat', p.asked, p.tick]), (s) => getJson('heatmap', p.asked, s));
  const seen = useSearchedTimes('heatmap', p.asked, p.lens, p.search, p.tick);
  const answer = query.data && (seen.data ?? query.data);
  const heat = useMemo(() => answer && rounded(answer), [answer]);
  return (
    <>
      <QueryState query={query} what="the heat map" />
      <QueryState query={seen.query} what="what matches in the heat map" shown={false} />
      {heat && (heat.hint || heat.cells.length === 0) && <p class="note">{said(heat.hint ?? 'No observations.')}</p>}
      {heat && heat.cells.length > 0 && (
        <Answer query={query}>
          <Zoomed of={JSON.stringify(p.asked)} heat={heat} selection={p.selection} onSelect={p.onSelect} />
        </Answer>
      )}
    </>
  );
}

interface CellsProps {
  heat: HeatNumbers;
  selection: HeatMapProps['selection'];
  onSelect: HeatMapProps['onSelect'];
  onTimeKey?: (e: KeyboardEvent) => boolean;
}

// The visible columns as a heat map of their own.
function Zoomed({ of, heat, ...p }: CellsProps & { of: string }) {
  const whole: [number, number] = [heat.start_ms, heat.start_ms + heat.steps * heat.step_ms];
  const spanText = (r: [number, number]) => r.map((t) => formatTime(t, zone.value === 'utc')).join(' – ');
  const { view, zoomed, onTimeKey } = useTimeKeys(of, whole, 4 * heat.step_ms, spanText, (r) =>
    p.onSelect([Math.round(r[0]), Math.round(r[1])]),
  );
  const seen = useMemo(() => {
    if (!zoomed) return heat;
    const [first, end] = [
      Math.floor((view[0] - heat.start_ms) / heat.step_ms),
      Math.ceil((view[1] - heat.start_ms) / heat.step_ms),
    ];
    return {
      ...heat,
      start_ms: heat.start_ms + first * heat.step_ms,
      steps: end - first,
      cells: heat.cells.filter(([s]) => s >= first && s < end).map(([s, ...rest]): Cell => [s - first, ...rest]),
    };
  }, [heat, view[0], view[1]]);
  return (
    <>
      <Cells {...p} heat={seen} onTimeKey={onTimeKey} />
      {zoomed && <p class="note">In view: {spanText(view)}; F shows all of it.</p>}
    </>
  );
}

type Steps = [number, number]; // both included, in either order

function Cells({ heat, selection, onSelect, onTimeKey }: CellsProps) {
  const { box, width } = useWidth<HTMLDivElement>();
  const [drag, setDrag] = useState<Steps | null>(null);
  const [mark, setMark] = useState<Steps | null>(null);
  useEffect(() => setMark(null), [heat.start_ms, heat.steps]);
  const [hover, setHover] = useState<{ step: number; row: number } | null>(null);
  const shares = useMemo(() => matchedBySteps(heat), [heat]);
  const { canvas, lane } = useHeatPaint(heat, shares, width);
  const stepAt = (e: PointerEvent) =>
    within(((e.clientX - box.current!.getBoundingClientRect().left) / width) * heat.steps, heat.steps);
  const rowAt = (e: PointerEvent) =>
    within(((box.current!.getBoundingClientRect().bottom - e.clientY) / HEIGHT) * heat.rows, heat.rows);
  const take = (steps: Steps) => onSelect([timeAt(heat, Math.min(...steps)), timeAt(heat, Math.max(...steps) + 1)]);
  const onKey = (e: KeyboardEvent) => {
    const [from, to] = mark ?? [0, 0];
    const by = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
    if (by !== 0) {
      const next = within(to + by, heat.steps);
      setMark(e.shiftKey ? [from, next] : [next, next]);
    } else if (e.key === 'Enter' && mark) take(mark);
    else if (e.key === 'Escape') {
      setMark(null);
      onSelect(null);
    } else {
      onTimeKey?.(e);
      return;
    }
    e.preventDefault();
  };
  const selected = selection?.map((t) => (t - heat.start_ms) / heat.step_ms);
  const shown = drag ?? mark ?? (selected ? [selected[0], selected[1] - 1] : null);
  return (
    <figure class="heat">
      <RowScale heat={heat} />
      <div
        ref={box}
        class="heat-box"
        style={{ height: HEIGHT }}
        role="application"
        tabIndex={0}
        aria-label={`Heat map of ${whatOf(heat)} over time. ${HEAT_KEYS}`}
        onKeyDown={onKey}
        onPointerLeave={() => setHover(null)}
        onPointerDown={(e) => {
          e.currentTarget.setPointerCapture(e.pointerId);
          setDrag([stepAt(e), stepAt(e)]);
        }}
        onPointerMove={(e) => {
          setHover({ step: stepAt(e), row: rowAt(e) });
          if (drag) setDrag([drag[0], stepAt(e)]);
        }}
        onPointerUp={() => {
          if (drag) take(drag);
          setDrag(null);
          setMark(null);
        }}
        onDblClick={() => onSelect(null)}
      >
        <canvas ref={canvas} aria-hidden="true" />
        {shown && (
          <i
            class="heat-range"
            style={{
              left: `${(100 * Math.min(shown[0], shown[1])) / heat.steps}%`,
              width: `${(100 * (Math.abs(shown[1] - shown[0]) + 1)) / heat.steps}%`,
            }}
          />
        )}
      </div>
      {shares && (
        <div class="heat-rows" aria-hidden="true">
          <span>matches</span>
        </div>
      )}
      {shares && (
        <canvas
          ref={lane}
          class="heat-lane"
          role="img"
          aria-label={`Share of each column that matches the search: ${shareOf(partOf(heat))} of all`}
        />
      )}
      <Caption heat={heat} searched={shares !== null} hover={hover} selection={selection} onSelect={onSelect} />
      <p class="hidden" role="status">
        {mark ? markText(heat, shares !== null, mark) : ''}
      </p>
    </figure>
  );
}

const within = (place: number, count: number) => Math.max(0, Math.min(count - 1, Math.floor(place)));
const timeAt = (heat: HeatNumbers, step: number) => heat.start_ms + step * heat.step_ms;
const whatOf = (heat: HeatNumbers) => (heat.rows_are === 'offset' ? 'samples' : 'profiles');

// Draws the cells and the lane of matches below. Tests read what was drawn from window.__wherefore.
function useHeatPaint(heat: HeatNumbers, shares: ReturnType<typeof matchedBySteps>, width: number) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const lane = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const [palette, colours] = dark.value ? [FLAME_DARK, SEARCHED.dark] : [FLAME_LIGHT, SEARCHED.light];
    const g = prepare(canvas.current, { width, height: HEIGHT });
    const drawn = g ? drawHeat(g, heat, { width, height: HEIGHT }, colours) : 0;
    const size = { width, height: LANE };
    const l = shares && prepare(lane.current, size);
    const bars = { background: colours.background, bar: palette.match, none: colours.matched[0][SHADES - 1] };
    if (l) drawShares(l, shares, size, bars);
    const sum = heat.cells.reduce((n, c) => n + c[2], 0);
    const page = window as unknown as { __wherefore?: object };
    page.__wherefore = {
      ...page.__wherefore,
      heat: { drawn, rowsAre: heat.rows_are, sum, matched: shares && partOf(heat).matched, shares },
    };
  }, [heat, width, dark.value]);
  return { canvas, lane };
}

interface Amount {
  count: number;
  matched: number;
  whole: number;
}
const shareOf = (a: Amount) => formatShare(a.matched, a.whole);

// The sum over these steps, by default over all.
function partOf(heat: HeatNumbers, steps: Steps = [0, heat.steps - 1]): Amount {
  const [from, to] = [Math.min(...steps), Math.max(...steps)];
  const sum = { count: 0, matched: 0, whole: 0 };
  for (const [step, , count, matched, whole] of heat.cells)
    if (step >= from && step <= to) {
      sum.count += count;
      sum.matched += matched ?? 0;
      sum.whole += whole ?? 0;
    }
  return sum;
}

// "12 samples, 5 match (41.7 %)"; for profiles, the share of their value that matches.
function amountText(heat: HeatNumbers, searched: boolean, a: Amount): string {
  const text = `${formatCount(a.count)} ${whatOf(heat)}`;
  if (!searched || a.count === 0) return text;
  return heat.rows_are === 'offset'
    ? `${text}, ${formatCount(a.matched)} match (${shareOf(a)})`
    : `${text}, ${shareOf(a)} of their value matches`;
}

function markText(heat: HeatNumbers, searched: boolean, mark: Steps): string {
  const [from, to] = [timeAt(heat, Math.min(...mark)), timeAt(heat, Math.max(...mark) + 1)];
  const utc = zone.value === 'utc';
  return `${formatTime(from, utc)} to ${formatTime(to, utc)}: ${amountText(heat, searched, partOf(heat, mark))}`;
}

const RowScale = ({ heat }: { heat: HeatNumbers }) => (
  <div class="heat-rows" aria-hidden="true">
    <span>{heat.rows_are === 'offset' ? '1 s' : formatValue(heat.rows * heat.row_width, heat.unit)}</span>
    <span>{heat.rows_are === 'offset' ? '0.5 s' : formatValue((heat.rows * heat.row_width) / 2, heat.unit)}</span>
    <span>0</span>
  </div>
);

interface CaptionProps {
  heat: HeatNumbers;
  searched: boolean;
  hover: { step: number; row: number } | null;
  selection: HeatMapProps['selection'];
  onSelect: HeatMapProps['onSelect'];
}

function Caption({ heat, searched, hover, selection, onSelect }: CaptionProps) {
  const cells = useMemo(() => new Map(heat.cells.map((c) => [c[0] * heat.rows + c[1], c])), [heat]);
  const utc = zone.value === 'utc';
  const [, , count, matched = 0, whole = 0] = (hover && cells.get(hover.step * heat.rows + hover.row)) ?? [0, 0, 0];
  const found = searched
    ? ' · grey: nothing matches, the more colour the more; bars: share of each column, ' +
      `${shareOf(partOf(heat))} of all`
    : '';
  return (
    <figcaption>
      {hover
        ? `${formatTime(timeAt(heat, hover.step), utc)}, ${rowText(heat, hover.row)}: ` +
          amountText(heat, searched, { count, matched, whole })
        : `${captionOf(heat)}${found} · drag to select`}
      {selection && (
        <>
          {' '}
          · selected {formatTime(selection[0], utc)} – {formatTime(selection[1], utc)}{' '}
          <button type="button" onClick={() => onSelect(null)}>
            Whole range
          </button>
        </>
      )}
    </figcaption>
  );
}

function rowText(heat: HeatNumbers, row: number): string {
  const [from, to] = [row * heat.row_width, (row + 1) * heat.row_width];
  return heat.rows_are === 'offset'
    ? `${from / 1e6}–${to / 1e6} ms into the second`
    : `${formatValue(from, heat.unit)} – ${formatValue(to, heat.unit)}`;
}

function captionOf(heat: HeatNumbers): string {
  const rows = heat.rows_are === 'offset' ? 'samples by their place within the second' : 'profiles by their value';
  const columns = formatValue(heat.step_ms * 1e6, 'nanoseconds').replace(/\.0+ /, ' ');
  return `${rows}, columns of ${columns}, most in a cell: ${formatCount(mostOf(heat))}`;
}
