import { expect, test } from 'vitest';
import type { ServiceChange, Worse } from '../src/core/answers';
import { addressesOf, cardsOf, costText, headingOf, timesText, type WorseEntry } from '../src/core/worse';

const ENTRY = {
  service: 'storefront',
  mode: 'request',
  type: 'cpu',
  unit: 'nanoseconds',
  whole: { before: 3.5e6, after: 11.7e6, change: 8.2e6, low: 7.1e6, high: 9.3e6 },
  causes: [{ function: 'std::append', module: 'x', own: { function: 'Parse', module: 'shop', file: 'a.cc', line: 7 } }],
  sides: { query: 's{v="2"}', from_ms: 20, to_ms: 30, base_query: 's{v="1"}', base_from_ms: 5, base_to_ms: 20 },
} as WorseEntry;
const NONE: Worse = {
  at: '',
  looking: false,
  looked_at: 0,
  services: 0,
  worse_in_all: 0,
  worse: [],
  others: [],
  marks: [],
};

test('what got worse in words', () => {
  expect(timesText(ENTRY.whole)).toBe('×3.3');
  expect(timesText({ before: 100, after: 112 })).toBe('+12 %');
  expect(timesText({ before: 0, after: 1 })).toBe('new');
  expect(costText(ENTRY)).toBe('cpu per request 3.50 ms → 11.7 ms ×3.3 (+7.10 ms to +9.30 ms)');
  expect(costText({ ...ENTRY, mode: 'share' })).toBe('');
});

test('the heading says how much was looked at, and what could have been seen', () => {
  expect(headingOf(NONE, 0)).toBe('');
  expect(headingOf({ ...NONE, services: 3000, looking: true }, 0)).toBe('Looking for what got worse…');
  const some = { ...NONE, services: 3000, looked_at: 140, worse: [ENTRY], worse_in_all: 2 };
  expect(headingOf(some, 0)).toBe('2 of 140 services got worse since their last version, looked at 140 of 3000');
  const other = { service: 'a', verdict: 'same', sentence: '', detectable_share: 0.04 } as ServiceChange;
  const since = { label: 'service.version', before: 'v1', after: 'v2', at_ms: 0 };
  const calm = { ...NONE, services: 1, looked_at: 1, others: [{ ...other, since }] };
  expect(headingOf(calm, 3600e3)).toBe(
    'Nothing surely got worse since 60 min ago; a change of 4.0 % or more would have been found',
  );
  expect(headingOf({ ...calm, others: [other] }, 0)).toBe('Nothing could be compared with a version before yet');
});

test('a card leads to the comparison the server made, and to the own function of its cause', () => {
  const { diff, line, traces } = addressesOf(ENTRY);
  const of = (address: string) => new URL(address, 'http://h').searchParams;
  expect(Object.fromEntries(of(diff))).toEqual({
    from: '20',
    to: '30',
    query: 's{v="2"}',
    base_query: 's{v="1"}',
    base_from: '5',
    base_to: '20',
    type: 'cpu',
    lens: 'own',
    mode: 'request',
  });
  expect([of(line).get('fn'), of(line).get('mod'), of(line).get('view'), of(traces).get('view')]).toEqual([
    'Parse',
    'shop',
    'source',
    'traces',
  ]);
});

test('a card needs what it was compared with', () => {
  const { sides: _, ...without } = { ...ENTRY, since: { label: '', before: '', after: '', at_ms: 0 } };
  const cost = { cores: 1, low: 1, high: 1 };
  const whole = { ...without, sides: ENTRY.sides, cost } as ServiceChange;
  expect(cardsOf({ ...NONE, worse: [{ ...without, cost } as ServiceChange, whole] })).toEqual([whole]);
  expect(cardsOf(null)).toEqual([]);
});
