// Cores out of CPU time per step. Pure.
//
// A service that was there for five minutes of an hour used its cores for five minutes: the average is taken from the
// first step with something in it to the last one.
import type { SeriesAnswer } from './api';

function edges(values: number[]): [number, number] {
  let first = values.findIndex((v) => v !== 0);
  let last = values.length - 1;
  while (last >= 0 && values[last] === 0) last--;
  if (first < 0) first = 0;
  return [first, last];
}

export function coresOf(values: number[], stepMs: number, scale: number): number {
  const [first, last] = edges(values);
  if (last < first) return 0;
  let sum = 0;
  for (const v of values) sum += v;
  return sum / scale / 1e6 / ((last - first + 1) * stepMs);
}

// At most `points` averages over the range, in cores.
export function trendOf(values: number[], stepMs: number, scale: number, points = 60): number[] {
  const per = Math.max(1, Math.ceil(values.length / points));
  const out: number[] = [];
  for (let i = 0; i < values.length; i += per) {
    const part = values.slice(i, i + per);
    out.push(part.reduce((a, b) => a + b, 0) / scale / 1e6 / (part.length * stepMs));
  }
  return out;
}

// A sender that sends once a minute leaves three of four 15-second steps empty. The number of steps to take together
// so that none between the first and the last with something in it is empty; 1 when it goes on and off by itself.
export function stepsTogether(groups: number[][], most = 16): number {
  const length = Math.max(0, ...groups.map((g) => g.length));
  const filled = Array.from({ length }, (_, i) => (groups.some((g) => (g[i] ?? 0) !== 0) ? 1 : 0));
  const [first, last] = edges(filled);
  if (last <= first) return 1;
  for (let k = 1; k <= most; k++) {
    let gaps = 0;
    for (let i = Math.floor(first / k); i <= Math.floor(last / k); i++) if (!filled.slice(i * k, (i + 1) * k).some(Boolean)) gaps++;
    if (gaps === 0) return k;
  }
  return 1;
}

// How many steps are complete: data may still come for those that end after the newest profile began. All of them when
// that is minutes ago, since then the service fell silent, which must be seen, and when there is nothing in the others.
export function settledSteps(groups: number[][], startMs: number, stepMs: number, newestMs: number | undefined, nowMs: number): number {
  const steps = Math.max(0, ...groups.map((g) => g.length));
  if (newestMs === undefined || nowMs - newestMs > SILENT_AFTER_MS) return steps;
  const settled = Math.min(steps, Math.max(0, Math.floor((newestMs - startMs) / stepMs)));
  return groups.some((g) => g.slice(0, settled).some((v) => v !== 0)) ? settled : steps;
}
const SILENT_AFTER_MS = 120e3;

export function together(values: number[], k: number, average: boolean): number[] {
  if (k === 1) return values;
  const out: number[] = [];
  for (let i = 0; i < values.length; i += k) {
    const part = values.slice(i, i + k);
    const sum = part.reduce((a, b) => a + b, 0);
    out.push(average ? sum / Math.max(1, part.filter((v) => v !== 0).length) : sum);
  }
  return out;
}

// Of an answer split by service.version.
export function markersOf(series: SeriesAnswer | undefined): Marker[] {
  if (!series) return [];
  return versionChanges(series.groups.map((g) => ({ version: g.labels['service.version'] ?? '', values: g.values.map(Number) })).filter((g) => g.version !== ''), series.start_ms, series.step_ms);
}

// The version a part of the time is about: the one that used most in it. Of the whole it is the one that came last.
export function versionIn(series: SeriesAnswer | undefined, markers: Marker[], part: [number, number] | null): string {
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

export interface Marker { at: number; from: string; to: string }

// Where the version that uses most changes: a new one must be ahead for two steps with something in them, so that a
// canary or one late profile is no deploy. Steps without anything are passed over.
export function versionChanges(groups: { version: string; values: number[] }[], startMs: number, stepMs: number): Marker[] {
  const length = Math.max(0, ...groups.map((g) => g.values.length));
  const ahead: { version: string; step: number }[] = [];
  for (let i = 0; i < length; i++) {
    let best = { version: '', value: 0 };
    for (const g of groups) if ((g.values[i] ?? 0) > best.value) best = { version: g.version, value: g.values[i] };
    if (best.version !== '') ahead.push({ version: best.version, step: i });
  }
  const out: Marker[] = [];
  let current = ahead[0]?.version;
  for (let i = 1; i < ahead.length; i++) {
    const { version, step } = ahead[i];
    if (version === current || (ahead[i + 1]?.version ?? version) !== version) continue;
    out.push({ at: startMs + step * stepMs, from: current, to: version });
    current = version;
  }
  return out;
}
