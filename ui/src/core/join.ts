// Joins two prunings of one tree: every node that either has; what is still folded stays exact. This way opened folds
// and search results are visible together. Pure; no recursion.
import { OTHER, type FlameColumns } from './flame';
import { addUp, shapeOf } from './tree';

const VALUES = ['self', 'count', 'before', 'beforeCount'] as const;

// The functions of both trees, and the new index of each.
function functionsOf(base: FlameColumns, part: FlameColumns) {
  const functions = [...base.functions];
  const key = (f: FlameColumns['functions'][number]) => f.kind + '\0' + f.module + '\0' + f.name;
  const ids = new Map(functions.map((f, i) => [key(f), i]));
  const placeOf = (f: FlameColumns['functions'][number]) => {
    const known = ids.get(key(f));
    if (known !== undefined) return known;
    ids.set(key(f), functions.length);
    return functions.push(f) - 1;
  };
  return { functions, own: base.functions.map(placeOf), theirs: part.functions.map(placeOf) };
}

// `part` is the tree at and below `node` of `base`; 0 for the whole. Siblings stay ordered by name.
export function join(base: FlameColumns, node: number, part: FlameColumns): FlameColumns {
  const { functions, own, theirs } = functionsOf(base, part);
  const [a, b] = [shapeOf(base.depth), shapeOf(part.depth)];
  const values = VALUES.filter((v) => base[v] && part[v]);
  const totals = values.map((v) => addUp(part[v]!, b.parent));
  const frames = Float64Array.from(part.hidden, (n) => n || 1); // a fold counts its hidden ones
  const size = addUp(frames, b.parent);
  const fold = (c: FlameColumns, i: number) => c.functions[c.func[i]].kind === OTHER;
  const from: number[] = []; // for each new node its node in base, or ~ that in part
  const revealed = new Map<number, number[]>(); // by fold: its nodes that are shown now
  const copy = (first: number, end: number, theirOwn: boolean) => {
    for (let i = first; i < end; i++) from.push(theirOwn ? ~i : i);
  };

  // Nodes to write, last first: a node of base and the same node of part, -1 if one does not have it.
  const pending: [number, number, number[]?][] = [[node, 0]];
  const both = (i: number, j: number) => {
    from.push(i);
    const inPart = new Map<number, number>();
    let whole = true; // part has everything below
    for (let c = j + 1; c < b.end[j]; c = b.end[c])
      if (fold(part, c)) whole = false;
      else inPart.set(theirs[part.func[c]], c);
    const children: [number, number, number[]?][] = [];
    let rest = -1;
    for (let c = i + 1; c < a.end[i]; c = a.end[c]) {
      if (fold(base, c)) {
        rest = c;
        continue;
      }
      const id = own[base.func[c]];
      children.push([c, inPart.get(id) ?? -1]);
      inPart.delete(id);
    }
    // New nodes can only come out of a fold; anything else would be counted twice.
    const more = rest < 0 ? [] : [...inPart.values()];
    if (more.length > 0) {
      children.push(...more.map((c): [number, number] => [-1, c]));
      const f = ([i2, j2]: [number, number, number[]?]) =>
        functions[i2 >= 0 ? own[base.func[i2]] : theirs[part.func[j2]]];
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
      if (more.reduce((n, c) => n + size[c], 0) >= base.hidden[i]) continue; // the fold is empty now
      revealed.set(from.length, more);
      from.push(i);
    } else if (i < 0) copy(j, b.end[j], true);
    else if (j < 0) copy(i, a.end[i], false);
    else both(i, j);
  }
  copy(a.end[node], base.depth.length, false);

  const u32 = (of: (k: number) => number) => Uint32Array.from(from, of);
  const column = (v: (typeof values)[number], total: Float64Array) => {
    const out = Float64Array.from(from, (k) => (k >= 0 ? base[v]![k] : part[v]![~k]));
    revealed.forEach((shown, at) => {
      for (const c of shown) out[at] -= total[c];
    });
    return out;
  };
  const hidden = u32((k) => (k >= 0 ? base.hidden[k] : part.hidden[~k]));
  revealed.forEach((shown, at) => {
    for (const c of shown) hidden[at] -= size[c];
  });
  return {
    ...base,
    meta: { ...base.meta, nodes: from.length },
    functions,
    hidden,
    depth: u32((k) => (k >= 0 ? base.depth[k] : part.depth[~k] + base.depth[node])),
    func: u32((k) => (k >= 0 ? own[base.func[k]] : theirs[part.func[~k]])),
    ...Object.fromEntries(values.map((v, i) => [v, column(v, totals[i])])),
  };
}
