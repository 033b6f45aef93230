// Regressions: the answer of GET /api/v1/regressions, its sentences and addresses. Pure.
import type { LookedAtVersion, Regression, Regressions, ServiceChange } from './answers';
import { formatCores, formatRough, formatShare, formatValue } from './format';
import { encodeRegressions, encodeService, encodeTrace, newRegressions, newService, newTrace } from './state';

const percent = (v: number) => `${v < 0 ? '−' : '+'}${Math.abs(100 * v).toFixed(1)}`;

// "+12.3 % (+10.1 to +14.5)": of everything the service used before.
export const shareText = ({ change: c }: Regression) =>
  `${percent(c.share)} % (${percent(c.share_low)} to ${percent(c.share_high)})`;

export const coresText = ({ cores: c }: Regression) =>
  `${formatCores(c.change)} (${formatCores(c.low)} to ${formatCores(c.high)})`;

// The whole service before and after, or what the cause alone costs more.
export const amountText = ({ mode, unit }: Regression, v: number) =>
  mode === 'request' ? formatValue(v, unit) : formatShare(v, 1);

// Where it came with: "v2"; without versions nothing.
export const sinceText = ({ since }: Regression) => (since.label === '' ? 'without a new version' : since.after);

// The own function behind it, else the function itself.
export const culpritOf = (r: Regression): { name: string; module: string; file: string; line: number } =>
  r.own
    ? { name: r.own.function, module: r.own.module, file: r.own.file, line: r.own.line }
    : { ...r.function, file: '', line: 0 };

export type Sides = NonNullable<ServiceChange['sides']>;

// Where a function stands in what was compared: its line, and traces with it.
export function functionIn(
  { service, type, sides }: { service: string; type: string; sides: Sides },
  { name, module }: { name: string; module: string | null },
): { line: string; traces: string } {
  const time = { since: '1h', from: Number(sides.from_ms), to: Number(sides.to_ms) };
  const at = { ...newService(service, time), type, fn: name, mod: module };
  return { line: encodeService({ ...at, view: 'source' }), traces: encodeService({ ...at, view: 'traces' }) };
}

const DAY = 86400e3;

// The row of a record, in a time that has what began then.
export function rowAddress(service: string, id: string, began: number, now: number): string {
  const since = ['7d', '30d'].find((days) => now - began < (Number.parseInt(days, 10) - 1) * DAY) ?? '3650d';
  return encodeRegressions(newRegressions({ since, service, id }));
}

export const traceAddress = (trace: string) => encodeTrace(newTrace(trace));

// What can be done with one in that state.
export const ACTIONS: Record<Regression['state'], ('acknowledge' | 'mute' | 'reopen')[]> = {
  open: ['acknowledge', 'mute'],
  acknowledged: ['mute', 'reopen'],
  muted: ['reopen'],
  gone: ['reopen'],
};

// The services of a timeline, those with something open first, with their new versions and what they cost.
export interface Lane {
  service: string;
  versions: LookedAtVersion[];
  regressions: Regression[];
}

export const beganAt = (r: Regression) => Number(r.since.at_ms) || Number(r.first_seen_ms);

export function lanesOf(answer: Regressions, shown: Regression[], [from, to]: [number, number]): Lane[] {
  const lanes = new Map<string, Lane>();
  const lane = (service: string) => {
    const known = lanes.get(service) ?? { service, versions: [], regressions: [] };
    lanes.set(service, known);
    return known;
  };
  const within = (at: number) => at >= from && at <= to;
  for (const r of shown) if (within(beganAt(r))) lane(r.service).regressions.push(r);
  for (const v of answer.versions) if (within(Number(v.at_ms))) lane(v.service).versions.push(v);
  const open = (l: Lane) => l.regressions.filter((r) => r.state === 'open').length;
  return [...lanes.values()].sort((a, b) => open(b) - open(a) || a.service.localeCompare(b.service));
}

// Nothing is open: since when, and how small a change would have been found.
export function quietText({ versions, looking }: Regressions): string {
  const seen = versions.filter((v) => Number(v.looks) > 0);
  if (seen.length === 0)
    return looking
      ? 'Looking at the new versions…'
      : 'No new version was looked at yet: the first look is a quarter of an hour after one.';
  const detectable = seen.flatMap((v) => v.detectable_share ?? []).sort((a, b) => a - b);
  const least = detectable[detectable.length >> 1] ?? 0;
  const found = least > 0 ? ` A change of ${formatRough(100 * least)} % or more would have been found.` : '';
  const which = seen.length === 1 ? 'the new version' : `the ${seen.length} new versions`;
  return `Nothing surely got dearer with ${which}.${found}`;
}
