import { expect, test } from 'vitest';
import type { Alert, Regression } from '../src/core/answers';
import { daysText, windowOfAlert, windowOfRegression, windowProblem } from '../src/core/pins';

test('pins: the days that stay, and what a window is about', () => {
  const at = (text: string) => Date.parse(text + 'Z');
  const noon = at('2026-11-15T12:00:00');
  expect(daysText(noon, noon + 3600e3)).toBe('2026-11-15');
  expect(daysText(noon, at('2026-11-16T00:00:00'))).toBe('2026-11-15');
  expect(daysText(noon, at('2026-11-17T01:00:00'))).toBe('2026-11-15 to 2026-11-17 (3 days)');
  const wanted = { service: 'a', from: noon, to: noon + 31 * 86400e3, why: '' };
  expect(windowProblem(wanted)).toBe('');
  expect(windowProblem({ ...wanted, to: wanted.to + 1 })).toMatch(/at most 31 days, and this is 32 days/);
  const sides = { from_ms: 50, to_ms: 60, base_from_ms: 20, base_to_ms: 30 };
  const record = { id: 'ab', service: 'a', function: { name: 'f' }, sides } as Regression;
  expect(windowOfRegression(record)).toEqual({ service: 'a', from: 20, to: 60, why: 'regression ab: f' });
  const far = { ...record, sides: { ...sides, to_ms: 32 * 86400e3, from_ms: '70' } } as Regression;
  expect(windowOfRegression(far).from).toBe(70);
  const alert = { service: 'a', alert: 'Hot', text: '31 %', activeAt: '2026-11-15T12:00:00Z' } as Alert;
  expect(windowOfAlert(alert, noon + 5)).toEqual({ service: 'a', from: noon, to: noon + 5, why: 'alert Hot: 31 %' });
});
