// Keys of a service's page: views and time windows, search by Ctrl+F, and switching single letters off.
import assert from 'node:assert/strict';
import { ALL, api, CHECKOUT, dragTimeline, drawn, flame, newest, PAGE, selection, step } from './browser.mjs';

const shown = (page) => drawn(page, 'a flame graph', () => window.__wherefore?.flame?.count > 0);
const searching = (page) => page.evaluate(() => document.activeElement.matches('input[type=search]'));

async function timeline(page) {
  step('Ctrl+drag on the timeline: the baseline of a diff, of all of it and of a selection; double click: all');
  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  await page.getByText('Ctrl+drag: baseline of a diff').waitFor();
  const baseline = async () => {
    await page.keyboard.down('Control');
    await dragTimeline(page, 0.5, 0.62);
    await page.keyboard.up('Control');
    await page.waitForURL(/\/diff\?.*base_from=/);
    const p = new URL(page.url()).searchParams;
    const before = await api('top', { from: p.get('base_from'), to: p.get('base_to'), query: CHECKOUT });
    assert.ok(Number(before.total) > 0);
    assert.equal(p.get('mode'), 'rate');
    return { p, before };
  };
  const all = await baseline();
  const lasts = all.p.get('to') - all.p.get('from');
  assert.ok(lasts > 28 * 60e3 && lasts < 32 * 60e3, `all of it, without the time that has no data: ${lasts} ms`);
  const whole = await api('top', { ...ALL, query: CHECKOUT });
  await drawn(
    page,
    'all against the baseline',
    (v) => window.__wherefore?.flame?.total === v && window.__wherefore.flame.totalBefore > 0,
    Number(whole.total),
  );
  await page.goBack();
  await shown(page);
  await dragTimeline(page, 0.7, 0.9);
  const selected = await selection(page);
  const one = await baseline();
  assert.deepEqual([one.p.get('from'), one.p.get('to')], selected);
  await page.goBack();
  await page.waitForURL(/sel=/);
  await drawn(page, 'the selection', () => window.__wherefore?.flame?.count > 0);
  await page.locator('.plot-over').click({ position: { x: 40, y: 40 } }); // a click alone changes nothing
  assert.ok((await page.locator('.plot-part').boundingBox()).width > 50);
  await page.locator('.plot-over').dblclick({ position: { x: 40, y: 40 } });
  await page.waitForURL((u) => !u.searchParams.has('sel'));
  await drawn(page, 'all again', (v) => window.__wherefore?.flame?.total === v, Number(whole.total));

  step('the same without a pointer: two times are typed');
  await page.getByRole('button', { name: 'Type times' }).press('Enter');
  const [from, to] = await Promise.all(['From', 'To'].map((name) => page.getByRole('textbox', { name }).inputValue()));
  assert.ok(from < to, `${from} ${to}`);
  await page.getByRole('textbox', { name: 'From' }).fill('never');
  await page.getByText('From is not a time').waitFor();
  await page.getByRole('textbox', { name: 'From' }).fill(from);
  const middle = new Date((Date.parse(from.replace(' ', 'T') + 'Z') + Date.parse(to.replace(' ', 'T') + 'Z')) / 2)
    .toISOString()
    .slice(0, 19)
    .replace('T', ' ');
  await page.getByRole('textbox', { name: 'To' }).fill(middle);
  await page.keyboard.press('Enter');
  assert.equal(Number((await selection(page))[1]), Date.parse(middle.replace(' ', 'T') + 'Z'));
  await page.getByRole('button', { name: 'Type times' }).press('Enter');
  await page.getByRole('button', { name: 'Baseline of a diff' }).press('Enter');
  await page.waitForURL(/\/diff\?.*base_from=/);
}

async function pageKeys(page) {
  step('1 to 7 are the views, [ and ] the time windows beside; x swaps a diff');
  const last = await newest('checkout');
  await page.goto(`${PAGE}/s/checkout?since=15m&from=${last - 15 * 60e3}&to=${last}`);
  await shown(page);
  for (const [key, view] of [
    ['2', 'table'],
    ['3', 'tree'],
    ['4', 'sandwich'],
    ['5', 'heat'],
    ['6', 'source'],
    ['7', 'traces'],
  ]) {
    await page.keyboard.press(key);
    await page.waitForURL(new RegExp(`view=${view}`));
  }
  await page.keyboard.press('1');
  await page.waitForURL((u) => !u.searchParams.has('view'));
  await page.keyboard.press('[');
  await page.waitForURL((u) => u.searchParams.get('to') === String(last - 15 * 60e3));
  const p = new URL(page.url()).searchParams;
  assert.equal(Number(p.get('to')) - Number(p.get('from')), 15 * 60e3);
  const earlier = await api('top', { from: p.get('from'), to: p.get('to'), query: CHECKOUT });
  await drawn(page, 'the window before', (v) => window.__wherefore?.flame?.total === v, Number(earlier.total));
  await page.keyboard.press(']');
  await page.waitForURL((u) => u.searchParams.get('from') === p.get('to'));
  for (let i = 0; i < 9 && new URL(page.url()).searchParams.has('from'); i++) await page.keyboard.press(']');
  assert.equal(new URL(page.url()).searchParams.has('from'), false, 'it moves with the clock again');
  await page.keyboard.press(']');
  await page.getByText('nothing after now').waitFor();
  await page.goto(`${PAGE}/diff?query=checkout&base_query=search&since=1h`);
  await shown(page);
  await page.keyboard.press('x');
  await page.waitForURL(/query=search/);
}

