// The search: any text, in every view, over everything stored.
import assert from 'node:assert/strict';
import { ALL, api, box, CHECKOUT, drawn, flame, newest, PAGE, step } from './browser.mjs';

export async function searches(page) {
  step('search: a pattern without end does not stop the page, what is no pattern is plain text in every view');
  await page.goto(
    `${PAGE}/s/${encodeURIComponent('hostile <b>&amp;</b>/service')}?search=${encodeURIComponent('(x+)+y$')}`,
  );
  await drawn(page, 'the graph', () => window.__wherefore?.flame?.count === 10);
  await page.locator('.matched', { hasText: '0 frames' }).waitFor();
  await page.getByLabel('Search').fill('(');
  await page.locator('.matched', { hasText: 'not a regular expression' }).waitFor();
  await page.goto(`${PAGE}/s/checkout?view=table&search=${encodeURIComponent('pay(')}`);
  await page.getByText('not a regular expression').waitFor();
  const rows = await page.locator('table.top tbody th').allTextContents();
  assert.ok(rows.length > 0 && rows.every((name) => name.includes('pay(')), rows.join());
  await page.getByRole('button', { name: 'Call tree' }).click();
  await page.getByText('not a regular expression').waitFor();
  await page.locator('.matched-row', { hasText: 'pay(' }).first().waitFor();
}

export async function searchesEverything(page) {
  step('search: a function too small to be drawn or listed is found with its share');
  const one = { ...ALL, query: 'wide', search: 'leaf000000' };
  const expected = await api('top', one);
  assert.equal(expected.search.functions, 1);
  await page.goto(`${PAGE}/s/wide`);
  await drawn(page, 'wide', () => window.__wherefore?.flame?.total > 0);
  const before = await flame(page);
  assert.equal(await box(page, 'leaf000000'), null);
  await page.getByLabel('Search').pressSequentially('LEAF000000', { delay: 20 });
  await drawn(
    page,
    'the share of the whole',
    (v) => window.__wherefore.flame.matched === v,
    Number(expected.search.value),
  );
  await drawn(
    page,
    'the frame itself',
    (v) => window.__wherefore.flame.box('leaf000000')?.total === v,
    Number(expected.search.value),
  );
  assert.equal((await flame(page)).total, before.total);
  assert.match(await page.locator('.matched').textContent(), /^1 frame, /);
  await page.reload();
  await drawn(page, 'found after a reload', () => window.__wherefore?.flame?.box('leaf000000') !== null);
  await page.getByLabel('Search').fill('leaf0');
  const many = await api('top', { ...one, search: 'leaf0' });
  await drawn(page, 'the share of many', (v) => window.__wherefore.flame.matched === v, Number(many.search.value));
  await page.locator('.matched', { hasText: /^100,000 frames, .* · [\d,]+ drawn$/ }).waitFor();
  await page.getByLabel('Search').fill('leaf[');
  await page.locator('.matched', { hasText: 'not a regular expression' }).waitFor();
  await page.locator('.matched', { hasText: '0 frames, 0' }).waitFor();
  await page.getByLabel('Search').fill('');
  await drawn(page, 'as before', (n) => window.__wherefore.flame.nodes === n, before.nodes);
  await page.getByRole('button', { name: 'Table' }).click();
  await page.locator('table.top tbody tr').first().waitFor();
  await page.getByLabel('Search').fill('leaf000000');
  const row = page.locator('table.top tbody tr', { hasText: 'leaf000000' });
  await row.waitFor();
  assert.equal(await page.locator('table.top tbody tr').count(), 1);
  await page.locator('table.top caption', { hasText: '1 match,' }).waitFor();
  await page.getByLabel('Search').fill('nowhere to be found');
  await page.getByText('No function matches').waitFor();
  await page.locator('table.top caption', { hasText: '0 match,' }).waitFor();
}

const numbers = (values) => values.map(Number);
const added = (values) => numbers(values).reduce((a, b) => a + b, 0);
const drawnSum = (values) => values.reduce((a, b) => a + (b ?? 0), 0);
const timelineOf = (page) => page.evaluate(() => window.__wherefore.timeline);

