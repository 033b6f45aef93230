import { expect, test } from 'vitest';
import { drawHeat, drawShares, matchedBySteps, shareLevel, SHADES, SHARES, type Heat } from '../src/draw/heat';

const colours = {
  background: 'back',
  shades: Array.from({ length: SHADES }, (_, i) => `shade${i}`),
  matched: Array.from({ length: SHARES }, (_, s) => Array.from({ length: SHADES }, (_, i) => `match${s}.${i}`)),
};

function context() {
  const rects: [string, number, number, number, number][] = [];
  const g = {
    fillStyle: '',
    fillRect(x: number, y: number, w: number, h: number) {
      rects.push([g.fillStyle, x, y, w, h]);
    },
  };
  return { g: g as unknown as CanvasRenderingContext2D, rects };
}

test('every cell is drawn where it is, the darker the more', () => {
  const { g, rects } = context();
  expect(
    drawHeat(
      g,
      {
        steps: 2,
        rows: 2,
        cells: [
          [0, 0, 4],
          [1, 1, 1],
          [5, 0, 1],
        ],
      },
      { width: 20, height: 20 },
      colours,
    ),
  ).toBe(2);
  expect(rects).toEqual([
    ['back', 0, 0, 20, 20],
    ['shade7', 0, 10, 9, 9],
    ['shade4', 10, 0, 9, 9],
  ]);
});

test('with a search hue is how much of a cell matches', () => {
  expect(
    [
      [0, 5],
      [1, 1000],
      [1, 2],
      [999, 1000],
      [5, 5],
      [0, 0],
    ].map(([part, whole]) => shareLevel(part, whole)),
  ).toEqual([0, 1, 3, SHARES - 2, SHARES - 1, 0]);
  const { g, rects } = context();
  drawHeat(
    g,
    {
      steps: 2,
      rows: 1,
      cells: [
        [0, 0, 4, 0, 4],
        [1, 0, 4, 4, 4],
      ],
    },
    { width: 20, height: 10 },
    colours,
  );
  expect(rects.map(([colour]) => colour)).toEqual(['back', 'match0.7', `match${SHARES - 1}.7`]);
});

test('the lane has the share of each step; what matches a little shows', () => {
  const heat: Heat = {
    steps: 4,
    rows: 2,
    cells: [
      [0, 0, 4, 1, 4],
      [0, 1, 4, 3, 4],
      [1, 0, 1, 0, 9],
      [3, 0, 1, 1, 1000],
    ],
  };
  const shares = matchedBySteps(heat)!;
  expect(shares).toEqual([
    [4, 8],
    [0, 9],
    [0, 0],
    [1, 1000],
  ]);
  expect(matchedBySteps({ ...heat, cells: [[0, 0, 4]] })).toBeNull();
  const { g, rects } = context();
  drawShares(g, shares, { width: 16, height: 32 }, { background: 'back', bar: 'bar', none: 'none' });
  expect(rects).toEqual([
    ['back', 0, 0, 16, 32],
    ['bar', 0, 16, 4, 16],
    ['none', 4, 31, 4, 1],
    ['bar', 12, 30, 4, 2],
  ]);
});
