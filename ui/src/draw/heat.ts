// Draws a heat map on a canvas: one cell per step and row, darker for higher counts. The scale is the square root of
// the count, so that single observations stay visible beside busy cells. With a search, the hue shows how much of a
// cell matches (grey: nothing), and a lane of bars below shows it for each step.

// Step, row, count; with a search also how much matches, and out of how much.
export type Cell = [number, number, number, number?, number?];
export interface Heat {
  steps: number;
  rows: number;
  cells: Cell[];
}
export interface HeatColours {
  background: string;
  shades: string[];
  matched: string[][]; // by share, then by count
}

type Context = Pick<CanvasRenderingContext2D, 'fillRect' | 'fillStyle'>;

export const SHADES = 8;
export const SHARES = 6;
const GAP_FROM = 6; // pixels

export function shadeOf(count: number, most: number): number {
  if (count <= 0) return -1;
  return Math.min(SHADES - 1, Math.floor(Math.sqrt(count / most) * SHADES));
}

export function mostOf(heat: Heat): number {
  let most = 1;
  for (const [, , count] of heat.cells) if (count > most) most = count;
  return most;
}

// The shade for a share: the first means nothing matches, the last everything. A small share never gets the first, an
// incomplete one never the last.
export function shareLevel(matched: number, whole: number): number {
  if (!(matched > 0) || !(whole > 0)) return 0;
  if (matched >= whole) return SHARES - 1;
  return 1 + Math.min(SHARES - 3, Math.floor((matched / whole) * (SHARES - 2)));
}

// For each step how much matches, and out of how much; null without a search.
export function matchedBySteps(heat: Heat): [number, number][] | null {
  if (heat.cells.length === 0 || heat.cells[0][3] === undefined) return null;
  const out = Array.from({ length: heat.steps }, (): [number, number] => [0, 0]);
  for (const [step, , , matched, whole] of heat.cells) {
    if (step >= heat.steps) continue;
    out[step][0] += matched ?? 0;
    out[step][1] += whole ?? 0;
  }
  return out;
}

// Row 0 is at the bottom.
export function drawHeat(
  g: Context,
  heat: Heat,
  size: { width: number; height: number },
  colours: HeatColours,
): number {
  g.fillStyle = colours.background;
  g.fillRect(0, 0, size.width, size.height);
  const [w, h] = [size.width / heat.steps, size.height / heat.rows];
  const most = mostOf(heat);
  // Leave gaps only between cells that are large enough.
  const [cw, ch] = [w >= GAP_FROM ? w - 1 : Math.max(w, 1), h >= GAP_FROM ? h - 1 : h];
  const byColour = new Map<string, Cell[]>();
  for (const cell of heat.cells) {
    const level = shadeOf(cell[2], most);
    if (level < 0 || cell[0] >= heat.steps || cell[1] >= heat.rows) continue;
    const colour = (cell[3] === undefined ? colours.shades : colours.matched[shareLevel(cell[3], cell[4] ?? 0)])[level];
    const same = byColour.get(colour);
    if (same) same.push(cell);
    else byColour.set(colour, [cell]);
  }
  let drawn = 0;
  for (const [colour, cells] of byColour) {
    g.fillStyle = colour;
    for (const [step, row] of cells) g.fillRect(step * w, size.height - (row + 1) * h, cw, ch);
    drawn += cells.length;
  }
  return drawn;
}

// Bars from the bottom, as high as the share of the step that matches. A step with any match is always visible.
export function drawShares(
  g: Context,
  shares: [number, number][],
  size: { width: number; height: number },
  colours: { background: string; bar: string; none: string },
): void {
  g.fillStyle = colours.background;
  g.fillRect(0, 0, size.width, size.height);
  const w = size.width / shares.length;
  const cw = w >= GAP_FROM ? w - 1 : Math.max(w, 1);
  shares.forEach(([part, whole], step) => {
    if (!(whole > 0)) return;
    const high = part > 0 ? Math.max((part / whole) * size.height, 2) : 1;
    g.fillStyle = part > 0 ? colours.bar : colours.none;
    g.fillRect(step * w, size.height - high, cw, high);
  });
}