async function find(page) {
  step("Ctrl+F in the graph, the table and the call tree is their search, elsewhere the browser's");
  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  await page.locator('h1').click();
  await page.keyboard.press('Control+f');
  assert.equal(await searching(page), false);
  await page.locator('.flame-box').first().focus();
  await page.keyboard.press('Control+f');
  assert.equal(await searching(page), true);
  await page.keyboard.type('parse');
  await drawn(page, 'typed into it', () => window.__wherefore.flame.matched > 0);
  await page.keyboard.press('2'); // while one types it is a character
  assert.equal(await page.getByLabel('Search').inputValue(), 'parse2');
  await page.getByLabel('Search').fill('parse');
  await page.locator('.flame-box').first().focus();
  await page.keyboard.press('2');
  await page.locator('table.top tbody button').first().focus();
  await page.keyboard.press('Control+f');
  assert.equal(await searching(page), true);
  const names = await page.locator('table.top tbody th').allTextContents();
  assert.ok(names.length > 0 && names.every((n) => /parse/.test(n)), names.join());

  step('the call tree has what matches, opened, with its share');
  await page.getByRole('button', { name: 'Call tree' }).click();
  const grid = page.getByRole('treegrid');
  await grid.focus();
  await page.keyboard.press('Control+f');
  assert.equal(await searching(page), true);
  await page.keyboard.type('json::parse_obj');
  const parse = (await api('top', { ...ALL, query: CHECKOUT })).rows.find((r) => r.name === 'json::parse_object');
  const { total } = await api('top', { ...ALL, query: CHECKOUT });
  await page
    .locator('.matched', { hasText: `${((100 * Number(parse.total)) / Number(total)).toFixed(1)} %` })
    .waitFor();
  const rows = page.locator('.ct-box .ct-row');
  await page.locator('.matched-row', { hasText: 'json::parse_object' }).first().waitFor();
  assert.equal(await page.locator('.ct-box .ct-row', { hasText: 'malloc' }).count(), 0);
  await page.keyboard.press('Enter');
  await page.locator('.ct-row.selected.matched-row').waitFor();
  const few = await rows.count();
  await page.getByLabel('Search').fill('no such thing');
  await page.getByText('No frame matches').waitFor();
  await page.keyboard.press('Escape');
  await page.waitForFunction((n) => document.querySelectorAll('.ct-box .ct-row').length >= n, few);
  await page.goto(PAGE + '/s/wide?view=tree');
  await page.getByRole('treegrid').waitFor();
  await page.getByLabel('Search').fill('leaf000000');
  await page.locator('.matched-row', { hasText: 'leaf000000' }).waitFor();
  await page.locator('.matched', { hasText: /^1 frame, / }).waitFor();
}

async function oneSelection(page) {
  step('a frame and the row of its function are one selection');
  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  await page.locator('.flame-box').first().focus();
  await page.keyboard.press('End');
  await drawn(page, 'the hottest', () => window.__wherefore.flame.frame === 'json::parse_object');
  await page.keyboard.press('2');
  await page.locator('table.top tr.selected', { hasText: 'json::parse_object' }).waitFor();
  const other = page.locator('table.top tbody tr', { hasText: 'handle_pay' }).locator('th button').first();
  await other.click();
  await drawn(
    page,
    "the row's frame",
    () => window.__wherefore?.flame?.frame.startsWith('handle_pay') && window.__wherefore.flame.matched > 0,
  );
}

