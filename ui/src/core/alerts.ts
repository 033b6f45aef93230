// Alerts: when they were pending and when they fired, out of their history; matchers of silences as text; a rule as a
// file of its own. Pure.
import type { Alert, AlertEvent, AlertRule, Silence } from './answers';

// A time in which an alert was pending or fired, ms; `to` is null while it still is.
export interface Stretch {
  alert: string;
  service: string;
  state: 'pending' | 'firing';
  from: number;
  to: number | null;
  text: string; // the value when it began, for people
}

// Of a history (newest first, as the server gives it) and of what is true now: what began before the history does is
// only there.
export function stretchesOf(events: AlertEvent[], alerts: Alert[]): Stretch[] {
  const open = new Map<string, Stretch>();
  const done: Stretch[] = [];
  const end = (id: string, at: number) => {
    const known = open.get(id);
    if (known && at > known.from) done.push({ ...known, to: at });
    open.delete(id);
  };
  for (const e of [...events].reverse()) {
    if (e.kind !== 'state') continue;
    const at = Date.parse(e.time);
    const began = e.startsAt ? Date.parse(e.startsAt) : at;
    const of = { alert: e.alert, service: e.service, text: e.text ?? '' };
    if (e.state === 'pending' || e.state === 'firing') {
      end(e.fingerprint, at);
      open.set(e.fingerprint, { ...of, state: e.state, from: e.state === 'firing' ? began : at, to: null });
      continue;
    }
    // It began before the history does.
    if (!open.has(e.fingerprint) && e.startsAt)
      open.set(e.fingerprint, { ...of, state: 'firing', from: began, to: null });
    end(e.fingerprint, e.endsAt ? Date.parse(e.endsAt) : at);
  }
  for (const a of alerts)
    if (open.get(a.fingerprint)?.state !== a.state)
      open.set(a.fingerprint, {
        ...{ alert: a.alert, service: a.service, text: a.text, state: a.state },
        from: Date.parse(a.startsAt ?? a.activeAt),
        to: null,
      });
  return [...done, ...open.values()].sort((a, b) => b.from - a.from);
}

// All times of one alert of one service.
export interface Strip {
  alert: string;
  service: string;
  stretches: Stretch[]; // newest first
  fired: number; // how often
  firedMs: number; // in the range
}

// What fires comes first, then what did last. Only what touches the range.
export function stripsOf(stretches: Stretch[], [from, to]: [number, number]): Strip[] {
  const strips = new Map<string, Strip>();
  for (const s of stretches) {
    const end = s.to ?? to;
    if (end < from || s.from > to) continue;
    const key = s.alert + '\0' + s.service;
    const strip = strips.get(key) ?? { alert: s.alert, service: s.service, stretches: [], fired: 0, firedMs: 0 };
    strips.set(key, strip);
    strip.stretches.push(s);
    if (s.state !== 'firing') continue;
    strip.fired++;
    strip.firedMs += Math.max(0, Math.min(end, to) - Math.max(s.from, from));
  }
  const rank = ({ stretches: [newest] }: Strip) => (newest.to === null ? (newest.state === 'firing' ? 2 : 1) : 0);
  return [...strips.values()].sort((a, b) => rank(b) - rank(a) || b.stretches[0].from - a.stretches[0].from);
}

// --- silences ---

export type Matcher = Pick<Silence['matchers'][number], 'name' | 'value' | 'isRegex' | 'isEqual'>;

// alertname=Hot, service=~"cart|shop"
export const matchersText = (matchers: Matcher[]) =>
  matchers
    .map(({ name, value, isRegex, isEqual }) => {
      const op = isEqual ? (isRegex ? '=~' : '=') : isRegex ? '!~' : '!=';
      return name + op + (/^[^\s",\\][^",\\]*$/.test(value) && value === value.trim() ? value : JSON.stringify(value));
    })
    .join(', ');

export const matchersOf = (labels: Record<string, string>): Matcher[] =>
  Object.entries(labels).map(([name, value]) => ({ name, value, isRegex: false, isEqual: true }));

const MATCHER = /^\s*([A-Za-z_][\w.]*)\s*(=~|!~|!=|=)\s*("(?:[^"\\]|\\.)*"|[^",]*?)\s*(?:,|$)/;

// The matchers of a text, or what is wrong with it.
export function readMatchers(text: string): Matcher[] | string {
  const out: Matcher[] = [];
  for (let rest = text.trim(); rest !== ''; ) {
    const [all, name, op, given] = MATCHER.exec(rest) ?? [];
    if (all === undefined) return `“${rest.slice(0, 40)}” is not name=value, name!=value, name=~regex or name!~regex`;
    let value = given;
    try {
      if (given.startsWith('"')) value = JSON.parse(given);
    } catch {
      return `${given.slice(0, 40)} is not a text in quotes`;
    }
    out.push({ name, value, isRegex: op.endsWith('~'), isEqual: op[0] === '=' });
    rest = rest.slice(all.length).trim();
  }
  return out.length > 0 ? out : 'without a matcher it would silence everything';
}

// --- rules ---

// "20s", "10m", "1d"
export function durationText(seconds: number): string {
  for (const [size, unit] of [
    [86400, 'd'],
    [3600, 'h'],
    [60, 'm'],
  ] as const)
    if (seconds >= size && seconds % size === 0) return seconds / size + unit;
  return seconds + 's';
}

// A file with this rule alone; JSON texts are YAML.
export function ruleFile(r: Omit<AlertRule, 'from' | 'services' | 'pending' | 'firing'>): string {
  const lines: [string, string][] = [
    ['alert', JSON.stringify(r.alert)],
    ['select', r.select && JSON.stringify(r.select)],
    ['function', r.function && JSON.stringify(r.function)],
    ['type', r.type],
    ['measure', r.measure ?? ''],
    ['over', durationText(r.over_s)],
    ['when', JSON.stringify(r.when)],
    ['for', r.for_s > 0 ? durationText(r.for_s) : ''],
    ['keep_firing_for', r.keep_firing_for_s > 0 ? durationText(r.keep_firing_for_s) : ''],
  ];
  const given = lines.filter(([, value]) => value !== '').map(([key, value]) => `${key}: ${value}`);
  return [
    'groups:',
    `  - name: ${JSON.stringify(r.group)}`,
    `    every: ${durationText(r.every_s)}`,
    '    rules:',
    `      - ${given.join('\n        ')}`,
    '',
  ].join('\n');
}

// Where the form for a dry run begins.
export const EXAMPLE_RULE = `groups:
  - name: mine
    rules:
      - alert: HotFunction
        function: '^main$'        # RE2, anywhere in the name
        over: 10m
        when: above 20%
        for: 5m
`;
