// The visible rows of a call tree: which nodes are shown when some are open. Pure; no recursion.
import type { Tree } from './tree';

// `open` holds the nodes whose callees are shown; the root is always open.
export function openRows(tree: Tree, open: ReadonlySet<number>): number[] {
  const rows: number[] = [];
  for (let i = 1; i < tree.func.length;) {
    rows.push(i);
    i = open.has(i) ? i + 1 : tree.end[i];
  }
  return rows;
}

// What must be open for a node to be seen.
export function opened(tree: Tree, node: number, open: ReadonlySet<number>): ReadonlySet<number> {
  const out = new Set(open);
  for (let i = tree.parent[node]; i > 0; i = tree.parent[i]) out.add(i);
  return out;
}

// From a node down as long as one callee has nearly all of it: one step shows where it goes.
export function hotChain(tree: Tree, node: number, share = 0.5): number[] {
  const out = [node];
  for (let at = node; ;) {
    let best = -1;
    for (let c = at + 1; c < tree.end[at]; c = tree.end[c]) if (best < 0 || tree.total[c] > tree.total[best]) best = c;
    if (best < 0 || tree.total[best] < share * tree.total[node]) return out;
    out.push(best);
    at = best;
  }
}
