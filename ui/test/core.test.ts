import { expect, test } from 'vitest';
import { coresOf, stepsTogether, together, versionChanges } from '../src/core/trend';
import { changesOf, factorOf } from '../src/core/difference';
import { formatAgo, formatShare, formatValue, isSignificant, parseSpan, shareError } from '../src/core/format';
import { exactly, fitName, groupOf, ladder } from '../src/core/names';
import { waterfall, visibleRows } from '../src/core/waterfall';
import { csvOf } from '../src/core/csv';
import type { Span } from '../src/core/api';

test('values have units people know', () => {
  expect([formatValue(1284e9, 'nanoseconds'), formatValue(1.5e6, 'nanoseconds'), formatValue(3 * 2 ** 20, 'bytes'), formatValue(1234567, 'count'), formatValue(2500, 'count', 1000)])
    .toEqual(['21.4 min', '1.50 ms', '3.00 MiB', '1,234,567', '2.5']);
  expect(formatShare(1, 3)).toBe('33.3 %');
  expect(formatShare(1, 100_000)).toBe('0.001 %');
  expect(formatAgo(0, 7200e3)).toBe('2 h ago');
  expect([parseSpan('15m'), parseSpan('x')]).toEqual([900e3, NaN]);
});

test('a share seen once is not certain', () => {
  expect(shareError(1, 10)).toBe(10);
  expect(shareError(5000, 10_000)).toBeCloseTo(0.5);
  expect(shareError(10, 10)).toBe(0);
});

test('a change of a few samples may be chance', () => {
  expect(isSignificant(10, 12, 10, 12)).toBe(false);
  expect(isSignificant(1000, 1200, 1000, 1200)).toBe(true);
});

test('names shrink from the outside in', () => {
  const name = 'std::vector<std::pair<int, json::Value>>::emplace_back(int&&, json::Value const&)';
  expect(ladder(name)[1]).toBe('std::vector<std::pair<int, json::Value>>::emplace_back');
  expect(fitName(name, 30)).toBe('std::vector::emplace_back');
  expect(fitName(name, 13)).toBe('emplace_back');
  expect(fitName('github.com/acme/shop/cart.(*Cart).Add', 20)).toBe('cart.(*Cart).Add');
  expect(fitName('com.acme.shop.Cart.add', 12)).toBe('Cart.add');
  expect(fitName('operator<<(a, b)', 16)).toBe('operator<<(a, b)');
  expect(fitName('x'.repeat(10_000), 20)).toHaveLength(20);
});

test('an exact pattern matches only its name', () => {
  for (const name of ['a.b', 'f(int)', 'operator[]', 'x|y', '<script>alert(1)</script>']) {
    expect(new RegExp(exactly(name)).test(name)).toBe(true);
    expect(new RegExp(exactly(name)).test(name + 'x')).toBe(false);
  }
});

test('colours go by the package a name begins with, or by module', () => {
  const cases: [string, string, string][] = [
    ['a::b::c', 'libx.so', 'a'], ['void json::parse<int>(x::y)', 'app', 'json'], ['(anonymous namespace)::f(a::b)', 'app', 'app'], ['malloc', 'libc.so.6', 'libc.so.6'],
    ['github.com/a/b.F', 'demo', 'github.com/a/b'], ['fmt.(*pp).doPrint', 'demo', 'fmt'], ['runtime.main', 'demo', 'runtime'], ['com.acme.shop.cart.Cart.add', '', 'com.acme.shop'],
    ['libc.so.6+0x27304', 'libc.so.6', 'libc.so.6'], ['/usr/include/a.h', 'hot', 'hot'], ['main', '', ''],
  ];
  for (const [name, module, group] of cases) expect(groupOf(name, module), name).toBe(group);
});

test('cores are averaged over the time the service was there', () => {
  expect(coresOf([0, 0, 2e9, 2e9, 0], 1000, 1)).toBe(2);
  expect(coresOf([0, 0], 1000, 1)).toBe(0);
});

