import { expect, test } from 'vitest';
import { escaped, plainText, searchedAs, shownSearch } from '../src/core/search_text';

test('a text is an expression that matches just it, and comes back', () => {
  for (const text of [
    '',
    'a',
    'a.b',
    'std::vector<int>::at(unsigned long)',
    '\\d+',
    '[x]{2}|^$',
    'a\\\\b',
    '100%',
    'héé',
  ]) {
    expect(plainText(escaped(text))).toBe(text);
    expect(new RegExp('^(?:' + escaped(text) + ')$').test(text)).toBe(true);
  }
});

test('an expression that is no plain text is shown as what it is', () => {
  expect(['a.b', '^a$', 'a|b', '\\d', 'a\\'].map(plainText)).toEqual([null, null, null, null, null]);
  expect(shownSearch('a\\.b', true)).toEqual({ text: 'a.b', plain: true });
  expect(shownSearch('^a$', true)).toEqual({ text: '^a$', plain: false });
  expect(shownSearch('a\\.b', false)).toEqual({ text: 'a\\.b', plain: false });
});

test('what the field shows stays when it is read the other way', () => {
  const to = (address: string, plain: boolean) => searchedAs(new URL(address, 'http://h'), plain);
  expect(to('/s/x?search=f%28', true)).toBe('/s/x?search=f%5C%28&plain=1');
  expect(to('/s/x?search=f%5C%28&plain=1', false)).toBe('/s/x?search=f%28');
  expect(to('/s/x', true)).toBe('/s/x?plain=1');
  expect(to('/s/x?view=table&plain=1', false)).toBe('/s/x?view=table');
});
