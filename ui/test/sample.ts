// Small trees for tests, as [depth, name, module, self, count, hidden?].
import { OTHER, type FlameColumns, type FlameFunction } from '../src/core/flame';

export type Node = [number, string, string, number, number, number?];

export function columns(nodes: Node[]): FlameColumns {
  const functions: FlameFunction[] = [];
  const ids = new Map<string, number>();
  const func = nodes.map(([, name, module, , , hidden]) => {
    const key = module + '\0' + name;
    if (!ids.has(key)) ids.set(key, functions.push({ name, module, file: '', line: 0, kind: hidden ? OTHER : 0 }) - 1);
    return ids.get(key)!;
  });
  const total = nodes.reduce((n, x) => n + x[3], 0);
  return {
    meta: { type: 'cpu', unit: 'nanoseconds', scale: 1, total, count: nodes.reduce((n, x) => n + x[4], 0), nodes: nodes.length, nodes_in_full: nodes.length, averaged: false },
    functions, func: Uint32Array.from(func), depth: Uint32Array.from(nodes, (n) => n[0]), self: Float64Array.from(nodes, (n) => n[3]),
    count: Float64Array.from(nodes, (n) => n[4]), hidden: Uint32Array.from(nodes, (n) => n[5] ?? 0),
  };
}

export const SHOP: Node[] = [
  [0, 'total', '', 0, 0], [1, 'main', 'app', 0, 0], [2, 'cart', 'app', 10, 1], [3, 'parse', 'json', 20, 2], [2, 'pay', 'app', 30, 3], [3, 'parse', 'json', 40, 4],
  [4, 'parse', 'json', 5, 1], [3, 'other', '', 7, 1, 12],
];

// A seeded tree with about `n` nodes.
export function randomTree(n: number, seed = 1): FlameColumns {
  let state = seed;
  const random = () => { state = Math.imul(state ^ state >>> 15, 0x2c1b3c6d) + 0x9e3779b9 | 0; return ((state ^ state >>> 13) >>> 0) / 2 ** 32; };
  const nodes: Node[] = [[0, 'total', '', 0, 0]];
  let depth = 0;
  for (let i = 1; i < n; i++) {
    depth = Math.max(1, Math.min(depth + 1 - Math.floor(random() ** 2 * 4), 60));
    nodes.push([depth, 'f' + Math.floor(random() * 2000), 'lib' + Math.floor(random() * 20), Math.floor(random() ** 6 * 1000) + 1, 1]);
  }
  return columns(nodes);
}
