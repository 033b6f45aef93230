// The timeline's plot: the picture (draw/timeline.ts), the selection, and what the pointer does with it.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Series } from '../core/answers';
import { now } from '../core/clock';
import { formatFine, formatShare, formatTime, formatValue } from '../core/format';
import { DARK, LIGHT } from '../core/palette';
import { dark, zone } from '../core/settings';
import { shareAt, shortGroups, type Lines } from '../core/steps';
import { settledSteps, type Marker, type Values } from '../core/trend';
import { drawTimeline, largestOf, type TimelineLook } from '../draw/timeline';
import { prepare } from './canvas';
import { useWidth } from './width';

const HEIGHT = 48;
const LINES = ['#0b6bcb', '#c2570c', '#2e7d32', '#8e24aa', '#a1790a', '#00838f', '#c2185b', '#5d4037'];
const LINES_DARK = ['#6cb6ff', '#f2a15f', '#7fd488', '#d59be6', '#e3c063', '#5fd0da', '#ff8ab3', '#c7a899'];

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

function looksNow(): TimelineLook {
  const match = (dark.value ? DARK : LIGHT).match;
  return dark.value
    ? { lines: LINES_DARK, match, grid: '#2b3038', text: '#aab2bd', back: DARK.background, marker: '#d59be6' }
    : { lines: LINES, match, grid: '#e6e9ee', text: '#555c66', back: LIGHT.background, marker: '#8e24aa' };
}

// "10:25", with seconds or the date if the ticks are that close or that far apart.
function tickText(ms: number, every: number): string {
  const text = formatTime(ms, zone.value === 'utc').replace('Z', '');
  if (every >= 86400e3) return text.slice(5, 10);
  return every < 60e3 ? text.slice(11) : text.slice(11, 16) === '00:00' ? text.slice(5, 16) : text.slice(11, 16);
}

// Of the reader's zone to UTC at that time, ms.
const offsetAt = (ms: number) => (zone.value === 'utc' ? 0 : -60e3 * new Date(ms).getTimezoneOffset());

export interface PlotProps {
  series: Series;
  shown: Lines;
  search: string;
  selection: [number, number] | null;
  onSelect: (range: [number, number] | null) => void;
  onBaseline: (range: [number, number]) => void;
  markers: Marker[];
  view: [number, number];
  step: number | null; // the step walked to by keyboard
}

export function Plot(p: PlotProps) {
  const { box, width } = useWidth<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [hover, setHover] = useState<number | null>(null);
  const { shown, series, view } = p;
  const { label, factor, unit } = rateOf({ ...series, step_ms: shown.stepMs });
  const end = settledOf(series, shown);
  const scaled = (values: Values) => values.map((v, i) => (i < end && v !== null ? v * factor * shown.fill[i] : null));
  const lines = shown.lines.map((l) => scaled(l.values));
  const matched = shown.matched && scaled(shown.matched);
  useLayoutEffect(() => {
    const g = prepare(canvas.current, { width, height: HEIGHT });
    if (!g) return;
    const top = `${rateText(largestOf(lines), unit)} ${unit === 'cores' ? label : ''}`.trim();
    const { startMs, stepMs } = shown;
    const size = { width, height: HEIGHT };
    const picture = { ...size, view, startMs, stepMs, lines, matched, markers: p.markers, top };
    drawTimeline(g, picture, looksNow(), tickText, offsetAt(view[0]));
  }, [series, shown, p.markers, width, view.join(), dark.value, zone.value]);
  const x = (ms: number) => Math.max(0, Math.min(((ms - view[0]) / (view[1] - view[0] || 1)) * width, width));
  const timeAt = (px: number) => Math.round(view[0] + (px / (width || 1)) * (view[1] - view[0]));
  const drag = useDrag(p, timeAt, (px) => {
    const step = px === null ? null : Math.round((timeAt(px) - shown.startMs) / shown.stepMs);
    setHover(step !== null && step >= 0 && step < shown.all.length ? step : null);
  });
  const marked = drag.range ?? p.selection;
  const step = hover ?? p.step;
  return (
    <div ref={box} class={'plot' + (drag.baseline ? ' baseline' : '')} style={{ height: HEIGHT }} aria-hidden="true">
      <canvas ref={canvas} />
      {marked && (
        <i class="plot-part" style={{ left: x(marked[0]), width: Math.max(x(marked[1]) - x(marked[0]), 1) }} />
      )}
      {step !== null && <i class="plot-at" style={{ left: x(shown.startMs + step * shown.stepMs) }} />}
      {(lines.length > 1 || matched || step !== null) && (
        <Legend p={p} step={step} lines={lines} matched={matched} unit={unit} label={label} />
      )}
      <div class="plot-over" {...drag.events} onDblClick={() => p.onSelect(null)} />
    </div>
  );
}

