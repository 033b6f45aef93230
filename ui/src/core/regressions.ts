// Regressions: the answer of GET /api/v1/regressions, its sentences and addresses. Pure.
import { formatCores, formatRough, formatShare, formatValue } from './format';
import { encodeService, encodeTrace, newService, newTrace } from './state';

export type RegressionStateName = 'open' | 'acknowledged' | 'muted' | 'gone';

export interface Regression {
  id: string;
  state: RegressionStateName;
  sentence: string;
  service: string;
  type: string;
  unit: string;
  kind: string;
  function: { name: string; module: string };
  own?: { function: string; module: string; file: string; line: number };
  callers: { name: string; module: string }[];
  mode: 'request' | 'share';
  basis: string;
  change: {
    before: number; // of the whole service
    after: number;
    change: number; // of the cause
    low: number;
    high: number;
    share: number; // of everything before
    share_low: number;
    share_high: number;
  };
  cores: { change: number; low: number; high: number };
  q: number;
  since: { label: string; before: string; after: string; at_ms: number };
  first_seen_ms: number;
  changed_ms: number;
  looked_ms: number;
  looks: number;
  endpoints: string[];
  traces: { before: string[]; after: string[] };
  sides: {
    query: string;
    from_ms: number;
    to_ms: number;
    base_query: string;
    base_from_ms: number;
    base_to_ms: number;
  };
  address: string;
  command: string;
  why: string;
  by: string;
  until_ms?: number;
}

export interface LookedAtVersion {
  service: string;
  label: string;
  before: string;
  after: string;
  at_ms: number;
  looks: number;
  looked_ms: number;
  next_ms: number;
  regressions: number;
  detectable_share?: number;
  note: string;
}

export interface Regressions {
  at: string;
  open: number;
  total: number;
  looking: boolean;
  regressions: Regression[];
  versions: LookedAtVersion[];
  watch: {
    looks: number;
    skipped: number;
    failed: number;
    cpu_share: number;
    budget_share: number;
    last_ms: number;
    note: string;
  };
}

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

export function addressesOf(r: Regression): { graph: string; line: string; traces: string } {
  const time = { since: '1h', from: r.sides.from_ms, to: r.sides.to_ms };
  const { name, module } = culpritOf(r);
  const at = { ...newService(r.service, time), type: r.type, fn: name, mod: module };
  return {
    graph: encodeService({ ...newService(r.service, time), type: r.type }),
    line: encodeService({ ...at, view: 'source' }),
    traces: encodeService({ ...at, view: 'traces' }),
  };
}

export const traceAddress = (trace: string) => encodeTrace(newTrace(trace));

// What can be done with one in that state.
export const ACTIONS: Record<RegressionStateName, ('acknowledge' | 'mute' | 'reopen')[]> = {
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

export const beganAt = (r: Regression) => r.since.at_ms || r.first_seen_ms;

export function lanesOf(answer: Regressions, shown: Regression[], [from, to]: [number, number]): Lane[] {
  const lanes = new Map<string, Lane>();
  const lane = (service: string) => {
    const known = lanes.get(service) ?? { service, versions: [], regressions: [] };
    lanes.set(service, known);
    return known;
  };
  const within = (at: number) => at >= from && at <= to;
  for (const r of shown) if (within(beganAt(r))) lane(r.service).regressions.push(r);
  for (const v of answer.versions) if (within(v.at_ms)) lane(v.service).versions.push(v);
  const open = (l: Lane) => l.regressions.filter((r) => r.state === 'open').length;
  return [...lanes.values()].sort((a, b) => open(b) - open(a) || a.service.localeCompare(b.service));
}

// Nothing is open: since when, and how small a change would have been found.
export function quietText({ versions, looking }: Regressions): string {
  const seen = versions.filter((v) => v.looks > 0);
  if (seen.length === 0)
    return looking
      ? 'Looking at the new versions…'
      : 'No new version was looked at yet: the first look is a quarter of an hour after one.';
  const detectable = seen.flatMap((v) => v.detectable_share ?? []).sort((a, b) => a - b);
  const least = detectable[detectable.length >> 1] ?? 0;
  const found = least > 0 ? ` A change of ${formatRough(100 * least)} % or more would have been found.` : '';
  return `Nothing surely got dearer with ${seen.length === 1 ? 'the new version' : `the ${seen.length} new versions`}.${found}`;
}
