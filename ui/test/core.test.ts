import type { TraceColumns } from '../src/core/answers';
import { expect, test } from 'vitest';
import { settledSteps, stepsTogether, together, trendOf, versionIn, versionChanges, withGaps } from '../src/core/trend';
import { linesOf, matchedOf, peakOf, shortGroups } from '../src/core/steps';
import { changesOf, factorOf, formatMeasured, formatMoved } from '../src/core/difference';
import { heard, now } from '../src/core/clock';
import {
  formatAgo,
  formatError,
  formatFine,
  formatRough,
  formatMany,
  formatShare,
  formatTime,
  formatValue,
  parseSpan,
  shareError,
  withTimes,
} from '../src/core/format';
import { exactly, fitName, groupOf, ladder } from '../src/core/names';
import { profiledServices, waterfall, visibleRows } from '../src/core/waterfall';
import {
  againstItself,
  dayBefore,
  justBefore,
  serviceIn,
  swapped,
  valueAgainst,
  valueIn,
  windowBeside,
  withLabel,
  withoutLabel,
} from '../src/core/presets';
import { groupsOf } from '../src/core/groups';
import { hotChain, matchedRows, opened, openRows } from '../src/core/rows';
import { readSaved, standaloneHtml } from '../src/core/standalone';
import { costsOf, hottestLine, repositoryLink } from '../src/core/source';
import { joinLens, lensSteps, newService, traceIn } from '../src/core/state';
import { buildTree } from '../src/core/tree';
import { drawHeat, shadeOf } from '../src/draw/heat';
import { scaleOf } from '../src/core/scale';
import { columns, SHOP } from './sample';
import errors from '../../tests/golden/share_errors.txt?raw';
import shownNames from '../../tests/golden/shown_names.tsv?raw';

test('values have units people know', () => {
  expect([
    formatValue(1284e9, 'nanoseconds'),
    formatValue(1.5e6, 'nanoseconds'),
    formatValue(3 * 2 ** 20, 'bytes'),
    formatValue(1234567, 'count'),
    formatValue(2500, 'count', 1000),
  ]).toEqual(['21.4 min', '1.50 ms', '3.00 MiB', '1,234,567', '2.5']);
  expect(formatShare(1, 3)).toBe('33.3 %');
  expect([0.0234, 2.31, 99.6, 12345].map(formatRough)).toEqual(['0.023', '2.3', '100', '12,345']);
  expect([0, 0.00231, 0.0996, 0.1, 1.234].map(formatFine)).toEqual(['0.00', '0.0023', '0.1', '0.10', '1.23']);
  expect([formatMany(1, 'frame'), formatMany(2000, 'frame'), formatMany(0, 'frame')]).toEqual([
    '1 frame',
    '2,000 frames',
    '0 frames',
  ]);
  expect(formatShare(1, 100_000)).toBe('0.001 %');
  expect(formatAgo(0, 7200e3)).toBe('2 h ago');
  expect([parseSpan('15m'), parseSpan('x')]).toEqual([900e3, NaN]);
});

test('errors of shares are those of the server and the command line', () => {
  const lines = errors.split('\n').filter((line) => /^-?\d/.test(line));
  expect(lines.length).toBeGreaterThan(10);
  for (const line of lines) {
    const [n, all, points, text] = line.split(' ');
    expect(shareError(Number(n), Number(all)), line).toBeCloseTo(Number(points), 5);
    expect(formatError(Number(n), Number(all)), line).toBe('±\u00a0' + text);
  }
});

test("the server's times are shown in the page's zone", () => {
  const text = 'no profiles between 2026-01-02T03:04:05.678Z and 2026-01-02T04:04:05Z; 2026-13-01T00:00:00Z';
  expect(withTimes(text, true)).toBe(
    'no profiles between 2026-01-02 03:04:05Z and 2026-01-02 04:04:05Z; 2026-13-01T00:00:00Z',
  );
  const at = Date.parse('2026-01-02T04:04:05Z');
  expect(withTimes(text, false)).toContain(`and ${formatTime(at, false)};`);
});

test("now is the server's, whatever this machine's clock says", () => {
  const own = Date.now();
  heard(new Date(own + 3600e3).toUTCString(), own);
  expect(Math.abs(now() - own - 3600e3)).toBeLessThan(3000);
  heard('nonsense', own);
  expect(Math.abs(now() - own - 3600e3)).toBeLessThan(3000);
  heard(new Date(own).toUTCString(), own);
  expect(Math.abs(now() - Date.now())).toBeLessThan(5);
});