async function kept(page) {
  step('a search keeps the zoom, the view and the folds that were opened');
  await page.goto(PAGE + '/s/wide');
  await drawn(page, 'wide', () => window.__wherefore?.flame?.total > 0);
  await page.locator('.flame-box').first().focus();
  for (const key of ['Home', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
  await drawn(page, 'at the fan', () => window.__wherefore.flame.frame === 'fan');
  await page.keyboard.press('Enter');
  await drawn(page, 'zoomed', () => window.__wherefore.flame.zoom === 'fan');
  await page.keyboard.press('ArrowDown');
  const { nodes, total } = await flame(page);
  await page.getByRole('button', { name: 'Open the fold' }).click();
  await drawn(page, 'opened', (n) => window.__wherefore.flame.nodes > n, nodes);
  const opened = await flame(page);
  await page.locator('.flame-box').first().focus();
  for (let i = 0; i < 3; i++) await page.keyboard.press('+');
  await drawn(
    page,
    'closer',
    (r) => window.__wherefore.flame.range[1] - window.__wherefore.flame.range[0] < 0.5 * (r[1] - r[0]),
    opened.range,
  );
  const { range } = await flame(page);
  const text = await page.evaluate(() =>
    ['leaf099999', 'leaf099998', 'leaf099997'].find((name) => !window.__wherefore.flame.box(name)),
  );
  assert.ok(text, 'something is still folded');
  await page.getByLabel('Search').fill(text);
  await page.locator('.matched', { hasText: /^1 frame, / }).waitFor();
  await drawn(page, 'found', (n) => window.__wherefore.flame.box(n) !== null, text);
  const searched = await flame(page);
  assert.ok(searched.nodes >= opened.nodes, `${searched.nodes} of ${opened.nodes}`);
  assert.deepEqual([searched.zoom, searched.range, searched.total], ['fan', range, total]);
  await page.getByLabel('Search').fill('');
  await drawn(page, 'as opened', (n) => window.__wherefore.flame.nodes === n, opened.nodes);
  assert.deepEqual([(await flame(page)).zoom, (await flame(page)).range], ['fan', range]);
}

async function failed(page, problems) {
  step('a question that failed does not claim to show a previous answer where none is shown');
  await page.route(/api\/v1\/flame/, (route) =>
    route.request().url().includes('type=samples')
      ? route.fulfill({
          status: 400,
          contentType: 'application/json',
          body: '{"error":{"code":"invalid","message":"not today"}}',
        })
      : route.continue(),
  );
  for (const [view, claims] of [
    ['table', false],
    ['flame', true],
    ['source', false],
  ]) {
    await page.goto(`${PAGE}/s/checkout?type=cpu&view=${view}&fn=json::parse_object`);
    await page.waitForLoadState('networkidle');
    if (claims) await shown(page);
    await page.getByLabel('Type').selectOption('samples');
    const alert = page.getByRole('alert').filter({ hasText: 'not today' });
    await alert.waitFor();
    assert.equal((await alert.textContent()).includes('This is the previous answer'), claims, view);
  }
  await page.unroute(/api\/v1\/flame/);
  assert.deepEqual(
    problems.filter((p) => !p.includes('400 (Bad Request)')),
    [],
  );
  problems.length = 0;
}

async function switchedOff(page) {
  step('keys of one character can be switched off; the others go on');
  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  await page.keyboard.press('?');
  const dialog = page.getByRole('dialog', { name: 'Keys' });
  for (const text of [
    'On a timeline, a waterfall or a heat map',
    'focus, merge this one frame',
    'invert: what did the work on top',
  ])
    await dialog.getByText(text).first().waitFor();
  await dialog.getByRole('checkbox').uncheck();
  await page.keyboard.press('Escape');
  await page.locator('.flame-box').first().focus();
  for (const key of ['/', 'd', '2', '?', '[']) await page.keyboard.press(key);
  assert.equal(await searching(page), false);
  await page.locator('.timeline .axis').focus();
  for (const key of ['w', 'r']) await page.keyboard.press(key);
  assert.doesNotMatch(await page.locator('.timeline figcaption').textContent(), /in view/);
  await page.locator('.flame-box').first().focus();
  await page.keyboard.press('End');
  await drawn(page, 'arrows and End go on', () => window.__wherefore.flame.frame === 'json::parse_object');
  await page.keyboard.press('d');
  assert.deepEqual([...new URL(page.url()).searchParams.keys()], ['frame']);
  assert.equal(await dialog.isVisible(), false);
  await page.reload();
  await shown(page);
  await page.getByRole('button', { name: 'Keys (?)' }).click();
  assert.equal(await dialog.getByRole('checkbox').isChecked(), false);
  await dialog.getByRole('checkbox').check();
  await page.keyboard.press('Escape');
  await page.keyboard.press('2');
  await page.waitForURL(/view=table/);
}

async function colours(page) {
  step('a diff in green and red, for those who want it');
  await page.goto(`${PAGE}/diff?query=checkout&since=1h`);
  await shown(page);
  const pixel = () =>
    page.evaluate(
      () =>
        document.querySelector('.flame-view canvas').toDataURL().length +
        document.querySelector('.legend i').style.background,
    );
  const before = await pixel();
  await page.getByLabel('Colours').selectOption('red');
  await page.waitForFunction(() => document.querySelector('.legend i').style.background.includes('116, 189, 107'));
  assert.notEqual(await pixel(), before);
  await page.getByLabel('Colours').selectOption('orange');
}

export async function keys(page, problems) {
  await timeline(page);
  await pageKeys(page);
  await find(page);
  await oneSelection(page);
  await kept(page);
  await failed(page, problems);
  await switchedOff(page);
  await colours(page);
}
