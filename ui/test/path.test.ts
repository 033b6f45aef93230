// The same vectors as src/profile/tree_path_test.cc.
import { expect, test } from 'vitest';
import { addressOf, nodeAt, pathText } from '../src/core/path';
import { buildTree } from '../src/core/tree';
import { columns } from './sample';

const tree = buildTree(
  columns([
    [0, 'total', '', 0, 0],
    [1, 'main', 'app', 1, 1],
    [2, 'würk<int>', 'libcore.so', 5, 2],
    [3, 'würk<int>', 'libcore.so', 7, 3],
  ]),
);

test('addresses are those the server computes', () => {
  expect([0, 1, 2, 3].map((i) => addressOf(tree, i))).toEqual([
    '0000000000000000',
    'f3520e06e945e123',
    'cb2c92eaac3a14e7',
    '205a7ba5174ab9ff',
  ]);
});

test('an address leads back to its node, an unknown one nowhere', () => {
  for (const i of [0, 1, 2, 3]) expect(nodeAt(tree, addressOf(tree, i))).toBe(i);
  expect(nodeAt(tree, 'ffffffffffffffff')).toBe(-1);
});

test('a lens names a frame by its functions, or by its address where those would not do', () => {
  expect([1, 2, 3].map((i) => pathText(tree, i))).toEqual(['main', 'main;würk<int>', 'main;würk<int>;würk<int>']);
  const odd = buildTree(
    columns([
      [0, 'total', '', 0, 0],
      [1, 'main', 'app', 0, 1],
      [2, 'f', 'x', 1, 1],
      [3, 'a;b', '', 1, 1],
      [2, 'f', 'y', 1, 1],
      [3, 'a > b', '', 1, 1],
      [4, 'g', '', 1, 1],
      [2, 'h'.repeat(500), '', 1, 1],
    ]),
    'name',
  );
  const of = (name: string, module = '') =>
    pathText(
      odd,
      Array.from(odd.func).findIndex((f) => odd.functions[f].name === name && odd.functions[f].module === module),
    );
  expect([of('f', 'x'), of('f', 'y')]).toEqual(['main;x`f', 'main;y`f']);
  for (const name of ['a;b', 'a > b', 'g', 'h'.repeat(500)]) expect(of(name)).toMatch(/^@[0-9a-f]{16}$/);
});
