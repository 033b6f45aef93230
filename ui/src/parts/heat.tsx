// When exactly: columns are time, rows the place within the second (senders that give times) or the profile's value. With a
// search also how much of each cell, and of each column, matches.
// Dragging selects a range, which is what the graph below is about; with the keyboard arrows move a mark, Shift
// extends it, Enter takes it.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { getJson } from '../core/api';
import { formatCount, formatShare, formatTime, formatValue } from '../core/format';
import { DARK as FLAME_DARK, LIGHT as FLAME_LIGHT } from '../core/palette';
import { dark, said, zone } from '../core/settings';
import { drawHeat, drawShares, matchedBySteps, mostOf, SHADES, SHARES, type Cell, type HeatColours } from '../draw/heat';
import { prepare } from './canvas';
import { Answer, QueryState, useQuery } from './query';
import { useSearchedTimes } from './searched';
import { useTimeKeys } from './time_keys';
import { useWidth } from './width';

interface HeatAnswer {
  rows_are: 'offset' | 'value'; type: string; unit: string; start_ms: number; step_ms: number; steps: number; rows: number; row_width: number; hint?: string; cells: Cell[];
}

const HEIGHT = 200;
const LANE = 32;
const between = (from: number[], to: number[], share: number) => from.map((f, k) => f + (to[k] - f) * share);
const mix = (from: number[], to: number[]) => Array.from({ length: SHADES }, (_, i) => `rgb(${between(from, to, (i + 1) / SHADES).map(Math.round).join(' ')})`);
// From grey to the colour of matches: a little is seen to be something.
const mixes = (grey: [number[], number[]], match: [number[], number[]]) => Array.from({ length: SHARES }, (_, i) => {
  const share = i === 0 ? 0 : 0.4 + 0.6 * i / (SHARES - 1);
  return mix(between(grey[0], match[0], share), between(grey[1], match[1], share));
});
const LIGHT: HeatColours = { background: '#f5f6f8', shades: mix([214, 228, 250], [8, 48, 107]), matched: mixes([[222, 225, 230], [110, 116, 126]], [[230, 212, 250], [84, 18, 160]]) };
const DARK: HeatColours = { background: '#1d2128', shades: mix([30, 52, 84], [190, 220, 255]), matched: mixes([[44, 49, 58], [140, 147, 158]], [[70, 44, 104], [222, 186, 255]]) };

export interface HeatMapProps { asked: Record<string, string>; lens: string; search: string; selection: [number, number] | null; onSelect: (range: [number, number] | null) => void; tick: number }

export function HeatMap(p: HeatMapProps) {
  const query = useQuery(JSON.stringify(['heat', p.asked, p.tick]), (s) => getJson<HeatAnswer>('heatmap', p.asked, s));
  const seen = useSearchedTimes<HeatAnswer>('heatmap', p.asked, p.lens, p.search, p.tick);
  const heat = query.data && (seen.data ?? query.data);
  return (
    <>
      <QueryState query={query} what="the heat map" />
      <QueryState query={seen.query} what="what matches in the heat map" shown={false} />
      {heat && (heat.hint || heat.cells.length === 0) && <p class="note">{said(heat.hint ?? 'No observations.')}</p>}
      {heat && heat.cells.length > 0 && <Answer query={query}><Zoomed of={JSON.stringify(p.asked)} heat={heat} selection={p.selection} onSelect={p.onSelect} /></Answer>}
    </>
  );
}

interface CellsProps { heat: HeatAnswer; selection: HeatMapProps['selection']; onSelect: HeatMapProps['onSelect']; onTimeKey?: (e: KeyboardEvent) => boolean }

