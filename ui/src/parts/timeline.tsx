// The timeline: values per second in which anything was seen, over time (uPlot, loaded when first needed), and how much of them matches the search. Dragging
// selects a range at once, with Ctrl it is the baseline of a difference instead, a double click takes the selection back; without
// a pointer two times are typed. Where nothing was stored there is no line.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import type { SeriesAnswer } from '../core/api';
import { now } from '../core/clock';
import { formatFine, formatShare, formatTime, formatValue } from '../core/format';
import { DARK, LIGHT } from '../core/palette';
import { linesOf, matchedOf, peakOf, shareAt, type Lines } from '../core/steps';
import { stepAfter } from '../core/time_keys';
import { alone, settledSteps, type Marker, type Values } from '../core/trend';
import { dark, zone } from '../core/settings';
import { TimeForm } from './range';
import { useTimeKeys } from './time_keys';

const LINES = ['#0b6bcb', '#c2570c', '#2e7d32', '#8e24aa', '#a1790a', '#00838f', '#c2185b', '#5d4037'];
const LINES_DARK = ['#6cb6ff', '#f2a15f', '#7fd488', '#d59be6', '#e3c063', '#5fd0da', '#ff8ab3', '#c7a899'];

// Once loaded it is there at once, so that new data do not make the page flicker.
let library: typeof uPlot | null = null;
async function load(): Promise<typeof uPlot> {
  const [{ default: Plot }] = await Promise.all([import('uplot'), import('uplot/dist/uPlot.min.css')]);
  return library = Plot;
}

export interface TimelineProps {
  of: string;  // the time asked for
  series: SeriesAnswer; search: string; lens: string; selection: [number, number] | null;
  onSelect: (range: [number, number] | null) => void;
  onBaseline: (range: [number, number]) => void;  // what the selection, or all of it, is to be compared with
  markers: Marker[];
}

// CPU time per second of wall time is "cores"; other sums are per second; snapshots are what they are.
export function rateOf(s: SeriesAnswer): { label: string; factor: number; unit: string } {
  if (s.averaged) return { label: s.unit, factor: 1 / s.scale, unit: s.unit };
  const perSecond = 1000 / s.step_ms / s.scale;
  if (s.unit === 'nanoseconds') return { label: s.type === 'cpu' ? 'cores' : 's per s', factor: perSecond / 1e9, unit: 'cores' };
  return { label: `${s.unit} per s`, factor: perSecond, unit: s.unit };
}

const settledOf = (s: SeriesAnswer, l: Lines) => settledSteps(l.lines.map((g) => g.values), l.startMs, l.stepMs, s.newest_ms, now(), s.averaged);

function dataOf(s: SeriesAnswer, l: Lines): uPlot.AlignedData {
  const { factor } = rateOf({ ...s, step_ms: l.stepMs });
  const end = settledOf(s, l);
  const shown = (values: Values) => values.map((v, i) => (i < end && v !== null ? v * factor * l.fill[i] : null));
  return [l.all.map((_, i) => (l.startMs + i * l.stepMs) / 1000), ...l.lines.map((g) => shown(g.values)), ...(l.matched ? [shown(l.matched)] : [])];
}

// What matches is hatched, so that it is told from the lines without their colours too.
function hatched(u: uPlot, colour: string): CanvasPattern | string {
  const ratio = devicePixelRatio || 1;
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6 * ratio;
  const g = tile.getContext('2d');
  if (!g) return colour + '55';
  g.fillStyle = colour + '38';
  g.fillRect(0, 0, tile.width, tile.height);
  g.strokeStyle = colour;
  g.lineWidth = ratio;
  for (const shift of [-1, 0, 1]) {
    g.beginPath();
    g.moveTo(shift * tile.width, tile.height);
    g.lineTo((shift + 1) * tile.width, 0);
    g.stroke();
  }
  return u.ctx.createPattern(tile, 'repeat') ?? colour + '55';
}

