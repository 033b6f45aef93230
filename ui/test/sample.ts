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
    meta: {
      type: 'cpu',
      unit: 'nanoseconds',
      scale: 1,
      total,
      count: nodes.reduce((n, x) => n + x[4], 0),
      nodes: nodes.length,
      nodes_in_full: nodes.length,
      averaged: false,
    },
    functions,
    func: Uint32Array.from(func),
    depth: Uint32Array.from(nodes, (n) => n[0]),
    self: Float64Array.from(nodes, (n) => n[3]),
    count: Float64Array.from(nodes, (n) => n[4]),
    hidden: Uint32Array.from(nodes, (n) => n[5] ?? 0),
  };
}

export const SHOP: Node[] = [
  [0, 'total', '', 0, 0],
  [1, 'main', 'app', 0, 0],
  [2, 'cart', 'app', 10, 1],
  [3, 'parse', 'json', 20, 2],
  [2, 'pay', 'app', 30, 3],
  [3, 'parse', 'json', 40, 4],
  [4, 'parse', 'json', 5, 1],
  [3, 'other', '', 7, 1, 12],
];

// A seeded tree with about `n` nodes.
export function randomTree(n: number, seed = 1): FlameColumns {
  let state = seed;
  const random = () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
  const nodes: Node[] = [[0, 'total', '', 0, 0]];
  let depth = 0;
  for (let i = 1; i < n; i++) {
    depth = Math.max(1, Math.min(depth + 1 - Math.floor(random() ** 2 * 4), 60));
    nodes.push([
      depth,
      'f' + Math.floor(random() * 2000),
      'lib' + Math.floor(random() * 20),
      Math.floor(random() ** 6 * 1000) + 1,
      1,
    ]);
  }
  return columns(nodes);
}

// The bytes the server would send (docs/format.md, "Flame graph").
export function encodeFlame(c: FlameColumns): Uint8Array {
  const strings = new Map<string, number>([['', 0]]);
  const id = (text: string) => {
    if (!strings.has(text)) strings.set(text, strings.size);
    return strings.get(text)!;
  };
  const table = [
    c.functions.map((f) => id(f.name)),
    c.functions.map(() => 0),
    c.functions.map((f) => id(f.file)),
    c.functions.map((f) => f.line),
    c.functions.map((f) => id(f.module)),
    c.functions.map((f) => f.kind),
  ];
  const texts = [...strings.keys()].map((s) => new TextEncoder().encode(s));
  const varints = (values: Iterable<number>) => {
    const out: number[] = [];
    for (let v of values) {
      for (; v >= 128; v = Math.floor(v / 128)) out.push((v % 128) | 128);
      out.push(v);
    }
    return Uint8Array.from(out);
  };
  const zigzag = (values: Float64Array) => varints(Array.from(values, (v) => (v >= 0 ? 2 * v : -2 * v - 1)));
  const pops = Array.from(c.depth, (d, i) => (i === 0 ? 0 : c.depth[i - 1] + 1 - d));
  const folds = Array.from(c.hidden, (n, i) => [i, n]).filter(([, n]) => n > 0);
  const joined = (...parts: Uint8Array[]) => {
    const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
    let at = 0;
    for (const p of parts) {
      out.set(p, at);
      at += p.length;
    }
    return out;
  };
  const sections: [number, number, Uint8Array][] = [
    [1, 1, new TextEncoder().encode(JSON.stringify(c.meta))],
    [2, texts.length, joined(varints(texts.map((t) => t.length)), ...texts)],
    [3, c.functions.length, varints(table.flat())],
    [4, pops.length, varints(pops)],
    [5, c.func.length, varints(c.func)],
    [6, c.self.length, zigzag(c.self)],
    [10, c.count.length, zigzag(c.count)],
    [7, folds.length, varints(folds.flat())],
    ...(c.before ? [[6, c.before.length, zigzag(c.before)] as [number, number, Uint8Array]] : []),
  ];
  const head = new DataView(new ArrayBuffer(8 + 16 * sections.length));
  head.setUint32(0, 0x00314746, true);
  head.setUint16(4, 1, true);
  head.setUint16(6, sections.length, true);
  let offset = head.byteLength;
  sections.forEach(([section, count, bytes], i) => {
    head.setUint16(8 + 16 * i, section, true);
    for (const [k, v] of [count, offset, bytes.length].entries()) head.setUint32(12 + 16 * i + 4 * k, v, true);
    offset += bytes.length;
  });
  return joined(new Uint8Array(head.buffer), ...sections.map(([, , bytes]) => bytes));
}
