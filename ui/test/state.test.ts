// decode(encode(x)) = x, for values a person or a hostile link could put there.
import { expect, test } from 'vitest';
import { fieldProblems, readFields, writeFields } from '../src/core/fields';
import {
  addStep,
  decodeDiff,
  decodeFiles,
  decodeOverview,
  decodeService,
  decodeTrace,
  decodeTraces,
  encodeDiff,
  encodeFiles,
  encodeOverview,
  encodeService,
  encodeTrace,
  encodeTraces,
  lensSteps,
  newService,
  newTrace,
  ownRules,
  selectorOf,
  withoutOwn,
  addressProblem,
  PAGES,
} from '../src/core/state';
import old from './addresses.json';

const TEXTS = [
  '',
  'a',
  'a b&c=d',
  '../x',
  'héé',
  '<script>alert(1)</script>',
  '\u202eabc',
  '"quoted\\',
  '100%',
  'a/b?c#d',
  '+',
  ' > ',
];
const url = (text: string) => new URL(text, 'http://h');

test('service addresses come back', () => {
  for (const text of [...TEXTS, '.', '..', '-', '...']) {
    const state = {
      service: text,
      since: '6h',
      from: null,
      to: null,
      type: text,
      q: text,
      by: text,
      sel: [5, 9] as [number, number],
      lens: text,
      view: 'sandwich' as const,
      fn: text,
      mod: text,
      line: 7,
      upzoom: '',
      upframe: '0123456789abcdef',
      search: text,
      plain: true,
      mark: text,
      zoom: '0123456789abcdef',
      frame: '',
      order: 'name' as const,
      flip: true,
      live: true,
      sort: 'total' as const,
      seensort: 'duration' as const,
    };
    expect(decodeService(url(encodeService(state)))).toEqual(state);
  }
});

test('the others come back', () => {
  for (const text of TEXTS) {
    const diff = {
      since: '1h',
      from: 1e12,
      to: 2e12,
      query: text,
      baseQuery: text,
      baseFrom: 3,
      baseTo: 4,
      type: text,
      lens: text,
      mode: 'share' as const,
      search: text,
      plain: true,
      mark: text,
      zoom: '',
      frame: '00000000000000fe',
    };
    expect(decodeDiff(url(encodeDiff(diff)))).toEqual(diff);
    const traces = {
      since: '1h',
      from: null,
      to: null,
      service: text,
      name: text,
      min: text,
      max: text,
      status: text,
      attribute: text,
      box: [1763200000000, 1763200060000, 0, 1_250_000] as [number, number, number, number],
      sort: 'duration' as const,
    };
    expect(decodeTraces(url(encodeTraces(traces)))).toEqual(traces);
    const overview = { since: '2d', from: null, to: null, search: text, show: 'new' as const, sort: 'p99' as const };
    expect(decodeOverview(url(encodeOverview(overview)))).toEqual(overview);
    const trace = {
      trace: text || 'x',
      span: '00000000000000ff',
      subtree: true,
      scope: 'critical' as const,
      type: text,
      lens: text,
      simzoom: '',
      simframe: '00000000000000fd',
      zoom: '',
      frame: '00000000000000fe',
      search: text,
      plain: true,
      mark: text,
    };
    expect(decodeTrace(url(encodeTrace(trace)))).toEqual(trace);
    const files = {
      file: text,
      base: text,
      mode: 'rate' as const,
      type: text,
      lens: text,
      zoom: '',
      frame: '00000000000000fe',
      search: text,
      plain: true,
      mark: text,
    };
    expect(decodeFiles(url(encodeFiles(files)))).toEqual(files);
  }
});

test('nonsense becomes the default', () => {
  expect(decodeService(url('/s/x?since=abc&from=9&to=3&sel=9-3&view=x&zoom=12'))).toMatchObject({
    since: '1h',
    from: null,
    to: null,
    sel: null,
    view: 'flame',
    zoom: '',
  });
  expect(decodeService(url('/s/%E0%A4%A')).service).toBe('%E0%A4%A');
});

