// Two prunings of one tree laid over each other: every node that either has, and what is still folded stays exact. So a fold
// that was opened, and what a search brought to light, are there together. Pure; no recursion.
import { OTHER, type FlameColumns } from './flame';
import { addUp, shapeOf } from './tree';

const VALUES = ['self', 'count', 'before', 'beforeCount'] as const;

// The functions of both, and where those of `part` are among them.
function functionsOf(base: FlameColumns, part: FlameColumns) {
  const functions = [...base.functions];
  const key = (f: FlameColumns['functions'][number]) => f.kind + '\0' + f.module + '\0' + f.name;
  const ids = new Map(functions.map((f, i) => [key(f), i]));
  const placeOf = (f: FlameColumns['functions'][number]) => ids.get(key(f)) ?? (ids.set(key(f), functions.length), functions.push(f) - 1);
  return { functions, own: base.functions.map(placeOf), theirs: part.functions.map(placeOf) };
}

// `part` is the tree below (and with) `node` of `base`; 0 is the whole. Siblings are and stay in the order of their names.
export function join(base: FlameColumns, node: number, part: FlameColumns): FlameColumns {
  const { functions, own, theirs } = functionsOf(base, part);
  const [a, b] = [shapeOf(base.depth), shapeOf(part.depth)];
  const values = VALUES.filter((v) => base[v] && part[v]);
  const totals = values.map((v) => addUp(part[v]!, b.parent));
  const size = addUp(Float64Array.from(part.hidden, (n) => n || 1), b.parent);  // frames, folded ones as well
  const fold = (c: FlameColumns, i: number) => c.functions[c.func[i]].kind === OTHER;
  const from: number[] = [];                      // what is at each place: of base, or ~ of part
  const revealed = new Map<number, number[]>();   // by place of a fold: what of it is shown now
  const copy = (first: number, end: number, theirOwn: boolean) => { for (let i = first; i < end; i++) from.push(theirOwn ? ~i : i); };

  // To be written next, last first: a node of base and the same of part, -1 where one does not have it.
  const pending: [number, number, number[]?][] = [[node, 0]];
  const both = (i: number, j: number) => {
    from.push(i);
    const inPart = new Map<number, number>();
    let whole = true;  // part has all that lies below
    for (let c = j + 1; c < b.end[j]; c = b.end[c]) if (fold(part, c)) whole = false; else inPart.set(theirs[part.func[c]], c);
    const children: [number, number, number[]?][] = [];
    let rest = -1;
    for (let c = i + 1; c < a.end[i]; c = a.end[c]) {
      if (fold(base, c)) { rest = c; continue; }
      const id = own[base.func[c]];
      children.push([c, inPart.get(id) ?? -1]);
      inPart.delete(id);
    }
    // Only out of a fold can anything come to light; the rest would be counted twice.
    const more = rest < 0 ? [] : [...inPart.values()];
    if (more.length > 0) {
      children.push(...more.map((c): [number, number] => [-1, c]));
      const f = ([i2, j2]: [number, number, number[]?]) => functions[i2 >= 0 ? own[base.func[i2]] : theirs[part.func[j2]]];
      const less = (x: string, y: string) => (x < y ? -1 : x > y ? 1 : 0);
      children.sort((x, y) => less(f(x).name, f(y).name) || less(f(x).module, f(y).module));
    }
    if (rest >= 0 && !whole) children.push([rest, -1, more]);
    for (let k = children.length - 1; k >= 0; k--) pending.push(children[k]);
  };
  copy(0, node, false);
  for (let next = pending.pop(); next; next = pending.pop()) {
    const [i, j, more] = next;
    if (more && more.length > 0) {
      if (more.reduce((n, c) => n + size[c], 0) >= base.hidden[i]) continue;  // nothing of it is left
      revealed.set(from.length, more);
      from.push(i);
    } else if (i < 0) copy(j, b.end[j], true);
    else if (j < 0) copy(i, a.end[i], false);
    else both(i, j);
  }
  copy(a.end[node], base.depth.length, false);

  const u32 = (of: (k: number) => number) => Uint32Array.from(from, of);
  const column = (v: typeof values[number], total: Float64Array) => {
    const out = Float64Array.from(from, (k) => (k >= 0 ? base[v]![k] : part[v]![~k]));
    revealed.forEach((shown, at) => { for (const c of shown) out[at] -= total[c]; });
    return out;
  };
  const hidden = u32((k) => (k >= 0 ? base.hidden[k] : part.hidden[~k]));
  revealed.forEach((shown, at) => { for (const c of shown) hidden[at] -= size[c]; });
  return {
    ...base, meta: { ...base.meta, nodes: from.length }, functions, hidden,
    depth: u32((k) => (k >= 0 ? base.depth[k] : part.depth[~k] + base.depth[node])),
    func: u32((k) => (k >= 0 ? own[base.func[k]] : theirs[part.func[~k]])),
    ...Object.fromEntries(values.map((v, i) => [v, column(v, totals[i])])),
  };
}