export async function searchesOverTime(page) {
  step('search: what matches is on the timeline, as the API says and as the flame graph finds');
  const at = await newest('checkout');
  const range = { from: at - 1800e3, to: at + 60e3 };
  const where = new URLSearchParams(range);
  const asked = [];
  page.on('request', (r) => {
    if (/api\/v1\/(series|heatmap)\?.*search=/.test(r.url())) asked.push(r.url());
  });
  await page.goto(`${PAGE}/s/checkout?${where}`);
  await drawn(page, 'the timeline', () => window.__wherefore?.timeline?.lines.length === 1);
  assert.equal((await timelineOf(page)).matched, null);
  assert.deepEqual(asked, []);
  await page.getByLabel('Search').pressSequentially('json', { delay: 20 });
  const series = await api('series', { ...range, query: CHECKOUT, limit: 7, search: 'json' });
  const matched = added(series.search.values);
  await drawn(
    page,
    'what matches',
    (v) => {
      const m = window.__wherefore.timeline.matched;
      return m && m.reduce((a, b) => a + (b ?? 0), 0) === v;
    },
    matched,
  );
  assert.equal(asked.length, 1, `one question for one text: ${asked.join(' ')}`);
  await drawn(page, 'the same in the graph', (v) => window.__wherefore.flame.matched === v, matched);
  const shown = await timelineOf(page);
  assert.equal(drawnSum(shown.all), added(series.groups[0].values));
  assert.ok(shown.all.every((v, i) => (v === null) === (shown.matched[i] === null) && shown.matched[i] <= v));
  const share = ((100 * matched) / added(series.groups[0].values)).toFixed(1);
  await page.locator('.timeline figcaption', { hasText: `${share} % of it matches` }).waitFor();
  await page.locator('.timeline .plot-legend', { hasText: 'matches json' }).waitFor();

  step('search: on the timeline too, the lens is applied');
  await page.goto(`${PAGE}/s/checkout?${where}&search=handle&lens=${encodeURIComponent('drop:parse_object')}`);
  const narrowed = added(
    (await api('series', { ...range, query: CHECKOUT, search: 'handle', lens: 'drop:parse_object' })).search.values,
  );
  assert.ok(
    narrowed > 0 &&
      narrowed < added((await api('series', { ...range, query: CHECKOUT, search: 'handle' })).search.values),
  );
  await drawn(
    page,
    'what the lens leaves',
    (v) => window.__wherefore?.timeline?.matched?.reduce((a, b) => a + (b ?? 0), 0) === v,
    narrowed,
  );
  await drawn(page, 'the same in the graph', (v) => window.__wherefore.flame?.matched === v, narrowed);
  await page.getByLabel('Search').fill('');
  await drawn(page, 'no search, no area', () => window.__wherefore.timeline.matched === null);

  step('search: cells and columns of the heat map say how much of them matches, also in words');
  await page.goto(`${PAGE}/s/ticker?view=heat&type=samples&search=encode`);
  const heat = await api('heatmap', { ...ALL, query: 'ticker', type: 'samples', search: 'encode' });
  const found = added(heat.cells.map((c) => c[3]));
  assert.equal(found, 240 * 8);
  await drawn(page, 'the matched part', (v) => window.__wherefore?.heat?.matched === v, found);
  await page.getByRole('img', { name: 'Share of each column that matches the search: 88.9 % of all' }).waitFor();
  const whole = heat.cells.find((c) => c[3] > 0);
  const area = await page.locator('.heat-box').boundingBox();
  await page.mouse.move(
    area.x + (area.width * (whole[0] + 0.5)) / heat.steps,
    area.y + area.height * (1 - (whole[1] + 0.5) / heat.rows),
  );
  await page.locator('.heat figcaption', { hasText: /samples, [\d,]+ match \([\d.]+ %\)/ }).waitFor();
  await page.locator('.heat-box').focus();
  await page.keyboard.press('ArrowRight');
  for (let i = 0; i < 3; i++) await page.keyboard.press('Shift+ArrowRight');
  await page.locator('.heat [role=status]', { hasText: / to .*: [\d,]+ samples/ }).waitFor();
}

export async function gaps(page) {
  step('timeline: where nothing was stored is no line, where nothing was used is 0');
  const at = await newest('zero');
  const range = { from: at - 1200e3, to: at + 600e3 };
  const series = await api('series', { ...range, query: 'zero', limit: 7 });
  assert.deepEqual([...new Set(numbers(series.groups[0].values))], [0]);
  const missing = series.groups[0].gaps.reduce((n, [, count]) => n + count, 0);
  assert.ok(missing > 0 && missing < series.groups[0].values.length);
  await page.goto(`${PAGE}/s/zero?${new URLSearchParams(range)}`);
  await drawn(page, 'gaps', (n) => window.__wherefore?.timeline?.all.filter((v) => v === null).length === n, missing);
  assert.deepEqual([...new Set((await timelineOf(page)).all)], [null, 0]);
}
