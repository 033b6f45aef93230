// Spans of a trace in the order of a waterfall: parents before children, children by start. Pure; no recursion.
//
// Parents may be missing (their spans are then roots of their own) or go in a circle (the earliest one of the circle
// is made a root): every span is in the list exactly once.
import type { Span } from './api';

export interface Row {
  span: Span; depth: number; children: number; descendants: number;
  start: number;      // ms since the trace began
  duration: number;   // ms
  orphan: boolean;    // its parent is named, but not stored
}

export function waterfall(spans: Span[]): { rows: Row[]; startNs: bigint; duration: number } {
  if (spans.length === 0) return { rows: [], startNs: 0n, duration: 0 };
  const begin = new Map(spans.map((s) => [s, BigInt(s.start_ns)]));
  const startNs = [...begin.values()].reduce((a, b) => (b < a ? b : a));
  const ids = new Set(spans.map((s) => s.span));
  const children = new Map<string, Span[]>();
  const roots: Span[] = [];
  const ordered = [...spans].sort((a, b) => compare(begin.get(a)!, begin.get(b)!));
  for (const s of ordered) {
    if (s.parent === '' || !ids.has(s.parent) || s.parent === s.span) { roots.push(s); continue; }
    const list = children.get(s.parent);
    if (list) list.push(s); else children.set(s.parent, [s]);
  }
  const rows: Row[] = [];
  const seen = new Set<Span>();
  const walk = (root: Span) => {
    const pending: [Span, number][] = [[root, 0]];
    while (pending.length > 0) {
      const [span, depth] = pending.pop()!;
      if (seen.has(span)) continue;
      seen.add(span);
      const below = children.get(span.span) ?? [];
      rows.push({
        span, depth, children: below.length, descendants: 0, start: Number(begin.get(span)! - startNs) / 1e6, duration: Number(span.duration_ns) / 1e6,
        orphan: span.parent !== '' && !ids.has(span.parent),
      });
      for (let i = below.length - 1; i >= 0; i--) pending.push([below[i], depth + 1]);
    }
  };
  roots.forEach(walk);
  for (const s of ordered) if (!seen.has(s)) walk(s);
  countDescendants(rows);
  return { rows, startNs, duration: rows.reduce((end, r) => Math.max(end, r.start + r.duration), 0) };
}

const compare = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0);

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

// The rows left when what lies below the `folded` spans is not shown.
export function visibleRows(rows: Row[], folded: ReadonlySet<string>): Row[] {
  const out: Row[] = [];
  for (let i = 0; i < rows.length; i++) {
    out.push(rows[i]);
    if (folded.has(rows[i].span.span)) i += rows[i].descendants;
  }
  return out;
}
