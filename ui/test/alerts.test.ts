import { expect, test } from 'vitest';
import {
  durationText,
  matchersOf,
  matchersText,
  readMatchers,
  ruleFile,
  stretchesOf,
  stripsOf,
  type Matcher,
} from '../src/core/alerts';
import type { Alert, AlertEvent, AlertRule, Insight, Regression } from '../src/core/answers';
import { countsOf, drawnOf, marksOf, type Found } from '../src/core/marks';

const at = (minute: number) => new Date(Date.UTC(2026, 10, 19, 12, minute)).toISOString();
const ms = (minute: number) => Date.parse(at(minute));
const event = (minute: number, state: string, more: Partial<AlertEvent> = {}): AlertEvent => ({
  time: at(minute),
  kind: 'state',
  state,
  alert: 'Hot',
  service: 'shop',
  fingerprint: '1',
  text: `${minute} %`,
  ...more,
});
const alert = (more: Partial<Alert>) => ({ ...event(0, 'firing'), activeAt: at(0), ...more }) as unknown as Alert;
const short = (all: ReturnType<typeof stretchesOf>) =>
  all.map((s) => [s.state, (s.from - ms(0)) / 60e3, s.to === null ? null : (s.to - ms(0)) / 60e3]);

test('the times of an alert follow from its history', () => {
  const events = [
    event(20, 'resolved', { startsAt: at(12), endsAt: at(20) }),
    event(16, 'firing', { kind: 'delivery' }),
    event(12, 'firing', { startsAt: at(12) }),
    event(10, 'pending'),
  ];
  expect(short(stretchesOf(events, []))).toEqual([
    ['firing', 12, 20],
    ['pending', 10, 12],
  ]);
  // Pending, and then it was nothing.
  expect(short(stretchesOf([event(11, 'inactive'), event(10, 'pending')], []))).toEqual([['pending', 10, 11]]);
  // It began before the history: only its end is there, or only that it fires now.
  expect(short(stretchesOf([event(5, 'resolved', { startsAt: at(-30), endsAt: at(5) })], []))).toEqual([
    ['firing', -30, 5],
  ]);
  expect(short(stretchesOf([], [alert({ state: 'firing', startsAt: at(-90) })]))).toEqual([['firing', -90, null]]);
  const still = [event(12, 'firing', { startsAt: at(12) })];
  expect(short(stretchesOf(still, [alert({ state: 'firing', startsAt: at(12) })]))).toEqual([['firing', 12, null]]);
});

test('strips: what fires comes first, and only what is in the range counts', () => {
  const stretch = (service: string, state: 'firing' | 'pending', from: number, to: number | null) => ({
    ...{ alert: 'Hot', service, state, text: '' },
    from: ms(from),
    to: to === null ? null : ms(to),
  });
  const strips = stripsOf(
    [
      stretch('old', 'firing', -100, -50),
      stretch('calm', 'firing', 10, 12),
      stretch('calm', 'firing', -5, 5),
      stretch('now', 'firing', 1, null),
      stretch('soon', 'pending', 9, null),
    ],
    [ms(0), ms(20)],
  );
  expect(strips.map((s) => [s.service, s.fired, s.firedMs / 60e3])).toEqual([
    ['now', 1, 19],
    ['soon', 0, 0],
    ['calm', 2, 7],
  ]);
});

test('matchers are read as they are written', () => {
  const m = (name: string, value: string, isRegex = false, isEqual = true): Matcher => ({
    name,
    value,
    isRegex,
    isEqual,
  });
  for (const all of [
    [m('alertname', 'Hot'), m('service', 'cart|shop', true)],
    [m('a', 'x, y="z"'), m('b', '', false, false), m('c.d', '^a\\d$', true, false)],
    [m('service', ' spaces ')],
  ])
    expect(readMatchers(matchersText(all))).toEqual(all);
  expect(readMatchers('alertname = Hot ,service=~"a,b"')).toEqual([m('alertname', 'Hot'), m('service', 'a,b', true)]);
  expect(matchersText(matchersOf({ alertname: 'Hot', service: 'a b' }))).toBe('alertname=Hot, service=a b');
  for (const wrong of ['', 'hot', '=x', 'a=1, 2', 'a="x']) expect(typeof readMatchers(wrong)).toBe('string');
});

