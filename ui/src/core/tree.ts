// A flame graph as columns with everything needed to draw it: totals, start and end of each box and subtree. Pure; no
// recursion, so depth does not matter.
import type { Measure } from './difference';
import { OTHER, type FlameColumns, type FlameFunction } from './flame';

export interface Tree extends FlameColumns {
  parent: Int32Array; // -1 for the root
  end: Uint32Array; // first node after the subtree
  total: Float64Array;
  totalCount: Float64Array;
  totalBefore?: Float64Array;
  totalCountBefore?: Float64Array;
  width: Float64Array; // total; in a difference the larger of before and after
  start: Float64Array; // in units of width, the root's at 0
  rows: number; // depth of the deepest node + 1
  measure?: Measure; // the unit for a difference's numbers; default: the tree's own
}

export type Order = 'weight' | 'name';

// Trees built by the worker, in the default order and scale.
const built = new WeakMap<FlameColumns, Tree>();
export const rememberTree = (columns: FlameColumns, tree: Tree) => {
  built.set(columns, tree);
};

// `normalise`: the factor for values before, in a difference; 1 = unchanged.
export function buildTree(columns: FlameColumns, order: Order = 'weight', normalise = 1): Tree {
  const known = order === 'weight' && normalise === 1 ? built.get(columns) : undefined;
  if (known) return known;
  const sorted = order === 'weight' ? byWeight(columns) : columns;
  const shape = shapeOf(sorted.depth);
  const total = addUp(sorted.self, shape.parent);
  const totalCount = addUp(sorted.count, shape.parent);
  let totalBefore: Float64Array | undefined;
  let before = sorted.before;
  if (before) {
    before = before.map((v) => v * normalise);
    totalBefore = addUp(before, shape.parent);
  }
  const totalCountBefore = sorted.beforeCount && addUp(sorted.beforeCount, shape.parent);
  const width = widthsOf(total, totalBefore, shape.parent);
  const tree: Tree = {
    ...sorted,
    ...shape,
    before,
    total,
    totalCount,
    totalBefore,
    totalCountBefore,
    width,
    start: new Float64Array(total.length),
  };
  const next = new Float64Array(total.length);
  for (let i = 1; i < total.length; i++) {
    const p = tree.parent[i];
    tree.start[i] = tree.start[p] + next[p];
    next[p] += width[i];
  }
  return tree;
}

export function shapeOf(depth: Uint32Array) {
  const n = depth.length;
  const parent = new Int32Array(n).fill(-1);
  const end = new Uint32Array(n).fill(n);
  const path: number[] = [];
  let rows = 0;
  for (let i = 0; i < n; i++) {
    while (path.length > depth[i]) end[path.pop()!] = i;
    if (path.length > 0) parent[i] = path[path.length - 1];
    path.push(i);
    if (depth[i] >= rows) rows = depth[i] + 1;
  }
  return { parent, end, rows };
}

export function addUp(self: Float64Array, parent: Int32Array): Float64Array {
  const total = Float64Array.from(self);
  for (let i = total.length - 1; i > 0; i--) total[parent[i]] += total[i];
  return total;
}

// A vanished path keeps its width; a parent is at least as wide as its children together.
function widthsOf(total: Float64Array, before: Float64Array | undefined, parent: Int32Array): Float64Array {
  if (!before) return total.map((v) => Math.max(v, 0));
  const width = new Float64Array(total.length);
  const children = new Float64Array(total.length);
  for (let i = total.length - 1; i >= 0; i--) {
    width[i] = Math.max(total[i], before[i], children[i], 0);
    if (i > 0) children[parent[i]] += width[i];
  }
  return width;
}

// Siblings by weight, heaviest first, folds last. The columns come ordered by name.
function byWeight(columns: FlameColumns): FlameColumns {
  const { depth } = columns;
  const n = depth.length;
  const { parent, end } = shapeOf(depth);
  const weight = addUp(columns.self, parent);
  if (columns.before)
    addUp(columns.before, parent).forEach((v, i) => {
      weight[i] = Math.max(weight[i], v);
    });
  const last = columns.functions.map((f) => f.kind === OTHER);
  for (let i = 0; i < n; i++) if (last[columns.func[i]]) weight[i] = -1;
  const from = new Uint32Array(n);
  const pending = [0];
  for (let at = 0; pending.length > 0; at++) {
    const node = pending.pop()!;
    from[at] = node;
    const bottom = pending.length;
    for (let c = node + 1; c < end[node]; c = end[c]) pending.push(c);
    if (pending.length - bottom > 1) sortTail(pending, bottom, weight);
  }
  const pick = <T extends Float64Array | Uint32Array>(column: T): T => {
    const out = column.slice() as T;
    for (let i = 0; i < n; i++) out[i] = column[from[i]];
    return out;
  };
  return {
    ...columns,
    depth: pick(depth),
    func: pick(columns.func),
    self: pick(columns.self),
    count: pick(columns.count),
    hidden: pick(columns.hidden),
    before: columns.before && pick(columns.before),
    beforeCount: columns.beforeCount && pick(columns.beforeCount),
    verdict: columns.verdict && pick(columns.verdict),
  };
}

