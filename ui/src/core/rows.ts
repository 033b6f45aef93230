// The visible rows of a call tree. Pure; no recursion.
import type { Tree } from './tree';

// `open`: nodes whose callees are shown; the root is always open. `kept`: the nodes a search left.
export function openRows(tree: Tree, open: ReadonlySet<number>, kept?: Uint8Array): number[] {
  const rows: number[] = [];
  for (let i = 1; i < tree.func.length; ) {
    if (kept && kept[i] === 0) {
      i = tree.end[i];
      continue;
    }
    rows.push(i);
    i = open.has(i) ? i + 1 : tree.end[i];
  }
  return rows;
}

// What a search leaves of a call tree: matches, their callers (open) and their callees (closed).
export function matchedRows(tree: Tree, matches: readonly number[]): { kept: Uint8Array; open: ReadonlySet<number> } {
  const kept = new Uint8Array(tree.func.length);
  const open = new Set<number>();
  for (const node of matches) {
    for (let i = tree.parent[node]; i > 0 && !open.has(i); i = tree.parent[i]) {
      open.add(i);
      kept[i] = 1;
    }
    if (kept[node] === 0) kept.fill(1, node, tree.end[node]);
  }
  return { kept, open };
}

// The open nodes needed to see this node.
export function opened(tree: Tree, node: number, open: ReadonlySet<number>): ReadonlySet<number> {
  const out = new Set(open);
  for (let i = tree.parent[node]; i > 0; i = tree.parent[i]) out.add(i);
  return out;
}

// From a node down while one callee has nearly all of its value, so that one key shows where the time goes.
export function hotChain(tree: Tree, node: number, share = 0.5): number[] {
  const out = [node];
  for (let at = node; ; ) {
    let best = -1;
    for (let c = at + 1; c < tree.end[at]; c = tree.end[c]) if (best < 0 || tree.total[c] > tree.total[best]) best = c;
    if (best < 0 || tree.total[best] < share * tree.total[node]) return out;
    out.push(best);
    at = best;
  }
}
