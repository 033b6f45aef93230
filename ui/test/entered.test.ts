import { expect, test } from 'vitest';
import { filterExample, lensBegun, lensProblem, parseTime, rangeProblem } from '../src/core/entered';

test('a time that cannot be read says why', () => {
  expect(parseTime('2026-01-31 14:00:00', true)).toBe(Date.UTC(2026, 0, 31, 14));
  expect(parseTime('2026-01-31 14:00:00+02:00', true)).toBe(Date.UTC(2026, 0, 31, 12));
  expect(rangeProblem('2026-01-31 14:00', '2026-01-31 15:00', true)).toBe('');
  expect(rangeProblem('yesterday', '2026-01-31 15:00', true)).toMatch(/^From is not a time/);
  expect(rangeProblem('2026-01-31 14:00', ' ', true)).toMatch(/^To is empty/);
  expect(rangeProblem('2026-01-31 15:00', '2026-01-31 15:00', true)).toBe('From must be before To.');
});

test('a step of a lens that is none says why, once it cannot become one', () => {
  expect(['hide:^std::', ' my-code ', 'focus:a:b'].map(lensProblem)).toEqual(['', '', '']);
  expect(['recursion:^f$', 'focus-path:main;a b', 'merge-path:@0123456789abcdef', 'invert'].map(lensProblem)).toEqual([
    '',
    '',
    '',
    '',
  ]);
  expect(lensProblem('focus-path:')).toMatch(/functions from the top down/);
  expect(lensProblem('hide:')).toMatch(/regular expression/);
  expect(lensProblem('remove:x')).toMatch(/is not a lens step.*focus:RE/);
  expect(['h', 'hide:', 'merge', 'hidden', 'x'].map(lensBegun)).toEqual([true, true, true, false, false]);
});

test('the example of a filter names a label there is', () => {
  expect([filterExample([]), filterExample(['host', 'service.version']), filterExample(['host', 'region'])]).toEqual([
    'service.version="v2"',
    'service.version="v2"',
    'host=~"a.*"',
  ]);
});