test('a rule as a file of its own', () => {
  expect([90, 60, 3600, 7200, 86400, 15].map(durationText)).toEqual(['90s', '1m', '1h', '2h', '1d', '15s']);
  const rule = {
    ...{ alert: 'Hot', group: 'shop: "it"', select: 'shop{region="eu"}', type: 'cpu', function: '^hot$' },
    ...{ when: 'above 30%', measure: 'share', over_s: 20, every_s: 5, for_s: 300, keep_firing_for_s: 0, labels: {} },
  } as unknown as AlertRule;
  expect(ruleFile(rule)).toBe(
    'groups:\n  - name: "shop: \\"it\\""\n    every: 5s\n    rules:\n      - alert: "Hot"\n' +
      '        select: "shop{region=\\"eu\\"}"\n        function: "^hot$"\n        type: cpu\n' +
      '        measure: share\n' +
      '        over: 20s\n        when: "above 30%"\n        for: 5m\n',
  );
});

const REGRESSION = {
  ...{ id: '0123456789abcdef', state: 'open', service: 'shop', first_seen_ms: ms(9), callers: [] },
  function: { name: 'append', module: 'm' },
  own: { function: 'Parse', module: 'm', file: 'a.cc', line: 3 },
  change: { share: 0.123, share_low: 0.101, share_high: 0.145 },
  since: { label: 'service.version', before: 'v1', after: 'v2', at_ms: ms(8) },
} as unknown as Regression;
const INSIGHT = { title: 'Copies', rule: 'copy', share: 0.2, cores_saved: 0.5, since: 'v2' } as Insight;
const PIN = { id: '1', service: 'shop', from: at(1), to: at(5), why: 'incident', time: at(9) };
const TIME = { since: '1h', from: null, to: null };

test('marks: where something fired, where it came with a version, and how many', () => {
  const found: Found = {
    alerts: [alert({ state: 'firing', startsAt: at(2) })],
    events: [event(2, 'firing', { startsAt: at(2) })],
    regressions: [REGRESSION, { ...REGRESSION, id: '1', state: 'gone' }],
    insights: [INSIGHT, { ...INSIGHT, since: '' }],
    pins: [PIN],
  };
  const marks = marksOf(found, [{ at: ms(8), from: 'v1', to: 'v2' }], 'shop', TIME, ms(10));
  expect(marks.map((m) => [m.kind, (m.at - ms(0)) / 60e3])).toEqual([
    ['alert', 2],
    ['regression', 8],
    ['regression', 8],
    ['insight', 8],
    ['pin', 1],
  ]);
  expect([marks[4].text, marks[4].href]).toEqual(['kept: incident', '/status?service=shop']);
  expect(marks[1].text).toBe('open: Parse +12.3 % (+10.1 to +14.5)');
  expect(marks[1].href).toBe('/regressions?service=shop&id=0123456789abcdef');
  expect(countsOf(found)).toEqual([
    ['alert', '1 alert fires'],
    ['regression', '1 open regression'],
    ['insight', '2 insights'],
    ['pin', '1 window is kept'],
  ]);
  expect(countsOf({ alerts: [], events: [], regressions: [], insights: [], pins: [] })).toEqual([]);
  const drawn = drawnOf(marks, [ms(0), ms(10)], 0.05, (kind) => '/all-' + kind);
  expect(drawn.map((d) => [d.kind, d.left, d.right, d.row, d.count, d.href.split('?')[0]])).toEqual([
    ['pin', 0.1, 0.5, 0, 1, '/status'],
    ['alert', 0.2, 1, 0, 1, '/alerts'],
    ['regression', 0.8, 0.8, 0, 2, '/all-regression'],
    ['insight', 0.8, 0.8, 1, 1, '/insights'],
  ]);
  // What began before what is in view and lasts is marked at its edge; moments outside are not.
  expect(drawnOf(marks, [ms(4), ms(6)], 0.05, () => '').map((d) => [d.kind, d.left])).toEqual([
    ['pin', 0],
    ['alert', 0],
  ]);
});
