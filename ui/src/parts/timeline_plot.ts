// The timeline's plot: uPlot, loaded on first use, with lines, matches, markers and the selection.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import type { Series } from '../core/answers';
import { now } from '../core/clock';
import { formatFine, formatShare, formatTime, formatValue } from '../core/format';
import { DARK, LIGHT } from '../core/palette';
import { dark, zone } from '../core/settings';
import { shareAt, type Lines } from '../core/steps';
import { alone, settledSteps, type Marker, type Values } from '../core/trend';

export interface PlotProps {
  series: Series;
  shown: Lines;
  search: string;
  selection: [number, number] | null;
  onSelect: (range: [number, number] | null) => void;
  onBaseline: (range: [number, number]) => void;
  markers: Marker[];
}

const HEIGHT = 150;
const LINES = ['#0b6bcb', '#c2570c', '#2e7d32', '#8e24aa', '#a1790a', '#00838f', '#c2185b', '#5d4037'];
const LINES_DARK = ['#6cb6ff', '#f2a15f', '#7fd488', '#d59be6', '#e3c063', '#5fd0da', '#ff8ab3', '#c7a899'];

// Kept once loaded, so that new data is drawn without a flicker.
let library: typeof uPlot | null = null;
async function load(): Promise<typeof uPlot> {
  const [{ default: Plot }] = await Promise.all([import('uplot'), import('uplot/dist/uPlot.min.css')]);
  library = Plot;
  return Plot;
}

export const rateText = (v: number, unit: string) => (unit === 'cores' ? formatFine(v) : formatValue(v, unit));
// CPU time per second of wall time is in cores; other sums are per second; averages of snapshots stay as they are.
export function rateOf(s: Series): { label: string; factor: number; unit: string } {
  if (s.averaged) return { label: s.unit, factor: 1 / s.scale, unit: s.unit };
  const perSecond = 1000 / s.step_ms / s.scale;
  if (s.unit === 'nanoseconds')
    return { label: s.type === 'cpu' ? 'cores' : 's per s', factor: perSecond / 1e9, unit: 'cores' };
  return { label: `${s.unit} per s`, factor: perSecond, unit: s.unit };
}

export const settledOf = (s: Series, l: Lines) =>
  settledSteps(
    l.lines.map((g) => g.values),
    l.startMs,
    l.stepMs,
    s.newest_ms,
    now(),
    s.averaged,
  );

function dataOf(s: Series, l: Lines): uPlot.AlignedData {
  const { factor } = rateOf({ ...s, step_ms: l.stepMs });
  const end = settledOf(s, l);
  const shown = (values: Values) => values.map((v, i) => (i < end && v !== null ? v * factor * l.fill[i] : null));
  return [
    l.all.map((_, i) => (l.startMs + i * l.stepMs) / 1000),
    ...l.lines.map((g) => shown(g.values)),
    ...(l.matched ? [shown(l.matched)] : []),
  ];
}

// Matches are hatched, so that they can be told apart without colour.
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

// A dot marks a value without neighbours, which no line would show.
const POINTS = {
  show: false,
  size: 4,
  filter: (u: uPlot, i: number) => {
    const found = alone(u.data[i]);
    return found.length > 0 ? found : null;
  },
};

