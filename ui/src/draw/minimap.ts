// Draws the outline of a whole flame graph as a strip: every row, nothing narrower than half a pixel, no names.
import { diffFills, diffIndex, type Palette } from '../core/palette';
import type { Tree } from '../core/tree';
import { fillsOf } from './flame';

type Context = Pick<CanvasRenderingContext2D, 'fillRect' | 'fillStyle'>;

export function drawMinimap(
  g: Context,
  tree: Tree,
  size: { width: number; height: number; flip: boolean },
  palette: Palette,
): number {
  g.fillStyle = palette.background;
  g.fillRect(0, 0, size.width, size.height);
  const scale = size.width / (tree.width[0] || 1);
  const row = size.height / Math.max(tree.rows, 1);
  const boxes = [...palette.boxes, palette.root, palette.fold];
  const changes = diffFills(palette);
  const fill = fillsOf(tree);
  let drawn = 0;
  for (let i = 0; i < tree.func.length; ) {
    const w = tree.width[i] * scale;
    if (w < 0.5) {
      i = tree.end[i];
      continue;
    }
    const y = size.flip ? size.height - (tree.depth[i] + 1) * row : tree.depth[i] * row;
    g.fillStyle =
      i > 0 && tree.totalBefore && fill[tree.func[i]] < palette.boxes.length
        ? changes[diffIndex(tree.totalBefore[i], tree.total[i])]
        : boxes[i === 0 ? palette.boxes.length : fill[tree.func[i]]];
    g.fillRect(tree.start[i] * scale, y, w, Math.max(row, 0.5));
    drawn++;
    i++;
  }
  return drawn;
}