test('names of instances stay apart where they are cut', () => {
  expect(shortGroups(['h1', 'h2', 'other'])).toEqual(['h1', 'h2', 'other']);
  const pods = ['a', 'b'].map((x) => `checkout-deployment-7f9c6d5b4-${x}-${'z'.repeat(40)}`);
  expect(shortGroups([...pods, 'other'])).toEqual([
    '…a-' + 'z'.repeat(20) + '…',
    '…b-' + 'z'.repeat(20) + '…',
    'other',
  ]);
  expect(shortGroups(['x'.repeat(300)], 10)).toEqual(['xxxxxxxxx…']);
});

test('names are shown as the command line shows them', () => {
  const rows = shownNames.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  for (const [name, characters, shown] of rows.map((line) => line.split('\t')))
    expect(fitName(name, Number(characters)), name).toBe(shown);
  expect(rows.length).toBeGreaterThan(20);
});

test('names shrink from the outside in', () => {
  const name = 'std::vector<std::pair<int, json::Value>>::emplace_back(int&&, json::Value const&)';
  expect(ladder(name)[1]).toBe('std::vector<std::pair<int, json::Value>>::emplace_back');
  expect(fitName(name, 30)).toBe('std::vector::emplace_back');
  expect(fitName(name, 13)).toBe('emplace_back');
  expect(fitName('github.com/acme/shop/cart.(*Cart).Add', 20)).toBe('cart.(*Cart).Add');
  expect(fitName('com.acme.shop.Cart.add', 12)).toBe('Cart.add');
  expect(fitName('operator<<(a, b)', 16)).toBe('operator<<(a, b)');
  expect(fitName('demo::(anonymous namespace)::Stock::Checksum() const', 25)).toBe('demo::Stock::Checksum');
  expect(fitName('<r::work::P<u32> as core::ops::Fn<()>>::hot', 20)).toBe('r::work::P<u32>::hot');
  expect(fitName('<r::work::P<u32>>::hot', 10)).toBe('P::hot');
  expect(fitName('std::rt::lang_start::<fn() -> u8>::{closure#0}', 32)).toBe('std::rt::lang_start::{closure#0}');
  expect(fitName('<module>', 6)).toBe('<modu…');
  expect(fitName('x'.repeat(10_000), 20)).toHaveLength(20);
});

test('an exact pattern matches only its name', () => {
  for (const name of ['a.b', 'f(int)', 'operator[]', 'x|y', '<script>alert(1)</script>', 'a > b > > c']) {
    expect(new RegExp(exactly(name)).test(name)).toBe(true);
    expect(new RegExp(exactly(name)).test(name + 'x')).toBe(false);
    expect(lensSteps(joinLens(['hide:' + exactly(name), 'my-code']))).toEqual(['hide:' + exactly(name), 'my-code']);
  }
});

test('colours go by the package a name begins with, or by module', () => {
  const cases: [string, string, string][] = [
    ['a::b::c', 'libx.so', 'a'],
    ['void json::parse<int>(x::y)', 'app', 'json'],
    ['(anonymous namespace)::f(a::b)', 'app', 'app'],
    ['malloc', 'libc.so.6', 'libc.so.6'],
    ['github.com/a/b.F', 'demo', 'github.com/a/b'],
    ['fmt.(*pp).doPrint', 'demo', 'fmt'],
    ['runtime.main', 'demo', 'runtime'],
    ['com.acme.shop.cart.Cart.add', '', 'com.acme.shop'],
    ['libc.so.6+0x27304', 'libc.so.6', 'libc.so.6'],
    ['/usr/include/a.h', 'hot', 'hot'],
    ['main', '', ''],
    ['<r::work::P<u32> as core::ops::Fn<()>>::hot', 'app', 'r'],
    ['<&mut shop::Cart>::add', 'app', 'shop'],
    ['<[u8]>::copy_within', 'app', 'app'],
    ['<module>', 'x.py', 'x.py'],
  ];
  for (const [name, module, group] of cases) expect(groupOf(name, module), name).toBe(group);
});

