import { expect, test } from 'vitest';
import { groupsOf } from '../src/core/groups';
import { join } from '../src/core/join';
import {
  buildTree,
  childrenOf,
  functionOf,
  heaviestLeaf,
  heaviestOf,
  hottestOf,
  hottestOwnOf,
  nextMatch,
  ownOf,
  search,
  shownShare,
  stackOf,
} from '../src/core/tree';
import { colourIndex, isOwn } from '../src/core/palette';
import { factorOf, mayBeChance } from '../src/core/difference';
import { MORE, UNDECIDED, UNKNOWN } from '../src/core/flame';
import { changeOf, selfOf, stackText, wholeOf } from '../src/parts/describe';
import { columns, randomTree, SHOP, type Node } from './sample';

const names = (tree: ReturnType<typeof buildTree>, nodes: number[]) => nodes.map((i) => functionOf(tree, i).name);

test('totals add up and boxes lie inside their callers', () => {
  const tree = buildTree(randomTree(5000), 'weight');
  for (let i = 1; i < tree.func.length; i++) {
    const p = tree.parent[i];
    expect(tree.start[i]).toBeGreaterThanOrEqual(tree.start[p]);
    expect(tree.start[i] + tree.width[i]).toBeLessThanOrEqual(tree.start[p] + tree.width[p] + 1e-6);
  }
  expect(tree.total[0]).toBe(tree.self.reduce((a, b) => a + b));
});

test('siblings come by weight with folds last, or by name as sent', () => {
  const heavy = buildTree(columns(SHOP), 'weight');
  expect(names(heavy, childrenOf(heavy, 1))).toEqual(['pay', 'cart']);
  const pay = childrenOf(heavy, 1)[0];
  expect(names(heavy, childrenOf(heavy, pay))).toEqual(['parse', 'other']);
  const named = buildTree(columns(SHOP), 'name');
  expect(names(named, childrenOf(named, 1))).toEqual(['cart', 'pay']);
});

test('search counts a nested match once', () => {
  const found = search(buildTree(columns(SHOP)), /^parse$/);
  expect(found.value).toBe(20 + 40 + 5);
  expect(found.first.length).toBe(3);
});

test('what is folded is not shown', () => {
  expect(shownShare(buildTree(columns(SHOP)))).toBeCloseTo(1 - 7 / 112);
});

test('the hot path ends at the heaviest leaf', () => {
  const tree = buildTree(columns(SHOP));
  expect(names(tree, stackOf(tree, heaviestLeaf(tree)))).toEqual(['total', 'main', 'pay', 'parse', 'parse']);
});

test('an opened fold keeps every total', () => {
  const tree = buildTree(columns(SHOP), 'name');
  const pay = childrenOf(tree, 1)[1];
  const part = columns([
    [0, 'pay', 'app', 30, 3],
    [1, 'log', 'app', 3, 1],
    [1, 'parse', 'json', 40, 4],
    [2, 'parse', 'json', 5, 1],
    [1, 'sign', 'ssl', 4, 0],
  ]);
  const opened = buildTree(join(columns(SHOP), pay, part), 'weight');
  expect(opened.total[0]).toBe(tree.total[0]);
  expect(shownShare(opened)).toBe(1);
  expect(names(opened, childrenOf(opened, childrenOf(opened, 1)[0]))).toEqual(['parse', 'sign', 'log']);
});

test('in a difference vanished paths keep their width', () => {
  const c = columns([
    [0, 'total', '', 0, 0],
    [1, 'gone', '', 0, 0],
    [1, 'new', '', 10, 1],
  ]);
  c.before = Float64Array.from([0, 30, 0]);
  const tree = buildTree(c, 'weight');
  expect(names(tree, childrenOf(tree, 0))).toEqual(['gone', 'new']);
  expect([tree.width[0], tree.totalBefore![0], tree.total[0]]).toEqual([40, 30, 10]);
});

test('a difference is judged by the verdicts of the server, wherever nodes are drawn', () => {
  const c = columns([
    [0, 'total', '', 0, 0],
    [1, 'light', '', 100, 100],
    [1, 'heavy', '', 1300, 1300],
  ]);
  c.before = Float64Array.from([0, 90, 1000]);
  expect(mayBeChance(buildTree(c), 1)).toBe(false); // not tested
  c.verdict = Float64Array.from([UNKNOWN, UNDECIDED, MORE]);
  const tree = buildTree({ ...c }, 'weight'); // heavy comes first
  expect(names(tree, [1, 2])).toEqual(['heavy', 'light']);
  expect([1, 2].map((node) => mayBeChance(tree, node))).toEqual([false, true]);
});

