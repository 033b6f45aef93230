// Draws a flame graph on a canvas of the viewport's size and finds the frame under a point. It needs only a canvas
// context, so the page, exports and tests share this code.
//
// Subtrees that are too narrow or out of view are skipped whole: the work depends on what is visible, not on the size
// of the tree. Runs of siblings narrower than `minWidth` become one grey block, so nothing disappears silently.
import { colourIndex, diffFills, diffIndex, type Palette } from '../core/palette';
import { sureOf } from '../core/difference';
import { OTHER } from '../core/flame';
import { formatMany } from '../core/format';
import { fitName } from '../core/names';
import { isFold, type Tree } from '../core/tree';

export interface View {
  from: number;
  to: number; // visible part of the root's width, in the tree's units
  top: number; // first visible pixel row
  width: number;
  height: number; // CSS pixels
  row: number; // height of a row
  minWidth: number;
  flip: boolean; // root at the bottom
  zoom: number; // node zoomed to; what is above it is dimmed
}

type Context = Pick<
  CanvasRenderingContext2D,
  | 'fillRect'
  | 'fillText'
  | 'strokeRect'
  | 'globalAlpha'
  | 'fillStyle'
  | 'strokeStyle'
  | 'font'
  | 'textBaseline'
  | 'lineWidth'
  | 'setLineDash'
>;

export const FONT = '12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
const LABEL_FROM = 24;

// Fills and labels per function, computed once per function table.
interface Looks {
  fill: Uint8Array;
  label: string[];
}
const ROOT = 27,
  FOLD = 28,
  DIFF = 29; // fills: the boxes' first, then these
const looks = new WeakMap<object, Looks>();
function looksOf(tree: Tree): Looks {
  let found = looks.get(tree.functions);
  if (!found) {
    found = {
      fill: Uint8Array.from(tree.functions, (f) => (f.kind === OTHER ? FOLD : colourIndex(f.name, f.module, f.kind))),
      label: tree.functions.map((f) => shownName(f.name, Infinity)),
    };
    looks.set(tree.functions, found);
  }
  return found;
}

// The fill of each function: an index into the palette's boxes, or ROOT or FOLD.
export const fillsOf = (tree: Tree): Uint8Array => looksOf(tree).fill;

export const rowTop = (tree: Tree, view: View, depth: number) =>
  (view.flip ? Math.max(tree.rows * view.row, view.height) - (depth + 1) * view.row : depth * view.row) - view.top;

export function boxOf(tree: Tree, view: View, node: number): { x: number; y: number; w: number } {
  const scale = view.width / (view.to - view.from || 1);
  const x = (tree.start[node] - view.from) * scale;
  const left = Math.max(x, 0);
  return {
    x: left,
    y: rowTop(tree, view, tree.depth[node]),
    w: Math.min(x + tree.width[node] * scale, view.width) - left,
  };
}

// A difference is never shown by colour alone. Where the server tested it, only what is sure has a colour, an outline
// and a sign in its label; where it could not, every change has its colour, new frames a border, vanished ones a dashed
// one. Computed once per tree.
const PLAIN = 0,
  SURE = 1,
  NEW = 2,
  VANISHED = 3;
const marks = new WeakMap<object, Uint8Array>();
function marksOf(tree: Tree): Uint8Array {
  let found = marks.get(tree);
  if (!found) {
    const { total, totalBefore } = tree;
    found = Uint8Array.from(total, (after, i) => {
      if (i === 0 || isFold(tree, i) || after === totalBefore![i]) return PLAIN;
      const sure = !tree.verdict || sureOf(tree, i) !== 0;
      if (sure && totalBefore![i] === 0) return NEW;
      if (sure && after === 0) return VANISHED;
      return tree.verdict && sure ? SURE : PLAIN;
    });
    marks.set(tree, found);
  }
  return found;
}

const MARK_FROM = 4; // pixels

function drawMarks(g: Context, tree: Tree, view: View, palette: Palette, nodes: number[]): void {
  const kinds = marksOf(tree);
  g.strokeStyle = palette.text;
  for (const kind of [SURE, NEW, VANISHED]) {
    g.lineWidth = kind === SURE ? 1 : 1.5;
    g.setLineDash(kind === VANISHED ? [4, 3] : []);
    for (const i of nodes) {
      if (kinds[i] !== kind) continue;
      const box = boxOf(tree, view, i);
      g.strokeRect(box.x + 1, box.y + 1, Math.max(box.w - 3, 1), view.row - 3);
    }
  }
  g.setLineDash([]);
}