test('a function without a module is another than one of any', () => {
  for (const mod of ['', 'libc.so.6', null])
    expect(
      decodeService(url(encodeService({ ...newService('x', { since: '1h', from: null, to: null }), fn: 'f', mod })))
        .mod,
    ).toBe(mod);
  expect(decodeService(url('/s/x?fn=f')).mod).toBe(null);
});

test('times of an address may be in any unit, and it is said when they are none', () => {
  const range = (from: string, to: string) => {
    const { from: a, to: b } = decodeService(url(`/s/x?from=${from}&to=${to}`));
    return [a, b];
  };
  const ms = [1763200000000, 1763203600000];
  for (const unit of ['', '000', '000000']) expect(range(ms[0] + unit, ms[1] + unit)).toEqual(ms);
  expect(range('1763200000', '1763203600')).toEqual(ms);
  expect(range('99999999999999', '999999999999999')).toEqual([null, null]);
  const problem = (query: string) => addressProblem(url('/traces?' + query));
  expect(problem('from=99999999999999&to=1763203600000')).toMatch(
    /^“from” in this page's address, 99999999999999, is not a time/,
  );
  expect(problem('from=1&to=x')).toMatch(/^“to” .* x, is not a time/);
  expect(problem('from=1763200000')).toMatch(/^“to” is missing/);
  expect(problem('from=9&to=3')).toMatch(/not before “to”/);
  expect(problem('base_from=x&base_to=3')).toMatch(/^“base_from”/);
  expect([problem(''), problem('since=1h'), problem('from=1&to=2')]).toEqual(['', '', '']);
});

test('what an address has and the page does not know is said', () => {
  const problem = (address: string) => addressProblem(url(address));
  expect(problem('/s/x?view=zzz')).toBe(
    "“view” in this page's address, zzz, is not one of flame, table, tree, sandwich, heat, source, traces. " +
      'It is ignored.',
  );
  expect(problem('/s/x?sel=xx')).toMatch(/^“sel” .* xx, is not a part of the timeline/);
  expect(problem('/s/x?sel=9-3')).toMatch(/^“sel”/);
  expect(problem('/s/x?since=abc&zoom=12&live=yes')).toMatch(/“since” .*“zoom” .*“live” .* is not 1\./);
  expect(
    [
      problem('/diff?mode=zzz'),
      problem('/adhoc?mode=zzz'),
      problem('/traces?sort=zzz'),
      problem('/traces/00?span=zzz'),
    ].every((t) => t.includes(', zzz, is not ')),
  ).toBe(true);
  for (const fine of [
    '/s/x?view=heat&sel=3-9&line=7&live=1&zoom=0123456789abcdef&plain=1',
    '/diff?mode=share',
    '/traces?sort=cpu&status=ok',
    '/traces/00?span=0123456789abcdef&subtree=1',
    '/s/x?view=',
    '/status?view=zzz',
  ])
    expect(problem(fine)).toBe('');
});

test('selectors quote what they are given', () => {
  expect(selectorOf('a"b\\c', 'version="v2", ')).toBe('{service_name="a\\"b\\\\c", version="v2"}');
  expect(lensSteps('hide:a > my-code')).toEqual(['hide:a', 'my-code']);
  expect([addStep('', 'invert'), addStep('hide:a > invert', 'invert'), addStep('invert > hide:a', 'invert')]).toEqual([
    'invert',
    'hide:a',
    'invert > hide:a > invert',
  ]);
});

const PAGE = {
  overview: [decodeOverview, encodeOverview],
  service: [decodeService, encodeService],
  diff: [decodeDiff, encodeDiff],
  files: [decodeFiles, encodeFiles],
  traces: [decodeTraces, encodeTraces],
  trace: [decodeTrace, encodeTrace],
} as unknown as Record<string, [(url: URL) => object, (state: object) => string]>;