test("a difference in shares has both sides' own shares and the totals as they were", () => {
  const c = columns([
    [0, 'total', '', 0, 0],
    [1, 'a', '', 300e9, 300],
    [1, 'b', '', 100e9, 100],
  ]);
  c.before = Float64Array.from([0, 50e9, 50e9]);
  c.meta.total_before = 100e9;
  const factor = factorOf('share', { before: 1, after: 1 }, { before: 100e9, after: 400e9 });
  const tree = { ...buildTree(c, 'weight', factor), measure: { mode: 'share' as const, seconds: 60, whole: 400e9 } };
  expect(changeOf(tree, 1)).toBe('50.0 % → 75.0 % · +25.0 points (+50.0 %)');
  expect(wholeOf(tree)).toBe('1.67 min → 6.67 min');
  expect(selfOf(tree, 2)).toBe('50.0 % → 25.0 %');
});

test('a chain of 10,000 calls and 100,000 siblings are no problem', () => {
  const chain: Node[] = Array.from({ length: 10_000 }, (_, i) => [i, 'f' + (i % 7), '', i === 9999 ? 5 : 0, 1]);
  expect(buildTree(columns(chain)).rows).toBe(10_000);
  const wide: Node[] = [
    [0, 'total', '', 0, 0],
    ...Array.from({ length: 100_000 }, (_, i): Node => [1, 'f' + i, '', 1, 1]),
  ];
  expect(buildTree(columns(wide)).total[0]).toBe(100_000);
});

test('matches are stepped through, round and round', () => {
  expect([
    nextMatch([3, 5, 9], -1, 1),
    nextMatch([3, 5, 9], 5, 1),
    nextMatch([3, 5, 9], 9, 1),
    nextMatch([3, 5, 9], 6, -1),
    nextMatch([3, 5, 9], 3, -1),
  ]).toEqual([3, 9, 3, 5, 9]);
  expect([nextMatch([3, 5], 20, 1), nextMatch([3, 5], 20, -1)]).toEqual([3, 5]);
});

test('the largest frame of a function', () => {
  const tree = buildTree(columns(SHOP), 'weight');
  const parse = heaviestOf(tree, { name: 'parse', module: 'json' });
  expect(names(tree, stackOf(tree, parse))).toEqual(['total', 'main', 'pay', 'parse']);
  expect(heaviestOf(tree, { name: 'other', module: '' })).toBe(-1);
});

test('of an inverted graph the top frames are what did the work', () => {
  // "parse" has 65: called by itself, by pay and by cart; "pay" has 30.
  const turned = columns([
    [0, 'total', '', 0, 0],
    [1, 'parse', 'json', 0, 0],
    [2, 'pay', 'app', 0, 0],
    [3, 'main', 'app', 60, 6],
    [2, 'cart', 'app', 5, 1],
    [1, 'pay', 'app', 0, 0],
    [2, 'main', 'app', 30, 3],
  ]);
  turned.meta.inverted = true;
  const tree = buildTree(turned, 'weight');
  const name = (node: number) => tree.functions[tree.func[node]].name;
  expect(name(hottestOf(tree))).toBe('parse');
  expect(Array.from(tree.func, (_, i) => ownOf(tree, i))).toEqual([
    0,
    65,
    undefined,
    undefined,
    undefined,
    30,
    undefined,
  ]);
  expect(groupsOf(tree).map((g) => [g.name, g.self])).toEqual([
    ['json', 65],
    ['app', 30],
  ]);
  expect(stackText(tree, 3)).toBe('main\npay\nparse');
});

test('the own function that does most has what libraries do for it', () => {
  const tree = buildTree(
    columns([
      [0, 'total', '', 0, 0],
      [1, 'main', 'shop', 1, 1],
      [2, 'Parse', 'shop', 2, 2],
      [3, 'std::append', 'shop', 3, 3],
      [4, 'memcpy', 'libc.so.6', 40, 40],
      [2, 'Cart::price', 'shop', 20, 20],
      [1, 'memcpy', 'libc.so.6', 90, 90],
    ]),
    'name',
  );
  const own = tree.functions.map((f) => isOwn(colourIndex(f.name, f.module, f.kind)));
  expect(functionOf(tree, hottestOwnOf(tree, own)).name).toBe('Parse');
  expect(
    hottestOwnOf(
      tree,
      own.map(() => false),
    ),
  ).toBe(-1);
});