// Lightest first, because the stack returns the last one first. Short lists are sorted by insertion, without
// allocating.
function sortTail(list: number[], from: number, weight: Float64Array): void {
  if (list.length - from > 24) {
    const tail = list.splice(from).sort((a, b) => weight[a] - weight[b] || b - a);
    for (const c of tail) list.push(c);
    return;
  }
  for (let i = from + 1; i < list.length; i++) {
    const c = list[i];
    let j = i - 1;
    while (j >= from && (weight[list[j]] > weight[c] || (weight[list[j]] === weight[c] && list[j] < c))) {
      list[j + 1] = list[j];
      j--;
    }
    list[j + 1] = c;
  }
}

export const functionOf = (tree: FlameColumns, node: number): FlameFunction => tree.functions[tree.func[node]];
export const isFold = (tree: FlameColumns, node: number) => functionOf(tree, node).kind === OTHER;

export function stackOf(tree: Tree, node: number): number[] {
  const out: number[] = [];
  for (let i = node; i >= 0; i = tree.parent[i]) out.push(i);
  return out.reverse();
}

export function childrenOf(tree: Tree, node: number): number[] {
  const out: number[] = [];
  for (let c = node + 1; c < tree.end[node]; c = tree.end[c]) out.push(c);
  return out;
}

// For each function whether it matches. Folds and the root are not functions.
export function matching(tree: FlameColumns, pattern: { test: (text: string) => boolean }): boolean[] {
  const hit = tree.functions.map((f) => f.kind !== OTHER && (pattern.test(f.name) || pattern.test(f.module)));
  hit[tree.func[0]] = false;
  return hit;
}

// Nodes whose function matches, and the share of the total they cover; nested ones count once.
export function search(
  tree: Tree,
  pattern: { test: (text: string) => boolean },
): { nodes: Uint8Array; first: number[]; value: number; functions: number } {
  const hit = matching(tree, pattern);
  const nodes = new Uint8Array(tree.func.length);
  const first: number[] = [];
  let value = 0;
  let covered = 0;
  for (let i = 1; i < nodes.length; i++) {
    if (!hit[tree.func[i]]) continue;
    nodes[i] = 1;
    first.push(i);
    if (i < covered) continue;
    covered = tree.end[i];
    value += tree.total[i];
  }
  return { nodes, first, value, functions: hit.filter(Boolean).length };
}

// The next or previous match, wrapping around.
export function nextMatch(first: number[], from: number, by: 1 | -1): number {
  const at = first.findIndex((n) => n >= Math.max(from, 0));
  const to = at < 0 ? (by === 1 ? 0 : first.length - 1) : first[at] === from ? at + by : by === 1 ? at : at - 1;
  return first[(to + first.length) % first.length];
}

// The share of the total that is not folded away.
export function shownShare(tree: Tree): number {
  let folded = 0;
  for (let i = 1; i < tree.func.length; i++) if (isFold(tree, i)) folded += tree.total[i];
  return tree.total[0] > 0 ? 1 - folded / tree.total[0] : 1;
}

// The largest frame of a function, -1 if none is drawn.
export function heaviestOf(tree: Tree, f: { name: string; module: string }): number {
  let best = -1;
  for (let i = 1; i < tree.func.length; i++) {
    const own = functionOf(tree, i);
    if (
      own.name === f.name &&
      own.module === f.module &&
      !isFold(tree, i) &&
      (best < 0 || tree.total[i] > tree.total[best])
    )
      best = i;
  }
  return best;
}

// A frame's self value. In an inverted graph only the top frames have one; undefined for the others.
export const ownOf = (tree: Tree, node: number) =>
  !tree.meta.inverted || node === 0 ? tree.self[node] : tree.depth[node] === 1 ? tree.total[node] : undefined;

// The hottest function: the end of the heaviest path, or its start in an inverted graph. -1 for none.
export function hottestOf(tree: Tree): number {
  if (!tree.meta.inverted) return heaviestLeaf(tree) || -1;
  return childrenOf(tree, 0).reduce(
    (best, c) => (!isFold(tree, c) && (best < 0 || tree.total[c] > tree.total[best]) ? c : best),
    -1,
  );
}

// The largest frame of the own function that does most, with what library functions do for it; -1 for none. `own`: by
// function.
export function hottestOwnOf(tree: Tree, own: boolean[]): number {
  const charged = new Float64Array(tree.functions.length);
  const nearest = new Int32Array(tree.func.length).fill(-1);
  for (let i = 1; i < tree.func.length; i++) {
    nearest[i] = own[tree.func[i]] && !isFold(tree, i) ? tree.func[i] : nearest[tree.parent[i]];
    if (nearest[i] >= 0) charged[nearest[i]] += tree.self[i];
  }
  const best = charged.indexOf(charged.reduce((a, b) => Math.max(a, b), 0));
  return charged[best] > 0 ? heaviestOf(tree, tree.functions[best]) : -1;
}

export function heaviestLeaf(tree: Tree, from = 0): number {
  let node = from;
  for (;;) {
    let best = -1;
    for (let c = node + 1; c < tree.end[node]; c = tree.end[c]) {
      if (!isFold(tree, c) && (best < 0 || tree.total[c] > tree.total[best])) best = c;
    }
    if (best < 0) return node;
    node = best;
  }
}
