// What a timeline marks beside the load: alerts, regressions, insights that came with a version, and windows that are
// kept. Pure.
import type { Alert, AlertEvent, Insight, Pin, Regression } from './answers';
import { stretchesOf } from './alerts';
import { formatCores, formatMany, formatShare, formatSpan } from './format';
import { beganAt, culpritOf, rowAddress, shareText } from './regressions';
import {
  encodeAlerts,
  encodeInsights,
  encodeRegressions,
  encodeStatus,
  newAlerts,
  newInsights,
  newRegressions,
  selectorOf,
  type TimeState,
} from './state';
import type { Marker } from './trend';

export type MarkKind = 'alert' | 'regression' | 'insight' | 'pin';

export interface Mark {
  kind: MarkKind;
  at: number; // ms
  to: number | null; // of what lasts, its end; null: it is a moment, or still fires
  text: string;
  href: string;
}

// What the server knows about one service.
export interface Found {
  events: AlertEvent[];
  alerts: Alert[];
  regressions: Regression[];
  insights: Insight[];
  pins: Pin[];
}

export const listOf = (kind: MarkKind, service: string, time: TimeState): string =>
  kind === 'alert'
    ? encodeAlerts(newAlerts({ service }))
    : kind === 'regression'
      ? encodeRegressions(newRegressions({ service }))
      : kind === 'insight'
        ? encodeInsights(newInsights({ ...time, query: selectorOf(service, '') }))
        : encodeStatus({ service });

export function marksOf(found: Found, versions: Marker[], service: string, time: TimeState, now: number): Mark[] {
  const fired = stretchesOf(found.events, found.alerts).filter((s) => s.state === 'firing');
  return [
    ...fired.map((s): Mark => {
      const long = s.to === null ? 'fires' : `fired for ${formatSpan(s.to - s.from)}`;
      const href = encodeAlerts(newAlerts({ alert: s.alert, service }));
      return { kind: 'alert', at: s.from, to: s.to, text: `${s.alert} ${long}: ${s.text}`, href };
    }),
    ...found.regressions.map((r): Mark => {
      const text = `${r.state}: ${culpritOf(r).name} ${shareText(r)}`;
      const href = rowAddress(service, r.id, beganAt(r), now);
      return { kind: 'regression', at: beganAt(r), to: null, text, href };
    }),
    ...found.insights.flatMap((f): Mark[] => {
      const version = versions.find((v) => v.to === f.since);
      if (!version) return [];
      const text = `${f.title}: ${formatShare(f.share, 1)}, ${formatCores(f.cores_saved)} cores to save`;
      const href = encodeInsights(newInsights({ ...time, query: selectorOf(service, ''), rule: f.rule }));
      return [{ kind: 'insight', at: version.at, to: null, text, href }];
    }),
    ...found.pins.map((p): Mark => {
      const text = `kept${p.why === '' ? '' : `: ${p.why}`}`;
      return { kind: 'pin', at: Date.parse(p.from), to: Date.parse(p.to), text, href: listOf('pin', service, time) };
    }),
  ];
}

// A mark as it is drawn: several of one kind that lie too close are one.
export interface Drawn {
  kind: MarkKind;
  left: number; // share of the width
  right: number; // where what it marks ends
  row: number; // marks of other kinds beside it
  count: number;
  text: string;
  href: string;
}

const lasts = (kind: MarkKind) => kind === 'alert' || kind === 'pin';

// `close`: the share of the width that one mark takes.
export function drawnOf(marks: Mark[], [from, to]: [number, number], close: number, list: (k: MarkKind) => string) {
  const share = (ms: number) => (ms - from) / (to - from || 1);
  const out: Drawn[] = [];
  const within = marks.filter((m) => share(m.at) <= 1 && (lasts(m.kind) ? (m.to ?? to) >= from : share(m.at) >= 0));
  for (const m of [...within].sort((a, b) => a.at - b.at)) {
    const left = Math.max(0, share(m.at));
    const right = lasts(m.kind) ? Math.min(1, share(m.to ?? to)) : left;
    const near = out.find((d) => d.kind === m.kind && left - d.left < close);
    if (near) {
      near.count++;
      near.right = Math.max(near.right, right);
      near.text += `; ${m.text}`;
      near.href = list(m.kind);
      continue;
    }
    const row = out.filter((d) => Math.abs(left - d.left) < close).length;
    out.push({ kind: m.kind, left, right, row, count: 1, text: m.text, href: m.href });
  }
  return out;
}

// "1 alert fires", "2 open regressions", "3 insights", "1 window is kept"; nothing where there is nothing.
export function countsOf(found: Found): [MarkKind, string][] {
  const firing = found.alerts.filter((a) => a.state === 'firing').length;
  const open = found.regressions.filter((r) => r.state === 'open').length;
  const all: [MarkKind, number, string][] = [
    ['alert', firing, firing === 1 ? '1 alert fires' : `${firing} alerts fire`],
    ['regression', open, formatMany(open, 'open regression')],
    ['insight', found.insights.length, formatMany(found.insights.length, 'insight')],
    ['pin', found.pins.length, formatMany(found.pins.length, 'window is kept', 'windows are kept')],
  ];
  return all.filter(([, count]) => count > 0).map(([kind, , text]) => [kind, text]);
}