test('steps without anything stored are gaps, what was measured to be 0 is not', () => {
  expect(withGaps([1, '0', 0, 0, 5], [[2, 2]])).toEqual([1, 0, null, null, 5]);
  expect(withGaps([1, 2])).toEqual([1, 2]);
  expect(trendOf([2e6, null, null, null, 0, 0], [1, 1, 1, 1, 1, 1], 1, 3)).toEqual([1, null, 0]);
  expect(trendOf([2e6, 4e6, 3e6, 3e6], [2, 1, 6, 0], 1, 2)).toEqual([2, 1]); // over what was seen of the steps
});

test('a timeline: what matches is beside the whole, and a gap where that is', () => {
  const series = {
    type: 'cpu',
    unit: 'nanoseconds',
    scale: 1,
    averaged: false,
    start_ms: 3000,
    step_ms: 1000,
    observed_ms: [1000, 1000, 1000, 1000, 0],
  };
  const group = (values: number[], gaps: [number, number][]) => ({ labels: {}, values, gaps });
  const one = linesOf({ ...series, groups: [group([4, 0, 8, 8, 0], [[4, 1]])], search: { values: [1, 0, '6', 0, 0] } });
  expect(one.lines[0].values).toEqual([4, 0, 8, 8, null]);
  expect(one.matched).toEqual([1, 0, 6, 0, null]);
  expect(matchedOf(one)).toEqual({ part: 7, whole: 20, most: { share: 0.75, at: 5000 } });
  const two = linesOf({ ...series, groups: [group([4, 0], [[1, 1]]), group([0, 3], [[0, 1]])] });
  expect(two.all).toEqual([4, 3]);
  expect(two.matched).toBeNull();
  expect(matchedOf(two)).toBeNull();
  expect(linesOf({ ...series, groups: [] })).toMatchObject({ lines: [], all: [], matched: null });
});

test('a timeline is per second that was seen: time without data is no idle time', () => {
  const series = {
    type: 'cpu',
    unit: 'nanoseconds',
    scale: 1,
    averaged: false,
    start_ms: 0,
    step_ms: 1000,
    observed_ms: [1000, 250, 1000, 0],
  };
  const half = linesOf({ ...series, groups: [{ labels: {}, values: [8, 2, 7, 0], gaps: [[3, 1]] }] });
  expect(half.fill).toEqual([1, 4, 1, 1]);
  expect(half.lines[0].values.map((v, i) => (v === null ? null : v * half.fill[i]))).toEqual([8, 8, 7, null]);
  expect(peakOf(linesOf({ ...series, groups: [{ labels: {}, values: [8, 3, 7, 0], gaps: [[3, 1]] }] }))).toEqual({
    value: 12,
    at: 1000,
  });
  const average = linesOf({
    ...series,
    averaged: true,
    groups: [{ labels: {}, values: [8, 2, 7, 0], gaps: [[3, 1]] }],
  });
  expect([average.fill, average.lines[0].values]).toEqual([
    [1, 1, 1, 1],
    [8, 2, 7, null],
  ]);
  expect(together([8, 2, null], 3, true, 0, [1000, 500, 0])).toEqual([6]); // averages count by the time they are over
});

test('steps are taken together where the sender is slower', () => {
  const _ = null;
  expect(stepsTogether([[_, _, 4, _, _, _, 5, _, _, _, 6, _]])).toBe(4);
  expect(stepsTogether([[0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6, 0]])).toBe(1); // it was idle
  expect(stepsTogether([[1, 2, 3]])).toBe(1);
  const twice = (run: (number | null)[]) => [
    ...run,
    ...run,
    ...run,
    ...run,
    ...Array<null>(40).fill(null),
    ...run,
    ...run,
    ...run,
    ...run,
  ];
  expect(stepsTogether([twice([4, _, _, _])])).toBe(4); // it was away for a while
  expect(stepsTogether([twice([1, _, _, _, 9, _, _, _])], 0, true)).toBe(4);
  expect(stepsTogether([twice([1, _, _, _, 9, _, _, _])])).toBeGreaterThan(4); // of sums the rhythm is hidden too
  expect(stepsTogether([[0, 0]])).toBe(1);
  // a value that crosses the end of a step counts in both
  expect(stepsTogether([[9, 9, 1, 9, 9, 1, 9, 9, 1, 9, 9, 1, 9]])).toBe(3);
  const hung = Array.from({ length: 60 }, (_, i) => (i === 30 ? 0 : 5));
  expect(stepsTogether([hung])).toBe(1); // it stood still for once
  expect(together([0, 0, 4, 0, 0, 0, 5, 0, 0], 4, false)).toEqual([4, 5, 0]);
  expect(together([null, 4, 6, null], 4, true)).toEqual([5]);
  expect(together([0, 4, 8, null], 4, true)).toEqual([4]); // 0 was measured
  expect(together([null, null, 1, 2], 2, false)).toEqual([null, 3]);
  expect(together([1, 1, 1, 1, 1], 3, false, 7)).toEqual([2, 3]); // steps 7 and 8; 9, 10 and 11
  expect(together([1, 1, 1, 1, 1], 3, false, 8)).toEqual([1, 3, 1]);
});

