import { expect, test } from 'vitest';
import { seenIn, stepAfter, timeMove, type Span } from '../src/core/time_keys';

const WHOLE: Span = [1000, 2000];
const view = (key: string, from: Span, least = 1) => {
  const move = timeMove(key, from, WHOLE, least);
  return move && 'view' in move ? move.view : null;
};

test('W and S zoom around the middle and end at the least and the whole', () => {
  expect(view('w', WHOLE)).toEqual([1200, 1800]);
  expect(view('W', [1200, 1800])).toEqual([1320, 1680]);
  expect(view('s', [1200, 1800])).toEqual(WHOLE);
  expect(view('s', [1000, 1300])).toEqual([1000, 1500]);
  expect(view('w', [1490, 1510], 20)).toEqual([1490, 1510]);
  expect(view('w', WHOLE, 5000)).toEqual(WHOLE);
});

test('A and D move, but not beyond the ends; F is all of it', () => {
  expect([view('d', [1000, 1400]), view('d', [1550, 1950]), view('a', [1050, 1450])]).toEqual([
    [1100, 1500],
    [1600, 2000],
    [1000, 1400],
  ]);
  expect(view('f', [1400, 1500])).toEqual(WHOLE);
});

test('what is in view keeps its times while the axis moves on, and goes along at its edge', () => {
  const later: Span = [1300, 2300];
  expect(seenIn([1400, 1600], later)).toEqual([1400, 1600]);
  expect(seenIn([1200, 1400], later)).toEqual([1300, 1500]);
  expect(seenIn([1000, 3000], later)).toEqual(later);
  expect(seenIn(null, later)).toEqual(later);
});

test('arrows walk the steps in view, one by one', () => {
  expect([
    stepAfter('ArrowRight', null, 3, 9),
    stepAfter('ArrowRight', 3, 3, 9),
    stepAfter('ArrowRight', 9, 3, 9),
  ]).toEqual([3, 4, 9]);
  expect([
    stepAfter('ArrowLeft', null, 3, 9),
    stepAfter('ArrowLeft', 9, 3, 9),
    stepAfter('ArrowLeft', 1, 3, 9),
  ]).toEqual([9, 8, 3]);
  expect([
    stepAfter('Home', 5, 3, 9),
    stepAfter('End', 5, 3, 9),
    stepAfter('w', 5, 3, 9),
    stepAfter('Home', null, 0, -1),
  ]).toEqual([3, 9, null, null]);
});

test('R makes a range of what is in view; other keys are not its own', () => {
  expect(timeMove('r', [1200, 1300], WHOLE, 1)).toEqual({ range: [1200, 1300] });
  expect(['x', 'Enter', 'ArrowLeft', 'h'].map((key) => timeMove(key, WHOLE, WHOLE, 1))).toEqual([
    null,
    null,
    null,
    null,
  ]);
});
