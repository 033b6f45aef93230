import { expect, test } from 'vitest';
import { sidesInWords } from '../src/core/sides';
import { newDiff } from '../src/core/state';

const words = (query: string, baseQuery: string, more = {}) => sidesInWords(newDiff({ query, baseQuery, ...more }));

test('the sides of a difference in words: what they differ in is never cut', () => {
  const version = (v: string) => `orders{service.version="${v}"}`;
  expect(words(version('v2'), version('v1'))).toEqual(['orders v1', 'orders v2']);
  expect(words('{service_name="a", host="h1"}', '{service_name="a", host="h0"}')).toEqual([
    'a{host="h0"}',
    'a{host="h1"}',
  ]);
  expect(words('a', '')).toEqual(['a, before', 'a']);
  const at = Date.parse('2026-11-18T07:50:00Z');
  const fixed = { from: at + 60e3, to: at + 120e3, baseFrom: at, baseTo: at + 60e3 };
  expect(words('a', 'a', fixed)).toEqual(['a 07:50–07:51Z', 'a 07:51–07:52Z']);
  const long = (end: string) => `s{image="${'x'.repeat(300)}${end}"}`;
  const [before, after] = words(long('-old'), long('-new'));
  expect([before.includes('-new'), after.includes('-old'), before.length <= 62]).toEqual([true, true, true]);
});
