import { expect, test } from 'vitest';
import { isCut, moreText, withChosen } from '../src/core/many';

test('a list says how many it does not show', () => {
  expect(moreText(3000, 100, 'search')).toBe('2,900 more: search');
  expect(moreText(100, 100, 'search')).toBe('');
  expect(moreText(0, 0, 'search')).toBe('');
  expect([isCut(undefined), isCut({ names: ['a'], total: 1 }), isCut({ names: ['a'], total: 2 })]).toEqual([
    false,
    false,
    true,
  ]);
});

test('what is chosen can be chosen, listed or not', () => {
  expect(withChosen(['a', 'b'], 'b')).toEqual(['a', 'b']);
  expect(withChosen(['a', 'b'], 'z')).toEqual(['z', 'a', 'b']);
  expect(withChosen(['a', 'b'], '')).toEqual(['a', 'b']);
});