interface LegendProps {
  p: PlotProps;
  step: number | null;
  lines: Values[];
  matched: Values | null;
  unit: string;
  label: string;
}

// Names of several lines, and the values at the pointer.
function Legend({ p, step, lines, matched, unit, label }: LegendProps) {
  const { lines: colours, match } = looksNow();
  const value = (values: Values) => {
    const v = step === null ? undefined : values[step];
    return v === undefined ? '' : v === null ? ' –' : ` ${rateText(v, unit)}${unit === 'cores' ? ` ${label}` : ''}`;
  };
  const { shown, search } = p;
  const names = shortGroups(shown.lines.map((l) => l.name));
  return (
    <div class="plot-legend">
      {step !== null && <span>{formatTime(shown.startMs + step * shown.stepMs, zone.value === 'utc').slice(11)}</span>}
      {lines.map((values, i) => (
        <span key={shown.lines[i].name}>
          {lines.length > 1 && <i style={{ background: colours[i % colours.length] }} />}
          {lines.length > 1 && names[i]}
          {value(values)}
        </span>
      ))}
      {matched && (
        <span>
          <i style={{ background: `repeating-linear-gradient(135deg, ${match} 0 1px, transparent 1px 4px)` }} />
          matches {search.length > 60 ? search.slice(0, 60) + '…' : search}
          {value(matched)}
          {step !== null && shown.all[step] !== null && ` (${formatShare(shareAt(shown, step), 1)})`}
        </span>
      )}
    </div>
  );
}

const LEAST = 3; // pixels; less is a click, which keeps the selection

// A drag selects; with Ctrl or Cmd it picks the baseline.
function useDrag(p: PlotProps, timeAt: (px: number) => number, onHover: (px: number | null) => void) {
  const [held, setHeld] = useState<{ from: number; to: number; baseline: boolean } | null>(null);
  const at = (e: PointerEvent) => e.clientX - (e.currentTarget as Element).getBoundingClientRect().left;
  const ends = held && [Math.min(held.from, held.to), Math.max(held.from, held.to)];
  const wide = ends !== null && ends[1] - ends[0] >= LEAST;
  const range = wide ? (ends.map(timeAt) as [number, number]) : null;
  const events = {
    onPointerDown: (e: PointerEvent) => {
      if (e.button !== 0) return;
      (e.currentTarget as Element).setPointerCapture(e.pointerId);
      setHeld({ from: at(e), to: at(e), baseline: e.ctrlKey || e.metaKey });
    },
    onPointerMove: (e: PointerEvent) => {
      onHover(at(e));
      if (held) setHeld({ ...held, to: at(e) });
    },
    onPointerUp: () => {
      setHeld(null);
      if (!range) return;
      if (held!.baseline) p.onBaseline(range);
      else p.onSelect(range);
    },
    onPointerCancel: () => setHeld(null),
    onPointerLeave: () => onHover(null),
  };
  return { range, baseline: held?.baseline ?? false, events };
}
