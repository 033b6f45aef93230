// Bytes written by hand here; the browser test (ui/e2e) reads those of the server.
import { expect, test } from 'vitest';
import { assemble, decodeFlame, decodeParts } from '../src/core/flame';
import { buildTree, rememberTree } from '../src/core/tree';
import { encodeFlame, randomTree } from './sample';

const varint = (n: number): number[] => (n < 128 ? [n] : [(n % 128) | 128, ...varint(Math.floor(n / 128))]);
const zigzag = (n: number) => varint(n >= 0 ? n * 2 : -n * 2 - 1);

function encode(sections: [number, number, number[]][]): Uint8Array {
  const head = [0x46, 0x47, 0x31, 0, 1, 0, sections.length, 0];
  const u32 = (n: number) => [n & 255, (n >>> 8) & 255, (n >>> 16) & 255, n >>> 24];
  let offset = 8 + 16 * sections.length;
  const body: number[] = [];
  for (const [id, count, bytes] of sections) {
    head.push(id, 0, 0, 0, ...u32(count), ...u32(offset), ...u32(bytes.length));
    offset += bytes.length;
    body.push(...bytes);
  }
  return Uint8Array.from([...head, ...body]);
}

const text = (s: string) => [...new TextEncoder().encode(s)];
const good = (): [number, number, number[]][] => [
  [
    1,
    1,
    text(
      '{"type":"cpu","unit":"nanoseconds","scale":1,"total":"9007199254740993","count":3,"nodes":3,' +
        '"nodes_in_full":5,"averaged":false}',
    ),
  ],
  [2, 3, [0, 4, 5, ...text('main'), ...text('other')]],
  [3, 3, [0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 5]],
  [4, 3, [0, 0, 0]],
  [5, 3, [0, 1, 2]],
  [6, 3, [...zigzag(0), ...zigzag(9007199254740000), ...zigzag(-3)]],
  [10, 3, [0, 4, 2]],
  [7, 1, [2, 3]],
  [99, 0, []],
];

test('columns come out as they were put in', () => {
  const f = decodeFlame(encode(good()));
  expect(f.meta.total).toBe(9007199254740992);
  expect([...f.depth]).toEqual([0, 1, 2]);
  expect(f.functions[1]).toEqual({ name: 'main', module: '', file: '', line: 7, kind: 0 });
  expect([...f.self]).toEqual([0, 9007199254740000, -3]);
  expect([...f.hidden]).toEqual([0, 0, 3]);
});

test('numbers that came as text are numbers, wherever they are', () => {
  const sections = good();
  const meta =
    '{"total":"9007199254740993","count":"9007199254740993","by_span":{"00f067aa0ba902b7":"9007199254740993","b":2},' +
    '"changes":[{"name":"f","module":"","self_before":"9007199254740993","self_after":1,' +
    '"total_before":2,"total_after":3}],' +
    '"search":{"value":"9007199254740993","count":1,"functions":1,"nodes":1}}';
  sections[0] = [1, 1, text(meta)];
  const f = decodeFlame(encode(sections)).meta;
  const found = [f.total, f.count, f.by_span!['00f067aa0ba902b7'], f.changes![0].self_before, f.search!.value];
  expect(found).toEqual(Array(5).fill(9007199254740992));
  expect([f.by_span!.b, f.total_before]).toEqual([2, undefined]);
});

test('names of any script come out whole, many at a time', () => {
  const names = ['', ...Array.from({ length: 700 }, (_, i) => (i % 300 === 7 ? `שלום${i}€😀` : `f${i}`)), 'last'];
  const bytes = names.map(text);
  const sections = good();
  sections[1] = [2, names.length, [...bytes.flatMap((b) => varint(b.length)), ...bytes.flat()]];
  for (const i of [1, 8, 308, 608, 701]) {
    sections[2] = [3, 3, [0, ...varint(i), ...varint(i), 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 5]];
    expect(decodeFlame(encode(sections)).functions[1].name).toBe(names[i]);
  }
});

test('what a worker hands over is what would have been worked out here', () => {
  for (const columns of [
    randomTree(5000),
    { ...randomTree(300), before: Float64Array.from({ length: 300 }, (_, i) => i) },
  ]) {
    const bytes = encodeFlame(columns);
    const plain = decodeFlame(bytes);
    expect(plain).toEqual({ ...columns, meta: { ...columns.meta } });
    const again = structuredClone(decodeParts(bytes));
    expect(assemble(again)).toEqual(plain);
    const tree = buildTree(plain);
    const copy = assemble(again);
    rememberTree(copy, tree);
    expect(buildTree(copy)).toBe(tree);
    expect(buildTree(copy, 'name')).not.toBe(tree);
    expect(buildTree(copy, 'weight', 2)).not.toBe(tree);
  }
});

test('damage is an error, never a wrong picture or a hang', () => {
  const bytes = encode(good());
  for (let cut = 0; cut < bytes.length - 1; cut++) expect(() => decodeFlame(bytes.slice(0, cut))).toThrow();
  let seed = 7;
  for (let round = 0; round < 3000; round++) {
    const broken = bytes.slice();
    for (let i = 0; i < 3; i++) {
      seed = (Math.imul(seed, 1103515245) + 12345) | 0;
      broken[(seed >>> 8) % broken.length] = seed >>> 3;
    }
    try {
      const f = decodeFlame(broken);
      expect(f.func.length).toBe(f.depth.length);
    } catch (e) {
      expect(e).toBeInstanceOf(Error);
    }
  }
});