test('the last steps are left out while data still comes, and shown when none does', () => {
  const values = [[5, 5, 5, 2]];
  expect(settledSteps(values, 0, 10_000, 31_000, 40_000)).toBe(3);
  expect(settledSteps([[5, 5, 4, 2]], 0, 10_000, 25_000, 40_000)).toBe(2);
  // Still more than before, so it is no drop.
  expect(settledSteps([[5, 5, 5, 9]], 0, 10_000, 31_000, 40_000)).toBe(4);
  expect(settledSteps([[5, 5, 6, 2]], 0, 10_000, 25_000, 40_000)).toBe(3);
  expect(settledSteps(values, 0, 10_000, 31_000, 40_000, true)).toBe(4);
  expect(settledSteps(values, 0, 10_000, 31_000, 200_000)).toBe(4);
  expect(settledSteps([[0, 0, 0, 2]], 0, 10_000, 31_000, 40_000)).toBe(4);
  expect(settledSteps(values, 0, 10_000, undefined, 40_000)).toBe(4);
  expect(settledSteps([], 0, 10_000, 31_000, 40_000)).toBe(0);
});

test('a deploy is where another version takes over for good', () => {
  const changes = (v1: number[], v2: number[]) =>
    versionChanges(
      [
        { version: 'v1', values: v1 },
        { version: 'v2', values: v2 },
      ],
      1000,
      10,
    );
  expect(changes([5, 0, 5, 0, 0, 0, 0], [0, 0, 0, 0, 6, 0, 6])).toEqual([{ at: 1040, from: 'v1', to: 'v2' }]);
  expect(changes([5, 5, 1, 5, 5], [1, 1, 5, 1, 1])).toEqual([]);
  expect(changes([0], [0])).toEqual([]);
  // A small profile of v2 between two of v1, over two steps.
  expect(changes([50, 9, 0, 0, 50, 9, 0, 0], [0, 0, 1, 1, 0, 0, 60, 9])).toEqual([{ at: 1060, from: 'v1', to: 'v2' }]);
  const group = (version: string, values: number[]) => ({ labels: { 'service.version': version }, values });
  const series = {
    type: 'cpu',
    unit: 'nanoseconds',
    scale: 1,
    averaged: false,
    start_ms: 1000,
    step_ms: 10,
    observed_ms: [10, 10, 10, 10],
    groups: [group('v1', [5, 5, 1, 0]), group('v2', [0, 1, 5, 1])],
  };
  const markers = [{ at: 1020, from: 'v1', to: 'v2' }];
  expect([
    versionIn(series, markers, null),
    versionIn(series, markers, [1000, 1020]),
    versionIn(series, markers, [1015, 1040]),
    versionIn(series, [], null),
    versionIn(undefined, [], null),
  ]).toEqual(['v2', 'v1', 'v2', 'v1', '']);
});

test('a difference can be brought to the same scale', () => {
  const total = { before: 50, after: 100 };
  expect(factorOf('raw', { before: 1, after: 2 }, total)).toBe(1);
  expect(factorOf('rate', { before: 10, after: 30 }, total)).toBe(3);
  expect(factorOf('share', { before: 1, after: 1 }, total)).toBe(2);
  expect(factorOf('share', { before: 1, after: 1 }, { before: 0, after: 100 })).toBe(1);
  expect(factorOf('request', { before: 1, after: 1 }, total, { before: 10, after: 50 })).toBe(5);
  expect(factorOf('request', { before: 1, after: 1 }, total)).toBe(1);
  const row = (name: string, before: number, after: number) => ({
    name,
    module: '',
    self_before: before,
    self_after: after,
    total_before: before,
    total_after: after,
  });
  expect(changesOf([row('a', 10, 30), row('b', 20, 30)], 2).map((r) => [r.name, r.before, r.after])).toEqual([
    ['a', 20, 30],
    ['b', 40, 30],
  ]);
  expect(
    changesOf([row('same', 10, 30), row('rounded', 0.1, 0.3), row('moved', 10, 31)], 3).map((r) => r.name),
  ).toEqual(['moved']);
});

