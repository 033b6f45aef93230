// A heat map on a canvas: one cell per step and row, the darker the more. Counts go by their square root, so that single
// observations are seen beside busy cells. With a search, hue says how much of a cell matches, from grey (nothing) on, and a lane
// of bars how much of each step does. No framework, no DOM but the context.

// Step, row, count; with a search also how much matches, and of how much.
export type Cell = [number, number, number, number?, number?];
export interface Heat { steps: number; rows: number; cells: Cell[] }
export interface HeatColours { background: string; shades: string[]; matched: string[][] }  // matched: by share, then by count

type Context = Pick<CanvasRenderingContext2D, 'fillRect' | 'fillStyle'>;

export const SHADES = 8;
export const SHARES = 6;
const GAP_FROM = 6;  // pixels

export function shadeOf(count: number, most: number): number {
  if (count <= 0) return -1;
  return Math.min(SHADES - 1, Math.floor(Math.sqrt(count / most) * SHADES));
}

export function mostOf(heat: Heat): number {
  let most = 1;
  for (const [, , count] of heat.cells) if (count > most) most = count;
  return most;
}

// 0: nothing matches; the last: all of it. What matches a little is not nothing, what does not match altogether not all.
export function shareLevel(matched: number, whole: number): number {
  if (!(matched > 0) || !(whole > 0)) return 0;
  if (matched >= whole) return SHARES - 1;
  return 1 + Math.min(SHARES - 3, Math.floor(matched / whole * (SHARES - 2)));
}

// By step: how much matches, of how much; null without a search.
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
export function drawHeat(g: Context, heat: Heat, size: { width: number; height: number }, colours: HeatColours): number {
  g.fillStyle = colours.background;
  g.fillRect(0, 0, size.width, size.height);
  const [w, h] = [size.width / heat.steps, size.height / heat.rows];
  const most = mostOf(heat);
  // Gaps only where cells are large enough to have one.
  const [cw, ch] = [w >= GAP_FROM ? w - 1 : Math.max(w, 1), h >= GAP_FROM ? h - 1 : h];
  const byColour = new Map<string, Cell[]>();
  for (const cell of heat.cells) {
    const level = shadeOf(cell[2], most);
    if (level < 0 || cell[0] >= heat.steps || cell[1] >= heat.rows) continue;
    const colour = (cell[3] === undefined ? colours.shades : colours.matched[shareLevel(cell[3], cell[4] ?? 0)])[level];
    const same = byColour.get(colour);
    if (same) same.push(cell); else byColour.set(colour, [cell]);
  }
  let drawn = 0;
  for (const [colour, cells] of byColour) {
    g.fillStyle = colour;
    for (const [step, row] of cells) g.fillRect(step * w, size.height - (row + 1) * h, cw, ch);
    drawn += cells.length;
  }
  return drawn;
}

// Bars from the bottom, as high as the share of the step that matches; a step with something always shows.
export function drawShares(g: Context, shares: [number, number][], size: { width: number; height: number }, colours: { background: string; bar: string; none: string }): void {
  g.fillStyle = colours.background;
  g.fillRect(0, 0, size.width, size.height);
  const w = size.width / shares.length;
  const cw = w >= GAP_FROM ? w - 1 : Math.max(w, 1);
  shares.forEach(([part, whole], step) => {
    if (!(whole > 0)) return;
    const high = part > 0 ? Math.max(part / whole * size.height, 2) : 1;
    g.fillStyle = part > 0 ? colours.bar : colours.none;
    g.fillRect(step * w, size.height - high, cw, high);
  });
}
