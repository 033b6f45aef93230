import { expect, test } from 'vitest';
import { amountIn, boxOf, boxParams, boxText, latencyNumbers, placeOf, ticksOf } from '../src/core/latency';

const map = latencyNumbers({
  start_ms: 1000,
  step_ms: 100,
  steps: 10,
  spans: 12,
  errors: 1,
  bounds_ns: [1024, 1280, 1536, 1792, 2048],
  cells: [
    [0, 0, 3, 0],
    [4, 1, 5, 1],
    [9, 3, 4, 0],
  ],
});

test('a box has the cells between its corners, whichever comes first', () => {
  const box = boxOf(map, [
    [4, 1],
    [2, 3],
  ]);
  expect(box).toEqual([1200, 1500, 1280, 2047]);
  expect(boxParams(box)).toEqual({ box_from: '1200', box_to: '1500', box_min: '1280ns', box_max: '2047ns' });
  expect(
    amountIn(map, [
      [4, 1],
      [2, 3],
    ]),
  ).toEqual({ count: 5, errors: 1 });
  expect(amountIn(map)).toEqual({ count: 12, errors: 1 });
});

test('the lowest row has everything shorter too', () => {
  const box = boxOf(map, [
    [0, 0],
    [0, 0],
  ]);
  expect(box).toEqual([1000, 1100, 0, 1279]);
  expect(boxText(box, true)).toBe('of up to 1.28 µs, 1970-01-01 00:00:01Z to 00:00:01Z');
});

test('a box is drawn where its cells are, and not beyond the map', () => {
  const corners: [[number, number], [number, number]] = [
    [2, 1],
    [4, 3],
  ];
  expect(placeOf(map, boxOf(map, corners))).toEqual({ left: 0.2, right: 0.5, bottom: 0.25, top: 1 });
  expect(placeOf(map, [0, 500, 0, 5000])).toBeNull();
  expect(placeOf(map, [0, 1500, 0, 1e15])).toEqual({ left: 0, right: 0.5, bottom: 0, top: 1 });
});

test('the scale names some rows only', () => {
  expect(ticksOf(map)).toEqual([0, 1, 2, 3]);
  expect(ticksOf({ ...map, rows: 40 })).toEqual([0, 8, 16, 24, 32]);
});