function optionsOf(p: TimelineProps & { shown: Lines }, width: number, select: (r: [number, number] | null) => void): uPlot.Options {
  const { label, unit } = rateOf({ ...p.series, step_ms: p.shown.stepMs });
  const match = (dark.value ? DARK : LIGHT).match;
  const only = p.shown.lines.length === 1;
  const points = { show: false, size: 4, filter: (u: uPlot, i: number) => { const found = alone(u.data[i]); return found.length > 0 ? found : null; } };
  const axis = dark.value ? '#aab2bd' : '#555c66';
  const grid = { stroke: dark.value ? '#2b3038' : '#e6e9ee', width: 1 };
  const lines = dark.value ? LINES_DARK : LINES;
  const value = (v: number | null) => (v === null || v === undefined ? '–' : unit === 'cores' ? formatFine(v) : formatValue(v, unit));
  return {
    width, height: 150, legend: { show: !only || p.shown.matched !== null, ...(p.shown.matched && { markers: { fill: (u, i) => (i > p.shown.lines.length ? `repeating-linear-gradient(135deg, ${match} 0 1px, transparent 1px 4px)` : String(u.series[i].stroke instanceof Function ? u.series[i].stroke(u, i) : '')) } }) },
    cursor: { drag: { x: true, y: false, setScale: false }, y: false },
    scales: { x: { time: true }, y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
    tzDate: zone.value === 'utc' ? (ts) => utcDate(ts) : (ts) => new Date(ts * 1000),
    axes: [
      { stroke: axis, grid, ticks: grid, space: TICK_SPACE, values: (_u, ticks) => ticks.map((t) => tickText(t, ticks)) },
      { stroke: axis, grid, ticks: grid, size: 70, label, labelSize: 18, labelFont: '12px system-ui', values: (_u, ticks) => ticks.map((t) => (unit === 'cores' ? String(Number(t.toFixed(3))) : formatValue(t, unit))) },
    ],
    series: [{}, ...p.shown.lines.map((g, i) => ({
      label: g.name, stroke: lines[i % lines.length], width: 1.5, fill: only ? lines[0] + '22' : undefined, points, value: (_u: uPlot, v: number | null) => value(v),
    })), ...(p.shown.matched ? [{
      label: `matches ${p.search.length > 60 ? p.search.slice(0, 60) + '…' : p.search}`, stroke: match, width: 1.5, fill: (u: uPlot) => hatched(u, match) as string, points,
      value: (_u: uPlot, v: number | null, _i: number, at: number | null) => (v === null || at === null ? value(v) : `${value(v)} (${formatShare(shareAt(p.shown, at), 1)})`),
    }] : [])],
    hooks: {
      draw: [(u) => drawMarkers(u, p.markers)],
      setSelect: [(u) => {
        if (u.select.width < 3) return mark(u, p.selection);  // no more than a click: what was selected stays
        const at = (px: number) => Math.round(u.posToVal(px, 'x') * 1000);
        select([at(u.select.left), at(u.select.left + u.select.width)]);
      }],
    },
  };
}

const TICK_SPACE = 84;  // px: the longest, "11-15 00:00", and a gap

// "10:25", with seconds or the date where the ticks are that close or far.
function tickText(seconds: number, ticks: number[]): string {
  const text = formatTime(seconds * 1000, zone.value === 'utc').replace('Z', '');
  const apart = ticks.length > 1 ? ticks[1] - ticks[0] : 60;
  if (apart >= 86400) return text.slice(5, 10);
  return apart < 60 ? text.slice(11) : text.slice(11, 16) === '00:00' ? text.slice(5, 16) : text.slice(11, 16);
}

// uPlot draws local times; a date that reads as UTC when read locally.
function utcDate(seconds: number): Date {
  const d = new Date(seconds * 1000);
  return new Date(d.getTime() + d.getTimezoneOffset() * 60e3);
}

export function Timeline(props: TimelineProps) {
  const p = { ...props, shown: useMemo(() => linesOf(props.series), [props.series]) };
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  // Ctrl or Cmd when the button went down: the drag is about the baseline.
  const baseline = useRef(false);
  const select = useRef((_: [number, number] | null) => {});
  select.current = (r) => { if (r && baseline.current) p.onBaseline(r); else p.onSelect(r); };
  const [typing, setTyping] = useState(false);
  const whole: [number, number] = [p.shown.startMs, p.shown.startMs + p.shown.all.length * p.shown.stepMs];
  const spanText = (r: [number, number]) => r.map((t) => formatTime(t, zone.value === 'utc')).join(' – ');
  const { view, zoomed, onTimeKey } = useTimeKeys(p.of, whole, 4 * p.shown.stepMs, spanText, (r) => p.onSelect([Math.round(r[0]), Math.round(r[1])]));
  const look = (u: uPlot) => { u.setScale('x', { min: view[0] / 1000, max: (zoomed ? view[1] : view[1] - p.shown.stepMs) / 1000 }); mark(u, p.selection); };
  useLayoutEffect(() => {
    let gone = false;
    let resize: ResizeObserver | null = null;
    const show = (Plot: typeof uPlot) => {
      if (gone || !box.current) return;
      const u = new Plot(optionsOf(p, box.current.clientWidth, (r) => select.current(r)), dataOf(p.series, p.shown), box.current);
      u.over.addEventListener('mousedown', (e) => {
        baseline.current = e.ctrlKey || e.metaKey;
        box.current?.classList.toggle('baseline', baseline.current);
        addEventListener('mouseup', () => box.current?.classList.remove('baseline'), { once: true });
      }, true);
      u.over.addEventListener('dblclick', () => select.current(null));
      plot.current = u;
      if (zoomed) look(u); else mark(u, p.selection);
      resize = new ResizeObserver(() => { if (box.current) { u.setSize({ width: box.current.clientWidth, height: 150 }); mark(u, p.selection); } });
      resize.observe(box.current);
    };
    if (library) show(library); else void load().then(show);
    return () => { gone = true; resize?.disconnect(); plot.current?.destroy(); plot.current = null; };
  }, [p.series, p.markers, dark.value, zone.value]);
  useEffect(() => { if (plot.current) mark(plot.current, p.selection); }, [p.selection?.join()]);
  useEffect(() => { if (plot.current) look(plot.current); }, [view.join()]);
  const { walked, onWalk } = useWalk(p, view, plot);
  useEffect(() => {
    const page = window as unknown as { __wherefore?: object };
    page.__wherefore = { ...page.__wherefore, timeline: p.shown };
  }, [p.shown]);
  const utc = zone.value === 'utc';
  const { label, factor, unit } = rateOf({ ...p.series, step_ms: p.shown.stepMs });
  const settled = settledOf(p.series, p.shown);
  const peak = peakOf(p.shown, settled);
  const empty = p.shown.all.slice(0, settled).filter((v) => v === null).length;
  return (
    <figure class="timeline">
      <div class="axis" role="application" tabIndex={0} aria-label={`Timeline, ${spanText(whole)}. W and S zoom, A and D move, F shows all of it, R selects what is in view; left and right walk its steps.`} onKeyDown={(e) => { if (!onWalk(e)) onTimeKey(e); }}>
        <div ref={box} class="plot" aria-hidden="true" />
      </div>
      <p class="walked" role="status">{walked}</p>
      <figcaption>
        {label} over time, in steps of {formatValue(p.shown.stepMs * 1e6, 'nanoseconds').replace(/\.0+ /, ' ')}{peak && `, peak ${unit === 'cores' ? formatFine(peak.value * factor) : formatValue(peak.value * factor, unit)} at ${formatTime(peak.at, utc)}`}{empty > 0 && `, nothing stored in ${empty} of ${p.shown.all.length} steps`}<Matches series={p.series} shown={p.shown} lens={p.lens !== ''} utc={utc} /> · drag: select · Ctrl+drag: baseline of a diff · double click: all
        {typing ? <TimeForm range={p.selection ?? whole} actions={[['Select', (r) => { setTyping(false); p.onSelect(r); }], ['Baseline of a diff', p.onBaseline]]} onCancel={() => setTyping(false)} />
          : <> · <button type="button" onClick={() => setTyping(true)}>Type times</button></>}
        {zoomed && <> · in view {spanText(view)}</>}
        {p.selection && <> · selected {formatTime(p.selection[0], utc)} – {formatTime(p.selection[1], utc)} <button type="button" onClick={() => p.onSelect(null)}>Whole range</button></>}
      </figcaption>
    </figure>
  );
}

// Arrow keys move a cursor from step to step, and say what is there. It is kept as a time: in live mode the steps move on.
function useWalk(p: TimelineProps & { shown: Lines }, view: [number, number], plot: { current: uPlot | null }): { walked: string; onWalk: (e: KeyboardEvent) => boolean } {
  const [time, setTime] = useState<number | null>(null);
  const { startMs, stepMs, all, matched, lines } = p.shown;
  const first = Math.max(0, Math.ceil((view[0] - startMs) / stepMs));
  const last = Math.min(settledOf(p.series, p.shown) - 1, Math.floor((view[1] - startMs) / stepMs));
  const at = time === null ? null : Math.round((time - startMs) / stepMs);
  const there = at !== null && at >= first && at <= last;
  useEffect(() => {
    const u = plot.current;
    if (u && time !== null) u.setCursor(there ? { left: u.valToPos(time / 1000, 'x'), top: 0 } : { left: -10, top: -10 });
  }, [time, there, p.series, view.join()]);
  const onWalk = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) return false;
    const to = stepAfter(e.key, at, first, last);
    if (to === null && (e.key !== 'Escape' || time === null)) return false;
    if (to === null) plot.current?.setCursor({ left: -10, top: -10 });
    setTime(to === null ? null : startMs + to * stepMs);
    e.preventDefault();
    return true;
  };
  if (!there) return { walked: '', onWalk };
  const { label, factor, unit } = rateOf({ ...p.series, step_ms: stepMs });
  const fill = p.shown.fill[at];
  const text = (v: number | null) => (v === null ? 'nothing stored' : unit === 'cores' ? `${formatFine(v * factor * fill)} ${label}` : formatValue(v * factor * fill, unit) + (p.series.averaged ? '' : ' per s'));
  const values = lines.length === 1 ? text(all[at]) : lines.map((l) => `${l.name} ${text(l.values[at] ?? null)}`).join(', ');
  return { walked: `${formatTime(startMs + at * stepMs, zone.value === 'utc')}: ${values}${matched && all[at] ? `, ${formatShare(shareAt(p.shown, at), 1)} of it ${p.lens !== '' ? 'is left by the lens and matches' : 'matches'}` : ''}`, onWalk };
}