function optionsOf(p: PlotProps, width: number, select: (r: [number, number] | null) => void): uPlot.Options {
  const match = (dark.value ? DARK : LIGHT).match;
  const { label, unit } = rateOf({ ...p.series, step_ms: p.shown.stepMs });
  return {
    width,
    height: HEIGHT,
    legend: legendOf(p.shown, match),
    cursor: { drag: { x: true, y: false, setScale: false }, y: false },
    scales: { x: { time: true }, y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
    tzDate: zone.value === 'utc' ? (ts) => utcDate(ts) : (ts) => new Date(ts * 1000),
    axes: axesOf(label, unit),
    series: seriesOf(p, unit, match),
    hooks: {
      draw: [(u) => drawMarkers(u, p.markers)],
      setSelect: [
        (u) => {
          if (u.select.width < 3) return mark(u, p.selection); // just a click: keep the selection
          const at = (px: number) => Math.round(u.posToVal(px, 'x') * 1000);
          select([at(u.select.left), at(u.select.left + u.select.width)]);
        },
      ],
    },
  };
}

function legendOf({ lines, matched }: Lines, match: string): uPlot.Legend {
  if (!matched) return { show: lines.length > 1 };
  const hatching = `repeating-linear-gradient(135deg, ${match} 0 1px, transparent 1px 4px)`;
  const fill = (u: uPlot, i: number) =>
    i > lines.length ? hatching : String(u.series[i].stroke instanceof Function ? u.series[i].stroke(u, i) : '');
  return { show: true, markers: { fill } };
}

function axesOf(label: string, unit: string): uPlot.Axis[] {
  const grid = { stroke: dark.value ? '#2b3038' : '#e6e9ee', width: 1 };
  const both = { stroke: dark.value ? '#aab2bd' : '#555c66', grid, ticks: grid };
  const text = (t: number) => (unit === 'cores' ? String(Number(t.toFixed(3))) : formatValue(t, unit));
  return [
    { ...both, space: TICK_SPACE, values: (_u, ticks) => ticks.map((t) => tickText(t, ticks)) },
    {
      ...both,
      size: 70,
      label,
      labelSize: 18,
      labelFont: '12px system-ui',
      values: (_u, ticks) => ticks.map(text),
    },
  ];
}

function seriesOf({ shown, search }: PlotProps, unit: string, match: string): uPlot.Series[] {
  const colours = dark.value ? LINES_DARK : LINES;
  const value = (v: number | null) => (v === null || v === undefined ? '–' : rateText(v, unit));
  const lines = shown.lines.map((g, i) => ({
    label: g.name,
    stroke: colours[i % colours.length],
    width: 1.5,
    fill: shown.lines.length === 1 ? colours[0] + '22' : undefined,
    points: POINTS,
    value: (_u: uPlot, v: number | null) => value(v),
  }));
  if (!shown.matched) return [{}, ...lines];
  const matches: uPlot.Series = {
    label: `matches ${search.length > 60 ? search.slice(0, 60) + '…' : search}`,
    stroke: match,
    width: 1.5,
    fill: (u: uPlot) => hatched(u, match) as string,
    points: POINTS,
    value: (_u: uPlot, v: number | null, _i: number, at: number | null) =>
      v === null || at === null ? value(v) : `${value(v)} (${formatShare(shareAt(shown, at), 1)})`,
  };
  return [{}, ...lines, matches];
}

const TICK_SPACE = 84; // px: fits "11-15 00:00" and a gap

// "10:25", with seconds or the date if the ticks are that close or that far apart.
function tickText(seconds: number, ticks: number[]): string {
  const text = formatTime(seconds * 1000, zone.value === 'utc').replace('Z', '');
  const apart = ticks.length > 1 ? ticks[1] - ticks[0] : 60;
  if (apart >= 86400) return text.slice(5, 10);
  return apart < 60 ? text.slice(11) : text.slice(11, 16) === '00:00' ? text.slice(5, 16) : text.slice(11, 16);
}

// uPlot formats local time; this shifts a date so that it reads as UTC.
function utcDate(seconds: number): Date {
  const d = new Date(seconds * 1000);
  return new Date(d.getTime() + d.getTimezoneOffset() * 60e3);
}

// Draws into `box` and keeps selection and visible range up to date. `plot` is null until uPlot is loaded.
export function usePlot(p: PlotProps, view: [number, number], zoomed: boolean) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  // Ctrl or Cmd was held at mouse down: the drag picks the baseline.
  const baseline = useRef(false);
  const select = useRef((_: [number, number] | null) => {});
  select.current = (r) => {
    if (r && baseline.current) p.onBaseline(r);
    else p.onSelect(r);
  };
  const look = (u: uPlot) => {
    u.setScale('x', { min: view[0] / 1000, max: (zoomed ? view[1] : view[1] - p.shown.stepMs) / 1000 });
    mark(u, p.selection);
  };
  useLayoutEffect(() => {
    let gone = false;
    let resize: ResizeObserver | null = null;
    const show = (Plot: typeof uPlot) => {
      const area = box.current;
      if (gone || !area) return;
      const options = optionsOf(p, area.clientWidth, (r) => select.current(r));
      const u = new Plot(options, dataOf(p.series, p.shown), area);
      watchBaseline(u, area, baseline);
      u.over.addEventListener('dblclick', () => select.current(null));
      plot.current = u;
      if (zoomed) look(u);
      else mark(u, p.selection);
      resize = new ResizeObserver(() => {
        u.setSize({ width: area.clientWidth, height: HEIGHT });
        mark(u, p.selection);
      });
      resize.observe(area);
    };
    if (library) show(library);
    else void load().then(show);
    return () => {
      gone = true;
      resize?.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [p.series, p.markers, dark.value, zone.value]);
  useEffect(() => {
    if (plot.current) mark(plot.current, p.selection);
  }, [p.selection?.join()]);
  useEffect(() => {
    if (plot.current) look(plot.current);
  }, [view.join()]);
  return { box, plot };
}

function watchBaseline(u: uPlot, area: HTMLElement, baseline: { current: boolean }): void {
  u.over.addEventListener(
    'mousedown',
    (e) => {
      baseline.current = e.ctrlKey || e.metaKey;
      area.classList.toggle('baseline', baseline.current);
      addEventListener('mouseup', () => area.classList.remove('baseline'), { once: true });
    },
    true,
  );
}

// Markers: a dashed line and a label. Only deploys so far.
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
