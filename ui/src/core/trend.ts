// Cores out of CPU time per step. Pure.
import type { Series } from './answers';

function edges(values: Values): [number, number] {
  let first = values.findIndex((v) => v !== null && v !== 0);
  let last = values.length - 1;
  while (last >= 0 && !values[last]) last--;
  if (first < 0) first = 0;
  return [first, last];
}

// A value per step; null: nothing was stored, which is not the same as 0.
export type Values = (number | null)[];

export const sumOf = (values: Values): number => values.reduce<number>((sum, v) => sum + (v ?? 0), 0);

// Values from the server, with its gaps ([first step, how many]) as null.
export function withGaps(values: (number | string)[], gaps: [number, number][] = []): Values {
  const out: Values = values.map(Number);
  for (const [first, count] of gaps) out.fill(null, first, first + count);
  return out;
}

// At most `points` averages over the range, in cores; `seenMs`: the observed time of each step.
export function trendOf(values: Values, seenMs: Values, scale: number, points = 60): Values {
  const per = Math.max(1, Math.ceil(values.length / points));
  const out: Values = [];
  for (let i = 0; i < values.length; i += per) {
    const part = values.slice(i, i + per);
    out.push(
      part.every((v) => v === null) ? null : sumOf(part) / scale / 1e6 / Math.max(sumOf(seenMs.slice(i, i + per)), 1),
    );
  }
  return out;
}

// The sum of these series per step; null where none has a value.
export function addedUp(lines: Values[], length: number): Values {
  return Array.from({ length }, (_, i) =>
    lines.every((v) => (v[i] ?? null) === null) ? null : sumOf(lines.map((v) => v[i] ?? null)),
  );
}

// How many steps to merge. A sender that profiles ten seconds of every minute leaves most 15-second steps empty or
// nearly so; merged steps hide that rhythm. 1 if the load itself goes on and off (measured zeros), or if only a few
// steps are low: that is what happened, and must stay visible. For an average, just enough that no step is empty. If a
// sender was away for long, nothing is merged.
export function stepsTogether(groups: Values[], phase = 0, averaged = false, most = 16): number {
  const length = Math.max(0, ...groups.map((g) => g.length));
  const sums = addedUp(groups, length);
  const [first, last] = edges(sums);
  if (last <= first) return 1;
  let best = { k: 1, spread: Infinity };
  for (let k = 1; k <= most; k++) {
    const skip = phase % k;
    const inner = betweenHoles(
      together(sums, k, averaged, phase).slice(Math.floor((first + skip) / k), Math.floor((last + skip) / k) + 1),
      most / k,
    );
    const filled = inner.filter((v) => v !== null && v > 0).sort((a, b) => a! - b!);
    const low = (filled[filled.length >> 1] ?? 0) / 4;
    const gaps = inner.filter((v) => v === null || (v > 0 && v <= low)).length;
    if (k === 1 && gaps <= inner.length / 10) return 1;
    if (averaged && !inner.includes(null)) return k;
    const spread = gaps > 0 ? Infinity : spreadOf(inner.map((v) => v ?? 0));
    if (spread <= EVEN) return k;
    if (spread < best.spread * 0.75) best = { k, spread };
  }
  return best.k;
}
const EVEN = 0.15;

// The values without long holes, and without the partial steps beside a hole or at an end.
function betweenHoles(values: Values, long: number): Values {
  const parts: Values[] = [[]];
  for (let i = 0; i < values.length; ) {
    let end = i;
    while (end < values.length && values[end] === null) end++;
    if (end - i >= long) {
      parts.push([]);
    } else {
      end = Math.max(end, i + 1);
      parts[parts.length - 1].push(...values.slice(i, end));
    }
    i = end;
  }
  return parts.flatMap((p) => p.slice(1, -1));
}

// The standard deviation relative to the mean.
function spreadOf(values: number[]): number {
  const mean = values.reduce((sum, v) => sum + v, 0) / values.length;
  return values.length > 0 ? Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / values.length) / mean : 0;
}

// How many steps to show. Data may still arrive for steps that end after the newest profile began, and what is there so
// far would look like a drop. Such a step is shown if it is no drop anyway, or if it is an average. All steps are shown
// if the newest profile is minutes old, because then the service fell silent, or if the others are empty.
export function settledSteps(
  groups: Values[],
  startMs: number,
  stepMs: number,
  newestMs: number | undefined,
  nowMs: number,
  averaged = false,
): number {
  const steps = Math.max(0, ...groups.map((g) => g.length));
  if (averaged || newestMs === undefined || nowMs - newestMs > SILENT_AFTER_MS) return steps;
  let settled = Math.min(steps, Math.max(0, Math.floor((newestMs - startMs) / stepMs)));
  if (!groups.some((g) => g.slice(0, settled).some((v) => v !== null && v !== 0))) return steps;
  const at = (i: number) => sumOf(groups.map((g) => g[i] ?? null));
  while (settled < steps && at(settled) > 0 && at(settled) >= at(settled - 1)) settled++;
  return settled;
}
const SILENT_AFTER_MS = 120e3;