test('a difference is told in what it was brought to', () => {
  const measure = (mode: 'raw' | 'rate' | 'share') => ({ mode, seconds: 30, whole: 100e9 });
  expect([
    formatMeasured(25e9, 'nanoseconds', 1, measure('share')),
    formatMeasured(60e9, 'nanoseconds', 1, measure('rate')),
    formatMeasured(60e9, 'nanoseconds', 1, measure('raw')),
    formatMeasured(5, 'count', 1),
  ]).toEqual(['25.0 %', '2.00 s per s', '1.00 min', '5']);
  expect([
    formatMoved(5e9, 'nanoseconds', 1, measure('share')),
    formatMoved(30e9, 'nanoseconds', 1, measure('rate')),
  ]).toEqual(['5.0 points', '1.00 s per s']);
});

test('which services of a trace have profiles', () => {
  const { rows } = waterfall({
    ...trace([
      ['a', '', 0],
      ['b', 'a', 1],
      ['c', 'a', 2],
    ]),
    strings: ['shop', 'op', 'bank'],
    service: [0, 2, 0],
  });
  expect(profiledServices(rows, { a: 5, b: 0, c: 7 })).toEqual(['shop']);
  expect(profiledServices(rows, { a: 5, b: 1 })).toEqual(['shop', 'bank']);
  expect(profiledServices(rows, {})).toEqual([]);
});

type SpanText = [id: string, parent: string, start: number];
function trace(spans: SpanText[]): TraceColumns {
  const places = new Map(spans.map(([id], i) => [id, i]));
  return {
    trace: 't',
    start_ns: '1700000000000000000',
    strings: ['s', 'op'],
    span: spans.map(([id]) => id),
    parent: spans.map(([, p]) => (p === '' ? -1 : (places.get(p) ?? -2))),
    service: spans.map(() => 0),
    name: spans.map(() => 1),
    status: spans.map(([id]) => (id === 'b' ? 2 : 0)),
    start: spans.map(([, , start]) => start),
    duration: spans.map(() => 10),
  };
}

test('a waterfall has every span once, whatever the parents say', () => {
  const { rows, errors, services } = waterfall(
    trace([
      ['c', 'a', 5],
      ['a', '', 0],
      ['b', 'a', 3],
      ['lost', 'nobody', 9],
      ['x', 'y', 1],
      ['y', 'x', 2],
      ['z', 'z', 4],
    ]),
  );
  expect(rows.map((r) => [r.id, r.depth, r.descendants])).toEqual([
    ['a', 0, 2],
    ['b', 1, 0],
    ['c', 1, 0],
    ['z', 0, 0],
    ['lost', 0, 0],
    ['x', 0, 1],
    ['y', 1, 0],
  ]);
  expect(rows.filter((r) => r.orphan).map((r) => r.id)).toEqual(['lost']);
  expect([errors, services]).toEqual([1, 1]);
  expect(visibleRows(rows, new Set(['a'])).map((r) => r.id)).toEqual(['a', 'z', 'lost', 'x', 'y']);
  expect(
    [
      trace([
        ['a', '', 0],
        ['b', 'a', 1],
      ]),
      trace([
        ['b', 'a', 1],
        ['c', 'b', 2],
      ]),
      undefined,
    ].map((t) => waterfall(t).rootless),
  ).toEqual([false, true, false]);
});

test('100,000 spans are laid out, in a chain or side by side', () => {
  const chain = waterfall(
    trace(Array.from({ length: 100_000 }, (_, i): SpanText => [String(i), i === 0 ? '' : String(i - 1), i])),
  );
  expect(chain.rows[99_999].depth).toBe(99_999);
  const fan = waterfall(
    trace(Array.from({ length: 100_000 }, (_, i): SpanText => [String(i), i === 0 ? '' : '0', -i])),
  );
  expect([fan.rows[0].descendants, fan.rows[1].id]).toEqual([99_999, '99999']);
});