const SIGNS = { [-1]: '▼ ', 0: '', 1: '▲ ' };

export interface Drawn {
  boxes: number;
  blocks: number;
  visited: number;
}

// `letter`: width of one character of FONT.
export function drawFlame(g: Context, tree: Tree, view: View, palette: Palette, letter: number): Drawn {
  g.fillStyle = palette.background;
  g.fillRect(0, 0, view.width, view.height);
  const fills = [...palette.boxes, palette.root, palette.fold, ...diffFills(palette)];
  const { fill } = looksOf(tree);
  const rects: number[][] = fills.map(() => []);
  const labels: number[] = [];
  const marked: number[] = [];
  const out: Drawn = { boxes: 0, blocks: 0, visited: 0 };
  const scale = view.width / (view.to - view.from || 1);
  const { start, width, depth, end, func, totalBefore } = tree;
  const [first, step] = [rowTop(tree, view, 0), view.flip ? -view.row : view.row];
  let run = { y: -1, x: 0, end: -1 };
  const endRun = () => {
    if (run.end - run.x >= 0.5) {
      rects[FOLD].push(run.x, run.y, run.end - run.x);
      out.blocks++;
    }
  };
  for (let i = 0, n = func.length; i < n; ) {
    out.visited++;
    const x = (start[i] - view.from) * scale;
    const w = width[i] * scale;
    const y = first + depth[i] * step;
    if (x + w <= 0 || x >= view.width || (view.flip ? y + view.row <= 0 : y >= view.height)) {
      i = end[i];
      continue;
    }
    const inView = view.flip ? y < view.height : y + view.row > 0;
    if (w < view.minWidth) {
      if (inView) {
        if (run.y !== y || x - run.end > 1) {
          endRun();
          run = { y, x: Math.max(x, 0), end: x };
        }
        run.end = Math.min(x + w, view.width);
      }
      i = end[i];
      continue;
    }
    if (inView) {
      const left = x > 0 ? x : 0;
      const visible = Math.min(x + w, view.width) - left;
      const own = fill[func[i]];
      const kind = i === 0 ? ROOT : totalBefore && own !== FOLD ? DIFF + tintOf(tree, i) : own;
      rects[kind].push(left, y, visible > 2 ? visible - 1 : visible > 0.5 ? visible : 0.5);
      out.boxes++;
      if (totalBefore && visible >= MARK_FROM) marked.push(i);
      if (visible >= LABEL_FROM) labels.push(i);
    }
    i++;
  }
  endRun();
  rects.forEach((list, kind) => {
    if (list.length === 0) return;
    g.fillStyle = fills[kind];
    for (let r = 0; r < list.length; r += 3) g.fillRect(list[r], list[r + 1], list[r + 2], view.row - 1);
  });
  if (marked.length > 0) drawMarks(g, tree, view, palette, marked);
  drawLabels(g, tree, view, palette, letter, labels);
  return out;
}

const tintOf = (tree: Tree, i: number) =>
  tree.verdict && sureOf(tree, i) === 0 ? 0 : diffIndex(tree.totalBefore![i], tree.total[i]);

function drawLabels(g: Context, tree: Tree, view: View, palette: Palette, letter: number, nodes: number[]): void {
  g.font = FONT;
  g.textBaseline = 'middle';
  g.fillStyle = palette.text;
  const { label } = looksOf(tree);
  for (const i of nodes) {
    const box = boxOf(tree, view, i);
    const name = i === 0 || isFold(tree, i) ? labelOf(tree, i) : label[tree.func[i]];
    const sign = i === 0 || !tree.totalBefore ? '' : SIGNS[sureOf(tree, i)];
    const short = fitName(name, Math.floor((box.w - 8) / letter) - sign.length);
    if (short === '') continue;
    const text = sign + short;
    const above = i < view.zoom && tree.end[i] > view.zoom;
    if (above) g.globalAlpha = 0.75;
    g.fillText(text, box.x + 4, box.y + view.row / 2);
    if (above) g.globalAlpha = 1;
  }
}

export function labelOf(tree: Tree, node: number): string {
  if (node === 0) return 'all';
  const name = tree.functions[tree.func[node]].name;
  return isFold(tree, node) ? formatMany(tree.hidden[node], 'small frame') : name;
}