// Merges every k steps. `phase` is the number of the first step since 1970, so that the result does not depend on where
// the range begins and a moving picture does not flicker. The first merged step begins phase % k steps earlier. A
// merged step without data stays null; an average is weighted by the observed time.
export function together(values: Values, k: number, average: boolean, phase = 0, weights?: number[]): Values {
  if (k === 1) return values;
  const out: Values = [];
  for (let i = -(phase % k); i < values.length; i += k) {
    const stored = Array.from({ length: k }, (_, at) => i + at).filter((at) => (values[at] ?? null) !== null);
    const weight = (at: number) => (average && weights ? Math.max(weights[at], 1) : 1);
    const sum = stored.reduce((n, at) => n + values[at]! * weight(at), 0);
    out.push(stored.length === 0 ? null : average ? sum / stored.reduce((n, at) => n + weight(at), 0) : sum);
  }
  return out;
}

// Of an answer split by service.version.
export function markersOf(series: Series | undefined): Marker[] {
  if (!series) return [];
  return versionChanges(
    series.groups
      .map((g) => ({ version: g.labels['service.version'] ?? '', values: g.values.map(Number) }))
      .filter((g) => g.version !== ''),
    series.start_ms,
    series.step_ms,
  );
}

// The version a part of the time is about: the one that used most in it; for the whole range the latest one.
export function versionIn(series: Series | undefined, markers: Marker[], part: [number, number] | null): string {
  if (!part && markers.length > 0) return markers[markers.length - 1].to;
  let best = { version: '', value: -1 };
  for (const g of series?.groups ?? []) {
    const version = g.labels['service.version'] ?? '';
    const value = g.values.reduce<number>((sum, v, i) => {
      const at = series!.start_ms + i * series!.step_ms;
      return !part || (at + series!.step_ms > part[0] && at < part[1]) ? sum + Number(v) : sum;
    }, 0);
    if (version !== '' && value > best.value) best = { version, value };
  }
  return best.version;
}

export interface Marker {
  at: number;
  from: string;
  to: string;
}

// Where the dominant version changes. A new one must lead for two steps that have data, so that a canary or one late
// profile is not taken for a deploy, and lead over the next few steps too, because with rare profiles a single small
// one can fill two steps. Empty steps are skipped.
const SOON = 4;

export function versionChanges(
  groups: { version: string; values: number[] }[],
  startMs: number,
  stepMs: number,
): Marker[] {
  const length = Math.max(0, ...groups.map((g) => g.values.length));
  const ahead: { version: string; step: number }[] = [];
  for (let i = 0; i < length; i++) {
    let best = { version: '', value: 0 };
    for (const g of groups) if ((g.values[i] ?? 0) > best.value) best = { version: g.version, value: g.values[i] };
    if (best.version !== '') ahead.push({ version: best.version, step: i });
  }
  const mostIn = (steps: { step: number }[]) => {
    const sums = groups.map((g) => steps.reduce((sum, { step }) => sum + (g.values[step] ?? 0), 0));
    return groups[sums.indexOf(Math.max(...sums))]?.version;
  };
  const out: Marker[] = [];
  let current = ahead[0]?.version;
  for (let i = 1; i < ahead.length; i++) {
    const { version, step } = ahead[i];
    if (version === current || (ahead[i + 1]?.version ?? version) !== version) continue;
    if (mostIn(ahead.slice(i, i + SOON)) !== version) continue;
    out.push({ at: startMs + step * stepMs, from: current, to: version });
    current = version;
  }
  return out;
}

// From the first step with a value to the end of the last one.
export function coveredBy(s: {
  start_ms: number;
  step_ms: number;
  groups: { values: (number | string)[] }[];
}): [number, number] | null {
  const has = s.groups[0]?.values.map((_, i) => s.groups.some((g) => Number(g.values[i]) > 0)) ?? [];
  const first = has.indexOf(true);
  return first < 0 ? null : [s.start_ms + first * s.step_ms, s.start_ms + (has.lastIndexOf(true) + 1) * s.step_ms];
}
