// Files: how many, under which time they are kept, how a refusal reads, pictures as SVG.
import { expect, test } from 'vitest';
import { chosen, remember, remembered } from '../src/core/files';
import { defaultTime, refusal } from '../src/core/keep';
import { LIGHT } from '../src/core/palette';
import { buildTree } from '../src/core/tree';
import { drawFlame } from '../src/draw/flame';
import { SvgContext } from '../src/draw/svg';
import { columns } from './sample';

const file = (name: string, text: string, lastModified = 1) => new File([text], name, { lastModified });

test('one file is looked at, two are before and after, three get a sentence', () => {
  const [a, b, c] = [file('a', '1'), file('b', '2'), file('c', '3')];
  expect(chosen([])).toBeNull();
  expect(chosen([a])).toEqual({ base: null, file: a });
  expect(chosen([a, b])).toEqual({ base: a, file: b });
  expect(chosen([a, b, c])).toMatch(/^These are 3 files/);
});

test('files of one name stay apart, the same one is found again', () => {
  const [first, second] = [file('p.pb.gz', '1'), file('p.pb.gz', '22', 2)];
  expect([remember(first), remember(second), remember(first)]).toEqual(['p.pb.gz', 'p.pb.gz (2)', 'p.pb.gz']);
  expect(remembered('p.pb.gz (2)')).toBe(second);
  expect(remembered('elsewhere')).toBeUndefined();
});

test('a file is kept under its own time unless that is unknown or would not last', () => {
  const facts = (time_ms?: number) => ({ time_ms, services: [], can_be_kept: true });
  expect(defaultTime(facts(), 0, 1e12).time).toBe('now');
  expect(defaultTime(facts(5e11), 0, 1e12).time).toBe('own');
  expect(defaultTime(facts(5e11), 1e6, 1e12)).toMatchObject({
    time: 'now',
    why: expect.stringContaining('removed at once'),
  });
});

test('what the server refused is read out of its answer', () => {
  const message = new TextEncoder().encode('profile[0]: time in the future');
  const part = [0x08, 0x12, 0x12, message.length, ...message];
  expect(refusal(Uint8Array.from([0x0a, part.length, ...part]))).toBe('profile[0]: time in the future');
  expect(refusal(new Uint8Array())).toBe('');
});

test('what is drawn leaves as SVG, names as text only', () => {
  const tree = buildTree(
    columns([
      [0, 'total', '', 0, 0],
      [1, '<script>&"', 'app', 10, 1],
    ]),
  );
  const g = new SvgContext();
  drawFlame(
    g,
    tree,
    { from: 0, to: 10, top: 0, width: 400, height: 60, row: 20, minWidth: 0.5, flip: false, zoom: 0 },
    LIGHT,
    7,
  );
  const text = g.text(400, 60, 'a < b');
  expect(text).toContain('&lt;script&gt;&amp;&quot;</text>');
  expect(text).toContain('<title>a &lt; b</title>');
  expect(text).not.toContain('<script');
  expect(text.match(/<rect/g)!.length).toBe(3);
});
