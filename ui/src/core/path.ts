// A frame's address (docs/format.md): the same 16 hex digits as in src/profile/tree_path.cc.
import type { FlameColumns, FlameFunction } from './flame';
import type { Tree } from './tree';

const PRIME_A = 0x01000193;
const PRIME_B = 0x5bd1e995;
const encoder = new TextEncoder();

function hashFunction(f: FlameFunction): [number, number] {
  let a = 0x811c9dc5 | 0;
  let b = 0x9747b28c | 0;
  const add = (byte: number) => {
    a = Math.imul(a ^ byte, PRIME_A);
    b = Math.imul(b ^ byte, PRIME_B);
    b ^= b >>> 15;
  };
  encoder.encode(f.name).forEach(add);
  add(0xff);
  encoder.encode(f.module).forEach(add);
  return [a, b];
}

// Cached per function, because the selected frame is looked up with every drawing.
const known = new WeakMap<FlameFunction, [number, number]>();
function hashOf(f: FlameFunction): [number, number] {
  let hash = known.get(f);
  if (!hash) {
    hash = hashFunction(f);
    known.set(f, hash);
  }
  return hash;
}

function chain(parent: number, own: number, prime: number): number {
  const x = Math.imul(((parent << 5) | (parent >>> 27)) ^ own, prime);
  return x ^ (x >>> 16);
}

const hex = (n: number) => (n >>> 0).toString(16).padStart(8, '0');

export function addressOf(tree: Tree, node: number): string {
  const path: number[] = [];
  for (let i = node; i > 0; i = tree.parent[i]) path.push(i);
  let [a, b] = [0, 0];
  for (const i of path.reverse()) {
    const own = hashOf(tree.functions[tree.func[i]]);
    a = chain(a, own[0], PRIME_A);
    b = chain(b, own[1], PRIME_B);
  }
  return hex(a) + hex(b);
}

const LONGEST_PATH = 400; // characters; nobody reads longer ones

// A frame as a lens names it: its functions from the root down, or its address if the names do not fit into a lens.
export function pathText(tree: Tree, node: number): string {
  const names: string[] = [];
  const alike = new Map<string, number>();
  for (const f of tree.functions) alike.set(f.name, (alike.get(f.name) ?? 0) + 1);
  for (let i = node; i > 0; i = tree.parent[i]) {
    const f = tree.functions[tree.func[i]];
    names.push(alike.get(f.name) === 1 ? f.name : f.module + '`' + f.name);
  }
  const text = names.reverse().join(';');
  const odd =
    text.length > LONGEST_PATH ||
    text.startsWith('@') ||
    / > |^\s|\s$|[\0-\x1f]/.test(text) ||
    names.some((n) => n === '' || n.startsWith('`') || n.includes(';'));
  return odd ? '@' + addressOf(tree, node) : text;
}

// The node at an address, or -1.
export function nodeAt(tree: FlameColumns & { parent: Int32Array }, address: string): number {
  if (/^0{16}$/.test(address)) return 0;
  const [wantedA, wantedB] = [parseInt(address.slice(0, 8), 16) | 0, parseInt(address.slice(8), 16) | 0];
  const own = tree.functions.map(hashOf);
  const a = new Int32Array(tree.func.length);
  const b = new Int32Array(tree.func.length);
  for (let i = 1; i < a.length; i++) {
    const p = tree.parent[i];
    const [fa, fb] = own[tree.func[i]];
    a[i] = chain(a[p], fa, PRIME_A);
    b[i] = chain(b[p], fb, PRIME_B);
    if (a[i] === wantedA && b[i] === wantedB) return i;
  }
  return -1;
}
