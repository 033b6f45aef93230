// Joining two prunings of one tree.
import { expect, test } from 'vitest';
import { join } from '../src/core/join';
import { nodeAt, addressOf } from '../src/core/path';
import { OTHER, type FlameColumns } from '../src/core/flame';
import { buildTree, isFold, stackOf, functionOf, type Tree } from '../src/core/tree';
import { columns, type Node } from './sample';

// A tree with unique siblings ordered by name, as the server sends it.
function whole(seed: number): Node[] {
  let state = seed;
  const random = () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
  const nodes: Node[] = [[0, 'total', '', 0, 0]];
  const grow = (depth: number) => {
    const children = depth > 5 ? 0 : Math.floor(random() * 5);
    for (let i = 0; i < children; i++) {
      nodes.push([
        depth,
        'f' + i,
        random() < 0.5 ? 'app' : 'lib',
        Math.floor(random() ** 3 * 1000),
        Math.floor(random() * 9),
      ]);
      grow(depth + 1);
    }
  };
  for (let i = 0; i < 6; i++) {
    nodes.push([1, 'main' + i, 'app', 5, 1]);
    grow(2);
  }
  return nodes;
}

// Prunes as the server does: what is not kept becomes one fold per parent, the last of its children.
function pruned(tree: Tree, keep: (node: number) => boolean): FlameColumns {
  const out: Node[] = [];
  const walk = (node: number) => {
    out.push([
      tree.depth[node],
      functionOf(tree, node).name,
      functionOf(tree, node).module,
      tree.self[node],
      tree.count[node],
    ]);
    let [value, count, frames] = [0, 0, 0];
    for (let c = node + 1; c < tree.end[node]; c = tree.end[c]) {
      if (keep(c)) walk(c);
      else {
        value += tree.total[c];
        count += tree.totalCount[c];
        frames += tree.end[c] - c;
      }
    }
    if (frames > 0) out.push([tree.depth[node] + 1, 'other', '', value, count, frames]);
  };
  walk(0);
  return columns(out);
}

const paths = (tree: Tree) =>
  Array.from(tree.func, (_, i) => i)
    .filter((i) => !isFold(tree, i))
    .map((i) =>
      stackOf(tree, i)
        .map((n) => functionOf(tree, n).module + functionOf(tree, n).name)
        .join(';'),
    );

test('has the nodes of both, and every total is that of the whole', () => {
  for (let seed = 1; seed < 40; seed++) {
    const full = buildTree(columns(whole(seed)), 'name');
    const a = pruned(full, (n) => full.total[n] > 400);
    const b = pruned(full, (n) =>
      Array.from({ length: full.end[n] - n }, (_, k) => functionOf(full, n + k).name === 'f3').some(Boolean),
    );
    const both = buildTree(join(a, 0, b), 'name');
    const wanted = new Set([...paths(buildTree(a, 'name')), ...paths(buildTree(b, 'name'))]);
    expect(new Set(paths(both))).toEqual(wanted);
    expect(paths(both)).toEqual(paths(full).filter((p) => wanted.has(p))); // in the order of the whole
    for (let i = 0; i < both.func.length; i++) {
      if (isFold(both, i)) continue;
      const same = nodeAt(full, addressOf(both, i));
      expect([both.total[i], both.totalCount[i], both.self[i]]).toEqual([
        full.total[same],
        full.totalCount[same],
        full.self[same],
      ]);
    }
    const hidden = both.hidden.reduce((n, h) => n + h, 0);
    expect(hidden + both.func.filter((_, i) => !isFold(both, i)).length).toBe(full.func.length);
    for (let i = 0; i < both.func.length; i++) if (isFold(both, i)) expect(both.hidden[i]).toBeGreaterThan(0);
  }
});

test('an opened part keeps what a search had brought to light beside it', () => {
  const full = buildTree(columns(whole(7)), 'name');
  const small = pruned(full, (n) => full.total[n] > 900);
  const found = join(
    small,
    0,
    pruned(full, (n) => full.end[n] - n > 1 || functionOf(full, n).name === 'f1'),
  );
  const tree = buildTree(found, 'name');
  const node = Array.from(tree.func, (_, i) => i).find(
    (i) => i > 0 && isFold(tree, tree.end[i] - 1) && tree.depth[i] === 1,
  )!;
  const at = nodeAt(full, addressOf(tree, node));
  const part = pruned(full, () => true);
  const below: FlameColumns = {
    ...part,
    depth: part.depth.slice(at, full.end[at]).map((d) => d - full.depth[at]),
    func: part.func.slice(at, full.end[at]),
    self: part.self.slice(at, full.end[at]),
    count: part.count.slice(at, full.end[at]),
    hidden: part.hidden.slice(at, full.end[at]),
  };
  const opened = buildTree(join(found, node, below), 'name');
  expect(opened.total[0]).toBe(full.total[0]);
  expect(paths(opened)).toEqual(expect.arrayContaining(paths(tree)));
  const again = nodeAt(opened, addressOf(tree, node));
  expect(opened.end[again] - again).toBe(full.end[at] - at);
  expect(opened.functions.filter((f) => f.kind === OTHER).length).toBeLessThanOrEqual(1);
});

test('both sides of a difference', () => {
  const nodes: Node[] = [
    [0, 'total', '', 0, 0],
    [1, 'a', '', 10, 1],
    [1, 'other', '', 7, 2, 3],
  ];
  const base = { ...columns(nodes), before: Float64Array.from([0, 4, 9]), beforeCount: Float64Array.from([0, 1, 3]) };
  const part = {
    ...columns([
      [0, 'total', '', 0, 0],
      [1, 'b', '', 5, 1],
      [1, 'other', '', 12, 2, 3],
    ]),
    before: Float64Array.from([0, 6, 7]),
    beforeCount: Float64Array.from([0, 2, 2]),
  };
  const both = join(base, 0, part);
  expect([[...both.self], [...both.before!], [...both.count], [...both.beforeCount!], [...both.hidden]]).toEqual([
    [0, 10, 5, 2],
    [0, 4, 6, 3],
    [0, 1, 1, 1],
    [0, 1, 2, 1],
    [0, 0, 0, 2],
  ]);
});
