// Where the keys of the flame graph lead.
import { expect, test } from 'vitest';
import { buildTree } from '../src/core/tree';
import { KEYS, moveOf } from '../src/parts/flame_keys';
import { columns, SHOP } from './sample';

const tree = buildTree(columns(SHOP), 'weight'); // 0 all, 1 main, 2 pay, 3 parse, 4 parse, 5 fold, 6 cart, 7 parse

test('arrows follow the picture, either way up', () => {
  expect([
    moveOf(tree, 2, 'ArrowUp', false),
    moveOf(tree, 2, 'ArrowDown', false),
    moveOf(tree, 2, 'ArrowRight', false),
    moveOf(tree, 6, 'ArrowLeft', false),
  ]).toEqual([{ select: 1 }, { select: 3 }, { select: 6 }, { select: 2 }]);
  expect([moveOf(tree, 2, 'ArrowUp', true), moveOf(tree, 2, 'ArrowDown', true)]).toEqual([
    { select: 3 },
    { select: 1 },
  ]);
  expect([
    moveOf(tree, 0, 'ArrowUp', false),
    moveOf(tree, 7, 'ArrowDown', false),
    moveOf(tree, 6, 'ArrowRight', false),
  ]).toEqual([null, null, null]);
});

test('the ends, zoom, matches', () => {
  expect([
    moveOf(tree, 2, 'Home', false),
    moveOf(tree, 0, 'End', false),
    moveOf(tree, 2, 'Enter', false),
    moveOf(tree, 2, '0', false),
  ]).toEqual([{ select: 0 }, { select: 4 }, { zoom: 2 }, { zoom: 0 }]);
  expect(['n', '.', 'N', ','].map((key) => moveOf(tree, 2, key, false))).toEqual([
    { step: 1 },
    { step: 1 },
    { step: -1 },
    { step: -1 },
  ]);
});

test('no key is listed twice', () => {
  const keys = KEYS.flatMap(([key]) => key.replace(/(Ctrl|Shift) \w+/, '').split(/, | or | /));
  expect(keys.filter((k, i) => k.length === 1 && keys.indexOf(k) !== i && k !== '+')).toEqual([]);
});
