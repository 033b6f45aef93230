// Draws a timeline on a canvas: lines with gaps, what matches, marks of new versions, ticks of time. Needs only a
// canvas context. Pure but for that.
import type { Marker, Values } from '../core/trend';

export interface TimelineLook {
  lines: string[];
  match: string;
  grid: string;
  text: string;
  back: string;
  marker: string;
}

export interface TimelinePicture {
  width: number;
  height: number;
  view: [number, number]; // ms
  startMs: number;
  stepMs: number;
  lines: Values[];
  matched: Values | null;
  markers: Marker[];
  top: string; // what the top line stands for
}

export const AXIS = 13; // pixels below the lines, for the ticks
const TOP = 3;
const APART = 84; // pixels between two ticks: fits "11-15 00:00" and a gap
const [S, M, H, D] = [1e3, 60e3, 3600e3, 86400e3];
const STEPS = [S, 5 * S, 15 * S, 30 * S, M, 5 * M, 10 * M, 15 * M, 30 * M, H, 3 * H, 6 * H, 12 * H, D, 7 * D, 30 * D];

// The times of the ticks, at whole hours and days of the zone; `offset`: of it to UTC, ms.
export function ticksOf([from, to]: [number, number], width: number, offset: number): { every: number; at: number[] } {
  const most = Math.max(1, Math.floor(width / APART));
  const every = STEPS.find((s) => (to - from) / s <= most) ?? Math.ceil((to - from) / most / (30 * D)) * 30 * D;
  const at: number[] = [];
  for (let t = Math.ceil((from + offset) / every) * every - offset; t < to; t += every) at.push(t);
  return { every, at };
}

export const largestOf = (lines: Values[]) => Math.max(0, ...lines.flatMap((l) => l.map((v) => v ?? 0)));

type Context = CanvasRenderingContext2D;

export function drawTimeline(
  g: Context,
  p: TimelinePicture,
  look: TimelineLook,
  tickText: (at: number, every: number) => string,
  offset: number,
): void {
  g.clearRect(0, 0, p.width, p.height);
  const [from, to] = p.view;
  const bottom = p.height - AXIS;
  const x = (ms: number) => ((ms - from) / (to - from || 1)) * p.width;
  const most = (largestOf(p.lines) || 1) * 1.05;
  const y = (v: number) => bottom - (v / most) * (bottom - TOP);
  const at = (i: number) => x(p.startMs + i * p.stepMs);
  g.font = '11px system-ui, sans-serif';
  g.textBaseline = 'alphabetic';
  g.lineWidth = 1;
  const { every, at: ticks } = ticksOf(p.view, p.width, offset);
  g.strokeStyle = look.grid;
  g.fillStyle = look.text;
  g.beginPath();
  g.moveTo(0, bottom + 0.5);
  g.lineTo(p.width, bottom + 0.5);
  for (const t of ticks) {
    const left = Math.round(x(t)) + 0.5;
    g.moveTo(left, TOP);
    g.lineTo(left, bottom + 4);
    g.fillText(tickText(t, every), left + 3, p.height - 2);
  }
  g.stroke();
  p.lines.forEach((values, i) => {
    const colour = look.lines[i % look.lines.length];
    drawLine(g, values, at, y, bottom, colour, p.lines.length === 1 ? colour + '22' : '');
  });
  if (p.matched) drawLine(g, p.matched, at, y, bottom, look.match, hatched(g, look.match));
  g.fillStyle = look.back;
  g.globalAlpha = 0.8;
  g.fillRect(0, 0, g.measureText(p.top).width + 8, 14);
  g.globalAlpha = 1;
  g.fillStyle = look.text;
  g.fillText(p.top, 4, 11);
  drawMarkers(g, p, look, x, bottom);
}

// Values without a neighbour on either side are dots.
function drawLine(
  g: Context,
  values: Values,
  x: (i: number) => number,
  y: (v: number) => number,
  bottom: number,
  stroke: string,
  fill: string | CanvasPattern,
): void {
  g.strokeStyle = stroke;
  g.lineWidth = 1.5;
  for (let i = 0; i < values.length; ) {
    if (values[i] === null) {
      i++;
      continue;
    }
    const first = i;
    g.beginPath();
    for (; i < values.length && values[i] !== null; i++) g.lineTo(x(i), y(values[i]!));
    if (i - first === 1) {
      g.fillStyle = stroke;
      g.fillRect(x(first) - 2, y(values[first]!) - 2, 4, 4);
      continue;
    }
    g.stroke();
    if (fill === '') continue;
    g.lineTo(x(i - 1), bottom);
    g.lineTo(x(first), bottom);
    g.closePath();
    g.fillStyle = fill;
    g.fill();
  }
}

// Matches are hatched, so that they can be told apart without colour.
function hatched(g: Context, colour: string): CanvasPattern | string {
  const size = 6;
  const tile = document.createElement('canvas');
  tile.width = tile.height = size;
  const t = tile.getContext('2d');
  if (!t) return colour + '55';
  t.fillStyle = colour + '38';
  t.fillRect(0, 0, size, size);
  t.strokeStyle = colour;
  for (const shift of [-1, 0, 1]) {
    t.beginPath();
    t.moveTo(shift * size, size);
    t.lineTo((shift + 1) * size, 0);
    t.stroke();
  }
  return g.createPattern(tile, 'repeat') ?? colour + '55';
}

function drawMarkers(
  g: Context,
  p: TimelinePicture,
  look: TimelineLook,
  x: (ms: number) => number,
  bottom: number,
): void {
  g.fillStyle = g.strokeStyle = look.marker;
  g.lineWidth = 1;
  g.setLineDash([4, 3]);
  for (const m of p.markers) {
    const at = Math.round(x(m.at)) + 0.5;
    if (at < 0 || at > p.width) continue;
    g.beginPath();
    g.moveTo(at, 0);
    g.lineTo(at, bottom);
    g.stroke();
    g.fillText(m.to.slice(0, 24), at + 4, 10);
  }
  g.setLineDash([]);
}