// Replaces control characters and marks that change the text direction, so that a name cannot affect the text around
// it.
export const safe = (text: string) =>
  text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '·');

// A name from outside, safe to show. A blank name is shown as "(no name)".
export const shownName = (name: string, most = 2000) => safe(name.slice(0, most)).trim() || '(no name)';

// Calls `each` for every node that is wide enough for a box of its own, including rows scrolled out of view.
function visit(tree: Tree, view: View, each: (node: number) => void): void {
  const scale = view.width / (view.to - view.from || 1);
  for (let i = 0; i < tree.func.length; ) {
    const x = (tree.start[i] - view.from) * scale;
    const w = tree.width[i] * scale;
    if (w < view.minWidth || x + w <= 0 || x >= view.width) {
      i = tree.end[i];
      continue;
    }
    each(i);
    i++;
  }
}

export interface Marks {
  matches?: Uint8Array; // by node
  hover: number; // nodes; -1: none
  frame: number;
  focused: boolean;
}

// Draws the highlights on a canvas of their own: matches, the selected frame, the hovered frame and every other call of
// its function.
export function drawOverlay(
  g: Context & Pick<CanvasRenderingContext2D, 'clearRect'>,
  tree: Tree,
  view: View,
  palette: Palette,
  marks: Marks,
): void {
  g.clearRect(0, 0, view.width, view.height);
  const { matches } = marks;
  if (matches) {
    visit(tree, view, (i) => {
      const box = boxOf(tree, view, i);
      g.fillStyle = matches[i] ? palette.match : palette.background;
      if (matches[i]) {
        g.fillRect(box.x, box.y + view.row - 4, Math.max(box.w - 1, 1), 3);
        return;
      }
      g.globalAlpha = 0.55;
      g.fillRect(box.x, box.y, box.w, view.row);
      g.globalAlpha = 1;
    });
  }
  const ring = (node: number, colour: string, width: number) => {
    const box = boxOf(tree, view, node);
    g.strokeStyle = colour;
    g.lineWidth = width;
    g.strokeRect(box.x + width / 2, box.y + width / 2, Math.max(box.w - width - 1, 1), view.row - width - 1);
  };
  const { hover, frame } = marks;
  const same = hover >= 0 ? hover : frame;
  if (same > 0 && !isFold(tree, same))
    visit(tree, view, (i) => {
      if (tree.func[i] === tree.func[same] && i !== same) ring(i, hover >= 0 ? palette.text : palette.focus, 1);
    });
  if (hover >= 0) ring(hover, palette.text, 2);
  if (frame >= 0) ring(frame, palette.focus, marks.focused ? 3 : 2);
}

// What is at a point: a node, or a run of nodes too narrow to draw.
export interface Hit {
  node: number;
  run?: { from: number; to: number; count: number; value: number; largest: number };
}

export function hitFlame(tree: Tree, view: View, x: number, y: number): Hit | null {
  const rows = view.flip ? Math.max(tree.rows * view.row, view.height) - (y + view.top) : y + view.top;
  const depth = Math.floor(rows / view.row);
  if (depth < 0 || x < 0 || x >= view.width) return null;
  const scale = (view.to - view.from) / view.width;
  const value = view.from + x * scale;
  const narrow = view.minWidth * scale;
  let node = 0;
  while (tree.depth[node] < depth) {
    let child = node + 1;
    while (child < tree.end[node] && tree.start[child] + tree.width[child] <= value) child = tree.end[child];
    if (child >= tree.end[node] || tree.start[child] > value) return null;
    if (tree.width[child] < narrow)
      return tree.depth[child] === depth ? { node: child, run: runAround(tree, node, child, narrow) } : null;
    node = child;
  }
  return { node };
}

function runAround(tree: Tree, parent: number, node: number, narrow: number) {
  let run = { from: 0, to: 0, count: 0, value: 0, largest: -1 };
  for (let c = parent + 1; c < tree.end[parent]; c = tree.end[c]) {
    if (tree.width[c] >= narrow) {
      if (c > node) break;
      run = { from: 0, to: 0, count: 0, value: 0, largest: -1 };
      continue;
    }
    if (run.count === 0) run.from = tree.start[c];
    run.to = tree.start[c] + tree.width[c];
    run.count++;
    run.value += tree.total[c];
    if (run.largest < 0 || tree.total[c] > tree.total[run.largest]) run.largest = c;
  }
  return run;
}
