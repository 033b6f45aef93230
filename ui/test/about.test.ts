import { expect, test } from 'vitest';
import { aboutDiff, aboutFiles, aboutService, aboutTrace, headingOf, lensInWords } from '../src/core/about';
import { decodeDiff, decodeService, newService } from '../src/core/state';
import { buildTree } from '../src/core/tree';
import { announcementOf, incidentText, numbersOf } from '../src/parts/describe';
import { columns, SHOP } from './sample';

const AT = Date.UTC(2026, 0, 2, 15, 0, 0);
const SERVER = 'http://wherefore:4040';
const DIFF = {
  since: '1h',
  from: null,
  to: null,
  query: '{service_name="shop"}',
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

test('an incident note says the absolute time, the filter and the lens, and its link is pinned', () => {
  const state = {
    ...newService('shop', { since: '1h', from: null, to: null }),
    q: 'host="a`b"',
    lens: 'hide:^std:: > my-code',
    live: true,
    frame: '0123456789abcdef',
  };
  const about = aboutService(state, 'cpu', AT, SERVER);
  const text = incidentText(buildTree(columns(SHOP)), 1, about);
  expect(text).toContain('- Time: `2026-01-02 14:00:00Z to 2026-01-02 15:00:00Z (UTC)`');
  expect(text).toContain('- Filter: `` host="a`b" ``');
  expect(text).toContain(
    '- Lens: `without the functions ^std:: (hide), then without language runtime, C library and kernel (my-code)`',
  );
  expect(text).toContain('- Type: `cpu`');
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(10);
  expect(text).toMatch(/^- Path: `/m);
  const link = /<(.*)>/.exec(text)![1];
  expect(link).not.toContain('since=');
  expect(decodeService(new URL(link))).toEqual({ ...state, type: 'cpu', from: AT - 3600e3, to: AT, live: false });
  expect(headingOf(about)).toBe('shop cpu, 2026-01-02 14:00:00Z to 2026-01-02 15:00:00Z (UTC)');
});

test('a part of the timeline is what a note is about', () => {
  const about = aboutService(
    { ...newService('shop', { since: '1h', from: null, to: null }), sel: [AT - 60e3, AT - 30e3] },
    'cpu',
    AT,
    SERVER,
  );
  expect(about.facts).toContainEqual(['Time', '2026-01-02 14:59:00Z to 2026-01-02 14:59:30Z (UTC)']);
  expect(decodeService(new URL(about.address)).sel).toEqual([AT - 60e3, AT - 30e3]);
});

test('of a difference both sides are named with their times, and which number is which', () => {
  const shop = columns(SHOP);
  const tree = buildTree({ ...shop, before: shop.self.map((v) => 2 * v) });
  const about = aboutDiff(DIFF, 'cpu', 'raw', AT, SERVER);
  const text = incidentText(tree, 1, about);
  expect(text).toContain(
    '- A, before: the number left of →: `{service_name="shop"}, 2026-01-02 13:00:00Z to 2026-01-02 14:00:00Z (UTC)`',
  );
  expect(text).toContain(
    '- B, after: the number right of →: `{service_name="shop"}, 2026-01-02 14:00:00Z to 2026-01-02 15:00:00Z (UTC)`',
  );
  expect(decodeDiff(new URL(about.address))).toMatchObject({
    from: AT - 3600e3,
    to: AT,
    baseFrom: AT - 7200e3,
    baseTo: AT - 3600e3,
    type: 'cpu',
  });
  expect(about.address).not.toContain('since=');
  const versions = aboutDiff({ ...DIFF, baseQuery: 'old' }, 'cpu', 'share', AT, SERVER);
  expect(versions.facts[0][1]).toBe('old, 2026-01-02 14:00:00Z to 2026-01-02 15:00:00Z (UTC)');
  expect(decodeDiff(new URL(versions.address)).mode).toBe('share');
});

test('a trace and files say what they are', () => {
  expect(
    aboutTrace(
      {
        trace: 'ab',
        span: '',
        subtree: false,
        scope: 'samples' as const,
        type: '',
        lens: '',
        zoom: '',
        frame: '',
        simzoom: '',
        simframe: '',
        search: '',
        plain: false,
        mark: '',
      },
      '',
      'cpu',
      [AT, AT + 500],
      SERVER,
    ),
  ).toMatchObject({ title: 'trace ab', address: SERVER + '/traces/ab?type=cpu' });
  const files = {
    file: 'b',
    base: 'a',
    mode: 'raw' as const,
    type: '',
    lens: '',
    zoom: '',
    frame: '',
    search: '',
    plain: false,
    mark: '',
  };
  expect(
    aboutFiles(files, 'cpu', 'raw', SERVER)
      .facts.slice(0, 2)
      .map(([, name]) => name),
  ).toEqual(['a', 'b']);
  expect([lensInWords(''), lensInWords('focus:a:b')]).toEqual(['none', 'only stacks with a:b (focus)']);
});

test('what is announced has the error that is seen', () => {
  const tree = buildTree(
    columns([
      [0, 'total', '', 0, 0],
      [1, 'rare', '', 6, 6],
      [1, 'rest', '', 99_994, 99_994],
    ]),
  );
  const rare = [...tree.func.keys()].find((i) => tree.functions[tree.func[i]].name === 'rare')!;
  expect(numbersOf(tree, rare)).toContain('±\u00a00.007');
  expect(announcementOf(tree, rare)).toContain('0.006 percent plus or minus 0.007,');
});