test('lines of a file and their place in a repository', () => {
  const listed = (name: string, lines: [number, number, number][]) => ({
    name,
    module: '',
    file: 'a.cc',
    start_line: 1,
    self: 0,
    total: 0,
    lines,
  });
  const costs = costsOf([
    listed('f', [
      [3, 1, 9],
      [4, 5, 5],
    ]),
    listed('g', [
      [4, 2, 2],
      [0, 50, 50],
    ]),
  ]);
  expect([...costs]).toEqual([
    [3, { self: 1, total: 9 }],
    [4, { self: 7, total: 7 }],
    [0, { self: 50, total: 50 }],
  ]);
  expect(hottestLine(costs)).toBe(3);
  expect(hottestLine(new Map())).toBe(0);
  // A call with a large total against a line with a small self value.
  expect(
    hottestLine(
      new Map([
        [106, { self: 7, total: 7 }],
        [112, { self: 0, total: 790 }],
      ]),
    ),
  ).toBe(112);
  expect(
    hottestLine(
      new Map([
        [1, { self: 0, total: 50 }],
        [2, { self: 50, total: 50 }],
        [0, { self: 90, total: 90 }],
      ]),
    ),
  ).toBe(2); // of equal ones what it did itself
  const template = 'https://host/{service}/blob/{version}/{path}#L{line}';
  expect(repositoryLink(template, { service: 'shop', version: 'v2', path: 'src/a b.cc', line: 7 })).toBe(
    'https://host/shop/blob/v2/src/a%20b.cc#L7',
  );
  expect(repositoryLink(template, { service: 'a"b', version: '', path: '/x/../{line}', line: 7 })).toBe(
    'https://host/a%22b/blob/HEAD/%7Bline%7D#L7',
  );
  expect(
    repositoryLink(template, { service: 'shop', version: '../..', path: 'src/../../../.././secret.cc', line: 7 }),
  ).toBe('https://host/shop/blob/HEAD/secret.cc#L7');
});

test('presets set both sides', () => {
  expect(withLabel('shop', 'version', 'v"1')).toBe('shop{version="v\\"1"}');
  expect(withLabel('{service_name="a,b", version=~"x", host!="h"}', 'version', 'v2')).toBe(
    '{service_name="a,b", host!="h", version="v2"}',
  );
  expect(withLabel('shop{}', 'v', '1')).toBe('shop{v="1"}');
  expect(withoutLabel('{service.version="v1", service_name="a,}"}', 'service.version')).toBe('{service_name="a,}"}');
  expect(withoutLabel('shop', 'service.version')).toBe('shop');
  expect([
    valueIn('host="a,b", service.version = "v\\"2"', 'service.version'),
    valueIn('service.version=~"v.*"', 'service.version'),
    valueIn('service.version!="v2"', 'service.version'),
  ]).toEqual(['v"2', '', '']);
  const state = {
    since: '1h',
    from: null,
    to: null,
    query: 'shop',
    baseQuery: '',
    baseFrom: null,
    baseTo: null,
    type: '',
    lens: '',
    mode: 'raw' as const,
    search: '',
    plain: false,
    mark: '',
    zoom: '',
    frame: '',
  };
  expect(dayBefore(state, 1e9)).toMatchObject({
    from: 1e9 - 3600e3,
    to: 1e9,
    baseFrom: 1e9 - 3600e3 - 86400e3,
    baseTo: 1e9 - 86400e3,
  });
  expect(justBefore({ ...state, from: 100, to: 150 }, 0)).toMatchObject({
    from: 100,
    to: 150,
    baseFrom: 50,
    baseTo: 100,
  });
  expect(swapped(state, 1e9)).toMatchObject({
    from: 1e9 - 7200e3,
    to: 1e9 - 3600e3,
    baseFrom: 1e9 - 3600e3,
    baseTo: 1e9,
  });
  expect(swapped({ ...state, baseQuery: 'old' }, 1e9)).toMatchObject({
    query: 'old',
    baseQuery: 'shop',
    from: null,
    to: null,
    baseFrom: null,
  });
  const fixed = { ...state, baseQuery: 'shop', from: 5, to: 9, baseFrom: 1, baseTo: 3 };
  expect(swapped(fixed, 0)).toMatchObject({ from: 1, to: 3, baseFrom: 5, baseTo: 9 });
  expect(valueAgainst(state, 'host', 'a', 'b')).toMatchObject({
    query: 'shop{host="b"}',
    baseQuery: 'shop{host="a"}',
    baseFrom: null,
    mode: 'share',
  });
});

