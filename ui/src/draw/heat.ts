// A heat map on a canvas: one cell per step and row, the darker the more. Counts go by their square root, so that single
// observations are seen beside busy cells. No framework, no DOM but the context.

export interface Heat { steps: number; rows: number; cells: [number, number, number][] }

type Context = Pick<CanvasRenderingContext2D, 'fillRect' | 'fillStyle'>;

export const SHADES = 8;
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

// Row 0 is at the bottom.
export function drawHeat(g: Context, heat: Heat, size: { width: number; height: number }, colours: { background: string; shades: string[] }): number {
  g.fillStyle = colours.background;
  g.fillRect(0, 0, size.width, size.height);
  const [w, h] = [size.width / heat.steps, size.height / heat.rows];
  const most = mostOf(heat);
  // Gaps only where cells are large enough to have one.
  const [cw, ch] = [w >= GAP_FROM ? w - 1 : Math.max(w, 1), h >= GAP_FROM ? h - 1 : h];
  let drawn = 0;
  colours.shades.forEach((shade, level) => {
    g.fillStyle = shade;
    for (const [step, row, count] of heat.cells) {
      if (shadeOf(count, most) !== level || step >= heat.steps || row >= heat.rows) continue;
      g.fillRect(step * w, size.height - (row + 1) * h, cw, ch);
      drawn++;
    }
  });
  return drawn;
}
