import { expect, test } from 'vitest';
import { NOT_REGULAR, patternOf, TOO_LONG } from '../src/core/pattern';

declare const process: { cpuUsage: () => { user: number } };

const NAMES = [
  '',
  'main',
  'Main',
  'json::parse_object',
  'json::parse(Value&, std::string_view)',
  'std::vector<int>::push_back',
  'operator[]',
  'a.b',
  'aXb',
  'a\nb',
  'xxxy',
  'xyxyxy',
  'foo bar',
  'ünïcode',
  'ÜNÏCODE',
  '日本語',
  '😀 smile',
  '12',
  'v1.20',
  '[unknown]',
  'a-b',
  'tab\there',
  'ab',
  'abc',
  'abab',
  'A_1',
  '{x}',
  'x{2',
  ']',
];
const PATTERNS = [
  'main',
  '^main$',
  'PARSE',
  'parse_obj|push',
  'json::.*object',
  '^(std|json)::',
  'a.b',
  'a\\.b',
  '[a-c]+',
  '^[^a-z]*$',
  '\\bparse\\b',
  '\\Bb',
  'x+y',
  '(xy)+',
  '(xy){3}$',
  'x{2,3}y',
  'x{4}',
  'x{1,}',
  'a?b',
  '(?:a|b)*c',
  '(?<n>a)b',
  '\\d+',
  '\\D',
  '\\w+$',
  '\\W',
  '\\s',
  '\\S{5,}',
  '\\x20',
  '\\u0061b',
  '😀',
  '[😀-😂]',
  'ÜN',
  '[\\d.]+',
  '[-a]b',
  '[a-]b',
  '[^\\w]',
  'x{2',
  '{x}',
  ']',
  '\\[',
  '(a*)*',
  '(a*)+b',
  '()',
  '(|a)b',
  'a|',
  '^',
  '$',
  '^$',
  'a+?b',
  '[\\w-]+',
  '\\t',
  '(^a|b$)',
  '\\]$',
];

test('matches as the browser does', () => {
  for (const pattern of PATTERNS) {
    const own = patternOf(pattern)!;
    // "u" only where needed, because it forbids a lone bracket.
    const browser = new RegExp(pattern, /[^\0-\uffff]/u.test(pattern) ? 'iu' : 'i');
    for (const name of NAMES) expect(own.test(name), `/${pattern}/ on "${name}"`).toBe(browser.test(name));
    expect(own.problem(), pattern).toBe('');
  }
});

test('what is none is plain text and says so', () => {
  for (const [text, name] of [
    ['operator[', 'x::Operator[]'],
    ['f(', 'f(int)'],
    ['*', 'a*b'],
    ['+x', 'y+x'],
    ['a)', '(a)'],
    ['(?=a)', '(?=a)b'],
    ['(a)\\1', '(a)\\1'],
    ['x{3,2}', 'x{3,2}'],
    ['[b-a]', '[b-a]'],
    ['\\', 'a\\b'],
    ['[]', 'x[]'],
    ['[^]', '[^]'],
    ['\\Z', 'a\\Z'],
    ['[[:no:]]', '[[:no:]]'],
    ['\\p{Klingon}', '\\p{Klingon}'],
  ]) {
    const own = patternOf(text)!;
    expect([own.test(name), own.test('other'), own.problem()], text).toEqual([true, false, NOT_REGULAR]);
  }
  expect(patternOf('')).toBe(null);
});

test("what only the server's language has means the same here", () => {
  const cases: [string, string[], string[]][] = [
    ['\\Amain', ['main', 'mainly'], ['xmain']],
    ['main\\z', ['xmain'], ['mains']],
    ['[[:upper:]]_', ['A_1', 'a_1'], ['1_']],
    ['^[^[:alpha:]_]+$', ['12'], ['a1']],
    ['\\Qjson::\\E', ['json::parse'], ['jsonxx']],
    ['\\Qa.b', ['a.b'], ['aXb']],
    ['^\\pL+$', ['main', '日本語', 'ünïcode'], ['a1']],
    ['\\p{Greek}', ['αβγ'], ['abc']],
    ['\\PL', ['1'], ['a']],
    ['(?i)JSON', ['json'], ['jso']],
    ['(?-i)JSON', ['JSON'], ['json']],
    ['(?-i:J)SON', ['Json', 'JSON'], ['json']],
    ['(?P<n>ab)', ['ab'], ['ba']],
    ['(?s).', ['a'], ['']],
    ['[]a]', [']', 'a'], ['b']],
    ['\\x{1F600}', ['😀'], ['x']],
    ['x(?-i)Y|Z', ['xY', 'XY', 'Z'], ['xy', 'z']],
  ];
  for (const [pattern, yes, no] of cases) {
    const own = patternOf(pattern)!;
    expect([own.problem(), yes.filter((n) => !own.test(n)), no.filter((n) => own.test(n))], pattern).toEqual([
      '',
      [],
      [],
    ]);
  }
});

test('the server gets the same in its own way of writing', () => {
  const source = (text: string) => patternOf(text)!.source;
  expect(source('^json::.*(a|b)$')).toBe('^json::.*(a|b)$');
  expect(source('(?<n>a)\\u0061\\\\u0061\\(?<')).toBe('(?:a)\\x{0061}\\\\u0061\\(?<');
  expect(source('pay(')).toBe('pay\\(');
  expect(source('a[b{c}.*^$|?+)\\')).toBe('a\\[b\\{c\\}\\.\\*\\^\\$\\|\\?\\+\\)\\\\');
});

test('no pattern takes for ever', () => {
  const names = ['x'.repeat(10_000), 'xyz'.repeat(3000) + 'q'];
  for (const text of [
    '(x+)+y',
    '(x|x)*y',
    'x*x*x*x*x*x*q1',
    '(x?){30}x{30}q1',
    '(.*)*[^xyzq]',
    '((x{1,100}){1,100})+y',
    '(x|xy|y)*(.{500})?\\d',
    '(x|x)'.repeat(40) + '1',
  ]) {
    const began = process.cpuUsage().user; // not the clock: the machine has other things to do
    const own = patternOf(text)!;
    const found = names.filter((name) => own.test(name)).length;
    if (own.problem() === '')
      expect(found, text).toBe(text === '(x+)+y' || text === '(x|x)*y' || text.startsWith('((x{') ? 1 : 0);
    expect((process.cpuUsage().user - began) / 1000, text).toBeLessThan(3000);
  }
  const heavy = patternOf('(x|y)*x(x|y){900}1')!;
  let state = 1;
  const next = () => {
    state = (Math.imul(state, 1103515245) + 12345) | 0;
    return state & 65536 ? 'x' : 'y';
  };
  const random = Array.from({ length: 200_000 }, next).join('');
  expect([heavy.test(random), heavy.problem()]).toEqual([false, TOO_LONG]);
});
