// The spans of a trace in the order of a waterfall: parents before children, children by start. Pure. A trace may have
// 100,000 spans, so there is no recursion and nothing is allocated per span but its row.
//
// A span whose parent is missing is a root. If parents form a circle, the earliest of them is made a root. Every span
// is in the list exactly once.
import type { TraceColumns } from './answers';

export interface Row {
  id: string;
  service: string;
  name: string;
  error: boolean;
  depth: number;
  children: number;
  descendants: number;
  start: number; // ms since the trace began
  duration: number; // ms
  orphan: boolean; // its parent is not stored
}

// `rootless`: every span names a parent, so the root span is not stored (yet).
export interface Waterfall {
  rows: Row[];
  startNs: bigint;
  duration: number;
  services: number;
  errors: number;
  rootless: boolean;
}

// The services of the trace that have profiles; `values` by span.
export const profiledServices = (rows: Row[], values: Record<string, number>) => [
  ...new Set(rows.filter((r) => Number(values[r.id] ?? 0) > 0).map((r) => r.service)),
];

const ERROR = 2;

export function waterfall(t: TraceColumns | undefined): Waterfall {
  const n = t?.span.length ?? 0;
  if (!t || n === 0) return { rows: [], startNs: 0n, duration: 0, services: 0, errors: 0, rootless: false };
  const start = Float64Array.from(t.start, Number);
  const order = byStart(start);
  // Children as linked lists, ordered by start.
  const [first, last, next, count] = [
    new Int32Array(n).fill(-1),
    new Int32Array(n).fill(-1),
    new Int32Array(n).fill(-1),
    new Uint32Array(n),
  ];
  const roots: number[] = [];
  for (const i of order) {
    const p = t.parent[i];
    if (p < 0 || p === i) {
      roots.push(i);
      continue;
    }
    if (first[p] < 0) first[p] = i;
    else next[last[p]] = i;
    last[p] = i;
    count[p]++;
  }
  const rows: Row[] = [];
  const seen = new Uint8Array(n);
  const walk = (root: number) => {
    const pending: number[] = [root];
    const depths: number[] = [0];
    while (pending.length > 0) {
      const i = pending.pop()!;
      const depth = depths.pop()!;
      if (seen[i]) continue;
      seen[i] = 1;
      rows.push({
        id: t.span[i],
        service: t.strings[t.service[i]],
        name: t.strings[t.name[i]],
        error: t.status[i] === ERROR,
        depth,
        children: count[i],
        descendants: 0,
        start: start[i] / 1e6,
        duration: Number(t.duration[i]) / 1e6,
        orphan: t.parent[i] === -2,
      });
      const at = pending.length;
      for (let c = first[i]; c >= 0; c = next[c]) {
        pending.push(c);
        depths.push(depth + 1);
      }
      reverse(pending, at);
    }
  };
  roots.forEach(walk);
  for (const i of order) if (!seen[i]) walk(i);
  countDescendants(rows);
  return {
    rows,
    startNs: BigInt(t.start_ns),
    duration: rows.reduce((end, r) => Math.max(end, r.start + r.duration), 0),
    rootless: !t.parent.includes(-1),
    services: new Set(t.service).size,
    errors: t.status.reduce((sum, s) => sum + (s === ERROR ? 1 : 0), 0),
  };
}

// The server usually sends the spans in this order; then there is nothing to sort.
function byStart(start: Float64Array): Uint32Array {
  const order = new Uint32Array(start.length);
  let sorted = true;
  for (let i = 0; i < order.length; i++) {
    order[i] = i;
    if (i > 0 && start[i] < start[i - 1]) sorted = false;
  }
  return sorted ? order : order.sort((a, b) => start[a] - start[b] || a - b);
}

function reverse(list: number[], from: number): void {
  for (let a = from, b = list.length - 1; a < b; a++, b--) [list[a], list[b]] = [list[b], list[a]];
}

function countDescendants(rows: Row[]): void {
  const path: number[] = [];
  for (let i = 0; i <= rows.length; i++) {
    while (path.length > 0 && (i === rows.length || rows[path[path.length - 1]].depth >= rows[i].depth)) {
      const at = path.pop()!;
      rows[at].descendants = i - at - 1;
    }
    path.push(i);
  }
}

// The rows that remain when everything below the `folded` spans is hidden.
export function visibleRows(rows: Row[], folded: ReadonlySet<string>): Row[] {
  if (folded.size === 0) return rows;
  const out: Row[] = [];
  for (let i = 0; i < rows.length; i++) {
    out.push(rows[i]);
    if (folded.has(rows[i].id)) i += rows[i].descendants;
  }
  return out;
}