test('own code is found behind all steps but those that invert', () => {
  expect(addStep('', 'own')).toBe('own');
  expect(addStep('own', 'hide:a')).toBe('hide:a > own');
  expect(addStep('hide:a > invert', 'own')).toBe('hide:a > own > invert');
  expect(addStep('own', 'invert')).toBe('own > invert');
  expect(addStep('own > invert', 'hide:a')).toBe('hide:a > own > invert');
  expect(addStep('invert', 'hide:a')).toBe('invert > hide:a');
  expect(addStep('hide:a > own:+^x', 'own')).toBe('hide:a');
  expect(addStep('own', 'own:+^acme::')).toBe('own:+^acme::');
  expect([ownRules('hide:a'), ownRules('own'), ownRules('hide:a > own:+x -y')]).toEqual([null, '', '+x -y']);
  expect(withoutOwn('hide:a > own:+x > invert')).toBe('hide:a > invert');
});

test('new pages of services carry own code, new pages of traces the critical path', () => {
  const time = { since: '1h', from: null, to: null };
  expect(encodeService(newService('shop', time))).toBe('/s/shop?lens=own');
  expect(encodeTrace(newTrace('ab'))).toBe('/traces/ab?scope=critical');
  expect(encodeTrace(newTrace('ab', { span: '00000000000000ff' }))).toBe('/traces/ab?span=00000000000000ff');
});

const sentences = (said: string) => said.split(/ (?=“\w+” in)/).sort();

// Recorded from the code that had an encoder and a decoder for each page: old bookmarks must keep working. The wording
// of `problem` follows the page.
test('addresses of old mean what they meant', () => {
  const { defaults, addresses } = old;
  for (const { page, address, differs, again, problem } of addresses) {
    const [decode, encode] = PAGE[page];
    const state = decode(url(address));
    expect(state, address).toEqual({ ...defaults[page as keyof typeof defaults], ...differs });
    expect(encode(state), address).toBe(again);
    expect(sentences(addressProblem(url(address))), address).toEqual(sentences(problem));
  }
});

// Tries many texts on every field; what a field accepts is a valid value.
test('every field comes back, whatever value it takes', () => {
  let seed = 7;
  const random = (n: number) => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    return seed % n;
  };
  const odd = [...'aZ09 &=?#/+%\\"\'<>{}[];,.-_~\n\t\0é€😀\u202e'];
  const anyText = () => Array.from({ length: random(12) }, () => odd[random(odd.length)]).join('');
  const hex = () => Array.from({ length: 16 }, () => random(16).toString(16)).join('');
  const anything = () => [
    anyText(),
    hex(),
    '1',
    String(random(1e9)),
    `${random(1e6)}-${random(1e9)}`,
    `${random(1e6)}-${1e6 + random(1e9)}-${random(1e6)}-${1e6 + random(1e9)}`,
    `${random(90)}m`,
  ];
  for (const { fields } of PAGES) {
    const values = Object.entries(fields).map(([key, field]) => {
      const words = field.wanted?.startsWith('one of ') ? field.wanted.slice(7).split(', ') : [];
      const texts = [...words, ...Array.from({ length: 40 }, anything).flat()];
      const taken = texts.map(field.read).filter((v) => v !== undefined);
      expect(new Set(taken).size, key).toBeGreaterThan(field.wanted === '1' ? 0 : 1);
      return [key, [field.initial, ...taken]] as const;
    });
    for (let round = 0; round < 300; round++) {
      const state = Object.fromEntries(values.map(([key, all]) => [key, all[random(all.length)]]));
      for (const [from, to] of [
        ['from', 'to'],
        ['baseFrom', 'baseTo'],
      ])
        if (state[from] === null || state[to] === null || state[from] >= state[to]) {
          if (from in state) state[from] = state[to] = null;
        }
      const query = writeFields(fields, state);
      expect(readFields(fields, new URLSearchParams(query)), query).toEqual(state);
      expect(fieldProblems(fields, new URLSearchParams(query)), query).toBe('');
    }
  }
});