test('steps are taken together where the sender is slower', () => {
  expect(stepsTogether([[0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6, 0]])).toBe(4);
  expect(stepsTogether([[1, 2, 3]])).toBe(1);
  expect(stepsTogether([[0, 0]])).toBe(1);
  expect(together([0, 0, 4, 0, 0, 0, 5, 0, 0], 4, false)).toEqual([4, 5, 0]);
  expect(together([0, 4, 6, 0], 4, true)).toEqual([5]);
});

test('a deploy is where another version takes over for good', () => {
  const changes = (v1: number[], v2: number[]) => versionChanges([{ version: 'v1', values: v1 }, { version: 'v2', values: v2 }], 1000, 10);
  expect(changes([5, 0, 5, 0, 0, 0, 0], [0, 0, 0, 0, 6, 0, 6])).toEqual([{ at: 1040, from: 'v1', to: 'v2' }]);
  expect(changes([5, 5, 1, 5, 5], [1, 1, 5, 1, 1])).toEqual([]);
  expect(changes([0], [0])).toEqual([]);
});

test('a difference can be brought to the same scale', () => {
  const total = { before: 50, after: 100 };
  expect(factorOf('raw', { before: 1, after: 2 }, total)).toBe(1);
  expect(factorOf('rate', { before: 10, after: 30 }, total)).toBe(3);
  expect(factorOf('share', { before: 1, after: 1 }, total)).toBe(2);
  expect(factorOf('share', { before: 1, after: 1 }, { before: 0, after: 100 })).toBe(1);
  const row = (name: string, before: number, after: number) => ({ name, module: '', self_before: before, self_after: after, total_before: before, total_after: after });
  expect(changesOf([row('a', 10, 30), row('b', 20, 30)], 2).map((r) => [r.name, r.before, r.after])).toEqual([['a', 20, 30], ['b', 40, 30]]);
});

const span = (id: string, parent: string, start: number, duration = 10): Span =>
  ({ trace: 't', span: id, parent, service: 's', name: id, kind: 'internal', status: 'unset', start_ns: String(1_700_000_000_000_000_000n + BigInt(start)), duration_ns: duration, attributes: {}, resource: {} });

test('a waterfall has every span once, whatever the parents say', () => {
  const { rows } = waterfall([span('c', 'a', 5), span('a', '', 0), span('b', 'a', 3), span('lost', 'nobody', 9), span('x', 'y', 1), span('y', 'x', 2), span('z', 'z', 4)]);
  expect(rows.map((r) => [r.span.span, r.depth, r.descendants])).toEqual([['a', 0, 2], ['b', 1, 0], ['c', 1, 0], ['z', 0, 0], ['lost', 0, 0], ['x', 0, 1], ['y', 1, 0]]);
  expect(visibleRows(rows, new Set(['a'])).map((r) => r.span.span)).toEqual(['a', 'z', 'lost', 'x', 'y']);
});

test('100,000 spans in a chain are laid out', () => {
  const spans = Array.from({ length: 100_000 }, (_, i) => span(String(i), i === 0 ? '' : String(i - 1), i));
  expect(waterfall(spans).rows[99_999].depth).toBe(99_999);
});

test('a table leaves as CSV that no spreadsheet runs', () => {
  const row = (name: string) => ({ name, module: 'm', file: '', self: 1, total: 2, self_count: 3, total_count: 4 });
  const csv = csvOf({ type: 'cpu', unit: 'nanoseconds', scale: 1, total: 2, count: 4, averaged: false, functions: 2, other: 0, rows: [row('a,"b"'), row('=cmd()')] });
  expect(csv.split('\r\n')).toEqual(['function,module,file,self (nanoseconds),total (nanoseconds),self samples,total samples', '"a,""b""",m,,1,2,3,4', "'=cmd(),m,,1,2,3,4", '']);
});