// The line is about everything; what matches is what the lens leaves.
function Matches({ series, shown, lens, utc }: { series: SeriesAnswer; shown: Lines; lens: boolean; utc: boolean }) {
  const found = matchedOf(shown, settledOf(series, shown));
  return found && <>, <b class="matches">{formatShare(found.part, found.whole)} of it {lens ? 'is left by the lens and matches' : 'matches'}</b>{found.most && `, most ${formatShare(found.most.share, 1)} at ${formatTime(found.most.at, utc)}`}</>;
}

// The lane of markers: a line and what changed there. Deploys today; room for more.
function drawMarkers(u: uPlot, markers: Marker[]): void {
  const { ctx } = u;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.fillStyle = ctx.strokeStyle = dark.value ? '#d59be6' : '#8e24aa';
  ctx.lineWidth = ratio;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
  ctx.setLineDash([4 * ratio, 3 * ratio]);
  for (const m of markers) {
    const x = Math.round(u.valToPos(m.at / 1000, 'x', true));
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, u.bbox.top);
    ctx.lineTo(x, u.bbox.top + u.bbox.height);
    ctx.stroke();
    ctx.fillText(m.to.slice(0, 24), x + 4 * ratio, u.bbox.top + 9 * ratio);
  }
  ctx.restore();
}

function mark(u: uPlot, selection: [number, number] | null): void {
  const at = (ms: number) => Math.max(0, Math.min(u.valToPos(ms / 1000, 'x'), u.over.clientWidth));
  const left = selection ? at(selection[0]) : 0;
  const right = selection ? at(selection[1]) : 0;
  u.setSelect({ left, width: Math.max(right - left, 0), top: 0, height: u.over.clientHeight }, false);
}
