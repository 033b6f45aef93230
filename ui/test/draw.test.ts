import { expect, test } from 'vitest';
import { LESS, MORE, UNDECIDED, UNKNOWN } from '../src/core/flame';
import { DARK, LIGHT } from '../src/core/palette';
import { buildTree } from '../src/core/tree';
import { boxOf, drawFlame, drawOverlay, hitFlame, safe, type View } from '../src/draw/flame';
import { drawMinimap } from '../src/draw/minimap';
import { ticksOf } from '../src/draw/timeline';
import { columns, randomTree, SHOP, type Node } from './sample';

function recorder() {
  const rects: number[][] = [];
  const texts: string[] = [];
  const strokes: number[][] = [];
  const g = {
    fillRect: (...r: number[]) => rects.push(r),
    fillText: (t: string) => texts.push(t),
    strokeRect: (...r: number[]) => strokes.push(r),
    setLineDash() {},
    globalAlpha: 1,
    fillStyle: '',
    strokeStyle: '',
    font: '',
    textBaseline: '' as CanvasTextBaseline,
    lineWidth: 1,
  };
  return { g, rects, texts, strokes };
}
const view = (tree: ReturnType<typeof buildTree>, more: Partial<View> = {}): View => ({
  from: 0,
  to: tree.width[0],
  top: 0,
  width: 1120,
  height: 400,
  row: 20,
  minWidth: 0.5,
  flip: false,
  zoom: 0,
  ...more,
});

test('boxes are as wide as their share', () => {
  const tree = buildTree(columns(SHOP), 'weight');
  const { g, rects, texts } = recorder();
  const drawn = drawFlame(g, tree, view(tree), LIGHT, 7);
  expect(drawn.boxes).toBe(8);
  expect(rects).toContainEqual([0, 40, 819, 19]); // pay: 82 of 112, on 1120 px, less the gap
  expect(texts.some((t) => t.startsWith('12 smal'))).toBe(true);
});

test('of a tested difference only what is sure has an outline and a sign', () => {
  const nodes: Node[] = [
    [0, 'total', '', 0, 0],
    [1, 'sure', '', 4000, 4000],
    [1, 'chance', '', 1005, 1005],
    [1, 'new', '', 900, 900],
    [1, 'gone', '', 0, 0],
    [1, 'same', '', 500, 500],
  ];
  const before = Float64Array.from([0, 1000, 1000, 0, 800, 500]);
  const verdict = Float64Array.from([UNKNOWN, MORE, UNDECIDED, MORE, LESS, UNDECIDED]);
  const tree = buildTree({ ...columns(nodes), before, verdict }, 'name');
  const { g, texts, strokes } = recorder();
  drawFlame(g, tree, view(tree), LIGHT, 7);
  const at = tree.func.findIndex((f) => tree.functions[f].name === 'chance');
  const chance = boxOf(tree, view(tree), at);
  expect(strokes.length).toBe(3);
  expect(strokes.some(([x]) => x > chance.x && x < chance.x + chance.w)).toBe(false);
  expect(texts).toEqual(['all', '▲ sure', 'chance', '▲ new', '▼ gone', 'same']);
});

test('with a frame every other call of its function is ringed', () => {
  const tree = buildTree(columns(SHOP), 'weight'); // all main pay parse parse fold cart parse
  const ringed = (marks: { hover: number; frame: number }) => {
    const { g, strokes } = recorder();
    drawOverlay({ ...g, clearRect() {} }, tree, view(tree), LIGHT, { focused: false, ...marks });
    return strokes.length;
  };
  expect([
    ringed({ hover: 3, frame: -1 }),
    ringed({ hover: -1, frame: 3 }),
    ringed({ hover: 2, frame: 3 }),
    ringed({ hover: 0, frame: -1 }),
    ringed({ hover: -1, frame: -1 }),
  ]).toEqual([3, 3, 2, 1, 0]);
});

test('the minimap has every box that is half a pixel wide', () => {
  const tree = buildTree(columns(SHOP), 'weight');
  const { g, rects } = recorder();
  expect(drawMinimap(g, tree, { width: 1120, height: 40, flip: false }, LIGHT)).toBe(8);
  expect(rects).toContainEqual([0, 16, 820, 8]); // pay
  expect(drawMinimap(g, tree, { width: 20, height: 40, flip: true }, LIGHT)).toBe(8);
  expect(drawMinimap(g, tree, { width: 5, height: 40, flip: true }, LIGHT)).toBe(6);
});

test('what is too narrow becomes one grey block that says what it is', () => {
  const wide: Node[] = [
    [0, 'total', '', 0, 0],
    [1, 'big', '', 1e6, 1],
    ...Array.from({ length: 5000 }, (_, i): Node => [1, 'f' + i, '', i === 7 ? 300 : 200, 1]),
  ];
  const tree = buildTree(columns(wide), 'weight');
  const { g } = recorder();
  const drawn = drawFlame(g, tree, view(tree), LIGHT, 7);
  expect(drawn).toMatchObject({ boxes: 2, blocks: 1 });
  const hit = hitFlame(tree, view(tree), 1000, 25)!;
  expect(hit.run!.count).toBe(5000);
  expect(tree.functions[tree.func[hit.run!.largest]].name).toBe('f7');
});

test('the hit is what is drawn there, either way up', () => {
  const tree = buildTree(columns(SHOP), 'weight');
  expect(hitFlame(tree, view(tree), 500, 45)!.node).toBe(2);
  expect(hitFlame(tree, view(tree, { flip: true }), 500, 400 - 45)!.node).toBe(2);
  expect(hitFlame(tree, view(tree), 500, 399)).toBe(null);
});

test('work depends on what is visible, not on the tree', () => {
  const tree = buildTree(randomTree(200_000), 'weight');
  const { g } = recorder();
  const drawn = drawFlame(g, tree, view(tree, { height: 1000 }), DARK, 7);
  expect(drawn.visited).toBeLessThan(60_000);
});

test('marks that turn the text around stay inside their name', () => {
  expect(safe('a\u202eb\u0000c')).toBe('a·b·c');
});

test('ticks of a timeline are at whole hours of the zone, and never closer than their text', () => {
  const day = Date.parse('2026-11-18T00:00:00Z');
  const { every, at } = ticksOf([day + 10 * 60e3, day + 130 * 60e3], 1000, 0);
  expect([every, at[0] - day]).toEqual([15 * 60e3, 15 * 60e3]);
  const shifted = ticksOf([day, day + 3 * 86400e3], 500, 3600e3);
  expect([shifted.every, shifted.at.map((t) => (t - day) / 3600e3)]).toEqual([86400e3, [23, 47, 71]]);
  for (const width of [10, 90, 390, 2000])
    expect(ticksOf([0, 1e12], width, 0).at.length).toBeLessThanOrEqual(width / 84 + 1);
});