// The columns in view, as a heat map of their own.
function Zoomed({ of, heat, ...p }: CellsProps & { of: string }) {
  const whole: [number, number] = [heat.start_ms, heat.start_ms + heat.steps * heat.step_ms];
  const spanText = (r: [number, number]) => r.map((t) => formatTime(t, zone.value === 'utc')).join(' – ');
  const { view, zoomed, onTimeKey } = useTimeKeys(of, whole, 4 * heat.step_ms, spanText, (r) => p.onSelect([Math.round(r[0]), Math.round(r[1])]));
  const seen = useMemo(() => {
    if (!zoomed) return heat;
    const [first, end] = [Math.floor((view[0] - heat.start_ms) / heat.step_ms), Math.ceil((view[1] - heat.start_ms) / heat.step_ms)];
    return { ...heat, start_ms: heat.start_ms + first * heat.step_ms, steps: end - first, cells: heat.cells.filter(([s]) => s >= first && s < end).map(([s, ...rest]): Cell => [s - first, ...rest]) };
  }, [heat, view[0], view[1]]);
  return <><Cells {...p} heat={seen} onTimeKey={onTimeKey} />{zoomed && <p class="note">In view: {spanText(view)}; F shows all of it.</p>}</>;
}

function Cells({ heat, selection, onSelect, onTimeKey }: CellsProps) {
  const { box, width } = useWidth<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);   // steps
  const [mark, setMark] = useState<[number, number] | null>(null);
  useEffect(() => setMark(null), [heat.start_ms, heat.steps]);
  const [hover, setHover] = useState<{ step: number; row: number } | null>(null);
  const lane = useRef<HTMLCanvasElement>(null);
  const cells = useMemo(() => new Map(heat.cells.map((c) => [c[0] * heat.rows + c[1], c])), [heat]);
  const shares = useMemo(() => matchedBySteps(heat), [heat]);
  useLayoutEffect(() => {
    const g = prepare(canvas.current, { width, height: HEIGHT });
    const drawn = g ? drawHeat(g, heat, { width, height: HEIGHT }, dark.value ? DARK : LIGHT) : 0;
    const [palette, colours] = dark.value ? [FLAME_DARK, DARK] : [FLAME_LIGHT, LIGHT];
    const l = shares && prepare(lane.current, { width, height: LANE });
    if (l) drawShares(l, shares, { width, height: LANE }, { background: colours.background, bar: palette.match, none: colours.matched[0][SHADES - 1] });
    const page = window as unknown as { __wherefore?: object };
    page.__wherefore = { ...page.__wherefore, heat: { drawn, rowsAre: heat.rows_are, sum: heat.cells.reduce((n, c) => n + c[2], 0), matched: shares && partOf(0, heat.steps - 1).matched, shares } };
  }, [heat, width, dark.value]);
  // What lies in these steps, both included.
  const partOf = (from: number, to: number) => {
    const sum = { count: 0, matched: 0, whole: 0 };
    for (const [step, , count, matched, whole] of heat.cells) if (step >= from && step <= to) { sum.count += count; sum.matched += matched ?? 0; sum.whole += whole ?? 0; }
    return sum;
  };
  const utc = zone.value === 'utc';
  const timeAt = (step: number) => heat.start_ms + step * heat.step_ms;
  const stepAt = (e: PointerEvent) => Math.max(0, Math.min(heat.steps - 1, Math.floor((e.clientX - box.current!.getBoundingClientRect().left) / width * heat.steps)));
  const rowAt = (e: PointerEvent) => Math.max(0, Math.min(heat.rows - 1, Math.floor((box.current!.getBoundingClientRect().bottom - e.clientY) / HEIGHT * heat.rows)));
  const rowText = (row: number) => (heat.rows_are === 'offset' ? `${row * heat.row_width / 1e6}–${(row + 1) * heat.row_width / 1e6} ms into the second` : `${formatValue(row * heat.row_width, heat.unit)} – ${formatValue((row + 1) * heat.row_width, heat.unit)}`);
  const take = (range: [number, number]) => onSelect([timeAt(Math.min(...range)), timeAt(Math.max(...range) + 1)]);
  const onKey = (e: KeyboardEvent) => {
    const [from, to] = mark ?? [0, 0];
    const by = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
    if (by !== 0) { const next = Math.max(0, Math.min(heat.steps - 1, to + by)); setMark(e.shiftKey ? [from, next] : [next, next]); }
    else if (e.key === 'Enter' && mark) take(mark);
    else if (e.key === 'Escape') { setMark(null); onSelect(null); }
    else { onTimeKey?.(e); return; }
    e.preventDefault();
  };
  const shown = drag ?? mark ?? (selection ? [(selection[0] - heat.start_ms) / heat.step_ms, (selection[1] - heat.start_ms) / heat.step_ms - 1] : null);
  const what = heat.rows_are === 'offset' ? 'samples' : 'profiles';
  // "12 samples, 5 of them match (41.7 %)"; of profiles a part of their value does.
  const amount = (count: number, matched: number, whole: number) => `${formatCount(count)} ${what}${!shares || count === 0 ? '' : heat.rows_are === 'offset' ? `, ${formatCount(matched)} match (${formatShare(matched, whole)})` : `, ${formatShare(matched, whole)} of their value matches`}`;
  const [, , count, matched, of] = (hover && cells.get(hover.step * heat.rows + hover.row)) ?? [0, 0, 0, 0, 0];
  const all = partOf(0, heat.steps - 1);
  const marked = mark && partOf(Math.min(...mark), Math.max(...mark));
  return (
    <figure class="heat">
      <div class="heat-rows" aria-hidden="true"><span>{heat.rows_are === 'offset' ? '1 s' : formatValue(heat.rows * heat.row_width, heat.unit)}</span><span>{heat.rows_are === 'offset' ? '0.5 s' : formatValue(heat.rows * heat.row_width / 2, heat.unit)}</span><span>0</span></div>
      <div ref={box} class="heat-box" style={{ height: HEIGHT }} role="application" tabIndex={0} aria-label={`Heat map of ${what} over time. Left and right move a mark, Shift extends it, Enter selects it, Escape takes the selection back. W and S zoom, A and D move, F shows all of it, R selects what is in view.`}
        onKeyDown={onKey} onPointerLeave={() => setHover(null)}
        onPointerDown={(e) => { e.currentTarget.setPointerCapture(e.pointerId); setDrag([stepAt(e), stepAt(e)]); }}
        onPointerMove={(e) => { setHover({ step: stepAt(e), row: rowAt(e) }); if (drag) setDrag([drag[0], stepAt(e)]); }}
        onPointerUp={() => { if (drag) take(drag); setDrag(null); setMark(null); }} onDblClick={() => onSelect(null)}>
        <canvas ref={canvas} aria-hidden="true" />
        {shown && <i class="heat-range" style={{ left: `${100 * Math.min(shown[0], shown[1]) / heat.steps}%`, width: `${100 * (Math.abs(shown[1] - shown[0]) + 1) / heat.steps}%` }} />}
      </div>
      {shares && <div class="heat-rows" aria-hidden="true"><span>matches</span></div>}
      {shares && <canvas ref={lane} class="heat-lane" role="img" aria-label={`Share of each column that matches the search: ${formatShare(all.matched, all.whole)} of all`} />}
      <figcaption>
        {hover ? `${formatTime(timeAt(hover.step), utc)}, ${rowText(hover.row)}: ${amount(count, matched ?? 0, of ?? 0)}`
          : `${heat.rows_are === 'offset' ? 'samples by their place within the second' : 'profiles by their value'}, columns of ${formatValue(heat.step_ms * 1e6, 'nanoseconds').replace(/\.0+ /, ' ')}, most in a cell: ${formatCount(mostOf(heat))}${shares ? ` · grey: nothing matches, the more colour the more; bars: share of each column, ${formatShare(all.matched, all.whole)} of all` : ''} · drag to select`}
        {selection && <> · selected {formatTime(selection[0], utc)} – {formatTime(selection[1], utc)} <button type="button" onClick={() => onSelect(null)}>Whole range</button></>}
      </figcaption>
      <p class="hidden" role="status">{mark && marked ? `${formatTime(timeAt(Math.min(...mark)), utc)} to ${formatTime(timeAt(Math.max(...mark) + 1), utc)}: ${amount(marked.count, marked.matched, marked.whole)}` : ''}</p>
    </figure>
  );
}