test('a saved file holds everything and nothing gets out of its place', () => {
  const hostile = columns([
    [0, 'total', '', 0, 0],
    [1, '</script><script>alert(1)</script>', '<!--', 5, 1],
  ]);
  const html = standaloneHtml(
    {
      title: '<b>"x"',
      note: 'n',
      about: { title: 'x', facts: [['Lens', '</script>']], address: '/s/x' },
      columns: hostile,
    },
    'run("</script>")',
    'a{}',
  );
  expect(html.match(/<\/script>/g)!.length).toBe(2);
  expect(html).toContain('<title>&lt;b>&quot;x&quot;</title>');
  expect(html).not.toMatch(/(src|href)="(?!data:,)/);
  const data = /id="data">(.*)<\/script>/.exec(html)![1];
  expect(readSaved(data).about.facts).toEqual([['Lens', '</script>']]);
  expect(readSaved(data).columns).toEqual({ ...hostile, before: undefined, beforeCount: undefined });
});

test('a call tree shows what is open', () => {
  const tree = buildTree(columns(SHOP));
  const names = (nodes: number[]) => nodes.map((i) => tree.functions[tree.func[i]].name);
  expect(names(openRows(tree, new Set()))).toEqual(['main']);
  expect(names(openRows(tree, new Set([1])))).toEqual(['main', 'pay', 'cart']);
  const deep = [...tree.func.keys()].find((i) => tree.depth[i] === 4)!;
  expect(names(openRows(tree, opened(tree, deep, new Set())))).toEqual([
    'main',
    'pay',
    'parse',
    'parse',
    'other',
    'cart',
  ]);
  expect(names(hotChain(tree, 0))).toEqual(['total', 'main', 'pay']);
});

test('a heat map has every cell, single ones included', () => {
  const rects: number[][] = [];
  const heat = {
    steps: 10,
    rows: 5,
    cells: [
      [0, 0, 1],
      [9, 4, 10_000],
      [20, 1, 3],
    ] as [number, number, number][],
  };
  expect(
    drawHeat(
      {
        fillRect: (...r: number[]) => {
          rects.push(r);
        },
        fillStyle: '',
      },
      heat,
      { width: 100, height: 50 },
      { background: '#fff', shades: Array(8).fill('#000'), matched: [] },
    ),
  ).toBe(2);
  expect(rects.slice(1)).toEqual([
    [0, 40, 9, 9],
    [90, 0, 9, 9],
  ]);
  expect([shadeOf(0, 9), shadeOf(1, 10_000), shadeOf(9, 9)]).toEqual([-1, 0, 7]);
});

test('a scale by powers of ten where values differ much', () => {
  expect(scaleOf(80, 740).ticks).toEqual([0, 370, 740]);
  const { share, ticks } = scaleOf(8e7, 6e10);
  expect(ticks).toEqual([1e7, 1e8, 1e9, 1e10, 1e11]);
  expect([share(1e7), share(1e9), share(1e11), share(0)]).toEqual([0, 0.5, 1, 0]);
});

test('an id or a traceparent header is a trace to jump to', () => {
  const id = '0102030405060708090a0b0c0d0e0f10';
  expect(traceIn(` ${id.toUpperCase()} `)).toEqual([{ name: id, kind: 'trace', href: `/traces/${id}?scope=critical` }]);
  expect(traceIn(`00-${id}-1112131415161718-01`)[0].href).toBe(`/traces/${id}?span=1112131415161718`);
  expect(traceIn('checkout')).toEqual([]);
});

test('a search leaves a call tree its matches, what leads to them and what they called', () => {
  const tree = buildTree(columns(SHOP), 'name'); // main > (cart > parse), (pay > parse > parse, other)
  const cart = matchedRows(tree, [2]);
  expect(openRows(tree, cart.open, cart.kept)).toEqual([1, 2]);
  expect(openRows(tree, new Set([...cart.open, 2]), cart.kept)).toEqual([1, 2, 3]);
  const parse = matchedRows(tree, [3, 5, 6]);
  expect(openRows(tree, parse.open, parse.kept)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(openRows(tree, new Set([1]), matchedRows(tree, []).kept)).toEqual([]);
});

test('a service against itself: before it, or against a baseline per second', () => {
  const state = { ...newService('shop', { since: '1h', from: null, to: null }), type: 'cpu', lens: 'my-code' };
  expect(againstItself(state, 'q')).toMatchObject({
    since: '1h',
    from: null,
    to: null,
    baseFrom: null,
    baseTo: null,
    query: 'q',
    baseQuery: 'q',
    type: 'cpu',
    lens: 'my-code',
    mode: 'raw',
  });
  expect(againstItself({ ...state, from: 100, to: 200 }, 'q')).toMatchObject({
    from: 100,
    to: 200,
    baseFrom: 0,
    baseTo: 100,
  });
  expect(againstItself({ ...state, from: 100, to: 200, sel: [150, 160] }, 'q')).toMatchObject({
    from: 150,
    to: 160,
    baseFrom: 140,
    baseTo: 150,
  });
  expect(againstItself({ ...state, sel: [150, 160] }, 'q', [10, 90])).toMatchObject({
    from: 150,
    to: 160,
    baseFrom: 10,
    baseTo: 90,
    mode: 'rate',
  });
  expect(againstItself(state, 'q', [10, 90])).toMatchObject({
    since: '1h',
    from: null,
    baseFrom: 10,
    baseTo: 90,
    mode: 'rate',
  });
});

test('the window before and after', () => {
  const state = newService('shop', { since: '1h', from: null, to: null });
  const hour = 3600e3;
  expect(windowBeside(state, -1, 10 * hour)).toEqual({ from: 8 * hour, to: 9 * hour, live: false });
  expect(windowBeside(state, 1, 10 * hour)).toMatch(/after now/);
  expect(windowBeside({ ...state, from: hour, to: 3 * hour }, 1, 10 * hour)).toEqual({
    from: 3 * hour,
    to: 5 * hour,
    live: false,
  });
  expect(windowBeside({ ...state, from: 8.9 * hour, to: 9.9 * hour }, 1, 10 * hour)).toEqual({ from: null, to: null });
  const part = { ...state, from: 0, to: 100, sel: [40, 60] as [number, number] };
  expect([windowBeside(part, 1, hour), windowBeside({ ...part, sel: [80, 100] }, 1, hour)]).toEqual([
    { sel: [60, 80] },
    'The timeline ends there.',
  ]);
});

test('the one service a selector is about', () => {
  expect(serviceIn('shop')).toEqual({ service: 'shop', q: '' });
  expect(serviceIn('shop{a="b"}')).toEqual({ service: 'shop', q: 'a="b"' });
  expect(serviceIn('{service_name="a\\"b", x=~"y,z"}')).toEqual({ service: 'a"b', q: 'x=~"y,z"' });
  expect([serviceIn('{x="y"}'), serviceIn('{service_name=~"a|b"}'), serviceIn('')]).toEqual([null, null, null]);
});

test('a legend has each colour once, by what was done in it', () => {
  const groups = groupsOf(buildTree(columns(SHOP), 'weight'));
  expect(groups.map((g) => [g.name, g.self, g.functions.size])).toEqual([
    ['json', 65, 1],
    ['app', 40, 3],
  ]);
});

test('names of strings are those that people write', () => {
  const long = 'std::char_traits<char>, std::allocator<char> >';
  expect(fitName(`demo::Json::operator[](std::__cxx11::basic_string<char, ${long} const&) const`, 200)).toBe(
    'demo::Json::operator[](std::string const&) const',
  );
  expect(fitName('f(std::basic_string_view<char, std::char_traits<char> >)', 60)).toBe('f(std::string_view)');
  expect(fitName('std::__1::basic_string<wchar_t>::append', 60)).toBe('std::wstring::append');
  expect(fitName(`std::__cxx11::basic_string<char, ${long}::_M_mutate`, 24)).toBe('std::string::_M_mutate');
  expect(fitName('std::basic_string<char, my_traits>::f', 60)).toBe('std::basic_string<char, my_traits>::f');
});

test('an operator keeps its name, not a part of its parameters', () => {
  const long = 'std::less<std::string>::operator()(std::string const&, std::string const&) const';
  expect(fitName(long, 40)).toBe('std::less::operator()');
  expect(fitName(long, 18)).toBe('less::operator()');
  expect(fitName(long, 12)).toBe('operator()');
  expect(fitName('demo::Json::operator[](std::string const&) const', 20)).toBe('Json::operator[]');
  expect(fitName('bool shop::operator<(shop::Item const&, shop::Item const&)', 30)).toBe('bool shop::operator<');
  expect(fitName('operator new(unsigned long)', 12)).toBe('operator new');
  expect(fitName('shop::cooperator::run(std::string const&)', 26)).toBe('shop::cooperator::run');
});
