// The critical path on a waterfall's rows: for each span the stretches of time in which the trace waited for it. Pure.
import type { CriticalPath } from './answers';

// ms since the trace began, on the row's own clock.
export type Stretch = [number, number];

export interface PathOnRows {
  bySpan: Map<string, Stretch[]>;
  total: Map<string, number>; // ns on the path
  duration: number; // ns
}

export function pathOnRows(path: CriticalPath | undefined, startNs: bigint): PathOnRows | undefined {
  if (!path) return undefined;
  const bySpan = new Map<string, Stretch[]>();
  const total = new Map<string, number>();
  const moved = new Map(Object.entries(path.moved_ns).map(([span, by]) => [span, BigInt(by)]));
  for (const { span, start_ns, duration_ns } of path.segments) {
    // A span whose clock was corrected is drawn where its own clock put it.
    const at = Number(BigInt(start_ns) - (moved.get(span) ?? 0n) - startNs) / 1e6;
    const lasts = Number(duration_ns);
    const known = bySpan.get(span);
    const stretch: Stretch = [at, at + lasts / 1e6];
    if (known) known.push(stretch);
    else bySpan.set(span, [stretch]);
    total.set(span, (total.get(span) ?? 0) + lasts);
  }
  return { bySpan, total, duration: Number(path.duration_ns) };
}
