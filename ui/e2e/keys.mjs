// Keys beside those of the walk: views and time windows of a service, search by Ctrl+F, and switching letters off.
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
  await drawn(page, 'all against the baseline', (v) => window.__wherefore?.flame?.total === v && window.__wherefore.flame.totalBefore > 0, Number(whole.total));
  await page.goBack();
  await shown(page);
  await dragTimeline(page, 0.7, 0.9);
  const selected = await selection(page);
  const one = await baseline();
  assert.deepEqual([one.p.get('from'), one.p.get('to')], selected);
  await page.goBack();
  await page.waitForURL(/sel=/);
  await drawn(page, 'the selection', () => window.__wherefore?.flame?.count > 0);
  await page.locator('.u-over').click({ position: { x: 40, y: 40 } });  // a click alone changes nothing
  assert.ok((await page.locator('.u-select').boundingBox()).width > 50);
  await page.locator('.u-over').dblclick({ position: { x: 40, y: 40 } });
  await page.waitForURL((u) => !u.searchParams.has('sel'));
  await drawn(page, 'all again', (v) => window.__wherefore?.flame?.total === v, Number(whole.total));

  step('the same without a pointer: two times are typed');
  await page.getByRole('button', { name: 'Type times' }).press('Enter');
  const [from, to] = await Promise.all(['From', 'To'].map((name) => page.getByRole('textbox', { name }).inputValue()));
  assert.ok(from < to, `${from} ${to}`);
  await page.getByRole('textbox', { name: 'From' }).fill('never');
  await page.getByText('From is not a time').waitFor();
  await page.getByRole('textbox', { name: 'From' }).fill(from);
  const middle = new Date((Date.parse(from.replace(' ', 'T') + 'Z') + Date.parse(to.replace(' ', 'T') + 'Z')) / 2).toISOString().slice(0, 19).replace('T', ' ');
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
  for (const [key, view] of [['2', 'table'], ['3', 'tree'], ['4', 'sandwich'], ['5', 'heat'], ['6', 'source'], ['7', 'traces']]) {
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
  await page.getByText('nothing later than now').waitFor();
  await page.goto(`${PAGE}/diff?query=checkout&base_query=search&since=1h`);
  await shown(page);
  await page.keyboard.press('x');
  await page.waitForURL(/query=search/);
}

async function find(page) {
  step('Ctrl+F in the graph, the table and the call tree is their search, elsewhere the browser\'s');
  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  await page.locator('h1').click();
  await page.keyboard.press('Control+f');
  assert.equal(await searching(page), false);
  await page.locator('.flame-box').focus();
  await page.keyboard.press('Control+f');
  assert.equal(await searching(page), true);
  await page.keyboard.type('parse');
  await drawn(page, 'typed into it', () => window.__wherefore.flame.matched > 0);
  await page.keyboard.press('2');  // while one types it is a character
  assert.equal(await page.getByLabel('Search').inputValue(), 'parse2');
  await page.getByLabel('Search').fill('parse');
  await page.locator('.flame-box').focus();
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
  await page.locator('.matched', { hasText: `${(100 * Number(parse.total) / Number(total)).toFixed(1)} %` }).waitFor();
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
  await page.locator('.flame-box').focus();
  await page.keyboard.press('End');
  await drawn(page, 'the hottest', () => window.__wherefore.flame.frame === 'json::parse_object');
  await page.keyboard.press('2');
  await page.locator('table.top tr.selected', { hasText: 'json::parse_object' }).waitFor();
  const other = page.locator('table.top tbody tr', { hasText: 'handle_pay' }).locator('th button').first();
  await other.click();
  await drawn(page, 'the row\'s frame', () => window.__wherefore?.flame?.frame.startsWith('handle_pay') && window.__wherefore.flame.matched > 0);
}

async function kept(page) {
  step('a search keeps the zoom, the view and the folds that were opened');
  await page.goto(PAGE + '/s/wide');
  await drawn(page, 'wide', () => window.__wherefore?.flame?.total > 0);
  await page.locator('.flame-box').focus();
  for (const key of ['Home', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
  await drawn(page, 'at the fan', () => window.__wherefore.flame.frame === 'fan');
  await page.keyboard.press('Enter');
  await drawn(page, 'zoomed', () => window.__wherefore.flame.zoom === 'fan');
  await page.keyboard.press('ArrowDown');
  const { nodes, total } = await flame(page);
  await page.getByRole('button', { name: 'Open the fold' }).click();
  await drawn(page, 'opened', (n) => window.__wherefore.flame.nodes > n, nodes);
  const opened = await flame(page);
  await page.locator('.flame-box').focus();
  for (let i = 0; i < 3; i++) await page.keyboard.press('+');
  await drawn(page, 'closer', (r) => window.__wherefore.flame.range[1] - window.__wherefore.flame.range[0] < 0.5 * (r[1] - r[0]), opened.range);
  const { range } = await flame(page);
  const text = await page.evaluate(() => ['leaf099999', 'leaf099998', 'leaf099997'].find((name) => !window.__wherefore.flame.box(name)));
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
  step('a question that failed claims no answer before where none is shown');
  await page.route(/api\/v1\/flame/, (route) => (route.request().url().includes('type=samples') ? route.fulfill({ status: 400, contentType: 'application/json', body: '{"error":{"code":"invalid","message":"not today"}}' }) : route.continue()));
  for (const [view, claims] of [['table', false], ['flame', true], ['source', false]]) {
    await page.goto(`${PAGE}/s/checkout?type=cpu&view=${view}&fn=json::parse_object`);
    await page.waitForLoadState('networkidle');
    await page.getByLabel('Type').selectOption('samples');
    const alert = page.getByRole('alert').filter({ hasText: 'not today' });
    await alert.waitFor();
    assert.equal((await alert.textContent()).includes('What is shown is the answer before'), claims, view);
  }
  await page.unroute(/api\/v1\/flame/);
  assert.deepEqual(problems.filter((p) => !p.includes('400 (Bad Request)')), []);
  problems.length = 0;
}

async function switchedOff(page) {
  step('keys of one character can be switched off; the others go on');
  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  await page.keyboard.press('?');
  const dialog = page.getByRole('dialog', { name: 'Keys' });
  await dialog.getByRole('checkbox').uncheck();
  await page.keyboard.press('Escape');
  await page.locator('.flame-box').focus();
  for (const key of ['/', 'd', '2', '?', '[']) await page.keyboard.press(key);
  assert.equal(await searching(page), false);
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
  const pixel = () => page.evaluate(() => document.querySelector('.flame-view canvas').toDataURL().length + document.querySelector('.legend i').style.background);
  const before = await pixel();
  await page.getByLabel('Colours').selectOption('red');
  await page.waitForFunction(() => document.querySelector('.legend i').style.background.includes('116, 189, 107'));
  assert.notEqual(await pixel(), before);
  await page.getByLabel('Colours').selectOption('orange');
}

async function transforms(page) {
  step('F, M: one frame by its path; r: recursion; i: what did the work on top. Chips, address, table and API agree');
  const add = async (key, lens) => {
    await page.keyboard.press(key);
    await page.waitForURL((u) => u.searchParams.get('lens') === lens);
    const { total } = await api('flame', { ...ALL, query: CHECKOUT, lens, format: 'json' });
    await drawn(page, lens, (v) => window.__wherefore?.flame?.total === v, Number(total));
    await page.locator('.chip code', { hasText: lens.split(' > ').at(-1).slice(0, 20) }).waitFor();
  };
  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  const graph = page.locator('.flame-box');
  await graph.focus();
  for (const key of ['Home', 'ArrowDown', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
  await drawn(page, 'a handler', () => window.__wherefore.flame.frame.startsWith('handle_'));
  const { frame } = await flame(page);
  await add('F', `focus-path:main;Server::run;${frame}`);
  assert.ok((await flame(page)).box === undefined && (await page.evaluate(() => window.__wherefore.flame.box('main'))) === null, 'nothing above it');
  await graph.focus();
  for (const key of ['Home', 'ArrowDown']) await page.keyboard.press(key);
  await add('M', `focus-path:main;Server::run;${frame} > merge-path:${frame}`);
  assert.equal(await page.evaluate((n) => window.__wherefore.flame.box(n), frame), null);
  await page.goBack();
  await drawn(page, 'one step back', (n) => window.__wherefore?.flame?.box(n), frame);
  await page.reload();
  await drawn(page, 'after a reload', (n) => window.__wherefore?.flame?.box(n) && !window.__wherefore.flame.box('main'), frame);
  await graph.focus();
  await page.keyboard.press('End');
  await add('r', `focus-path:main;Server::run;${frame} > recursion:^json::parse_object$`);

  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  const rows = (await api('top', { ...ALL, query: CHECKOUT })).rows;
  await graph.focus();
  await add('i', 'invert');
  const own = await page.evaluate(() => window.__wherefore.flame.box('json::parse_object'));
  assert.equal(own.total, Number(rows.find((r) => r.name === 'json::parse_object').self), 'a top frame has what the function did itself');
  await drawn(page, 'the focus in the new graph', () => document.activeElement.matches('.flame-box'));
  await page.keyboard.press('End');
  await drawn(page, 'below it its callers, out to where stacks begin', () => window.__wherefore.flame.frame === 'main');
  await page.keyboard.press('2');
  await page.locator('table.top').waitFor();
  const names = await page.locator('table.top tbody th').allTextContents();
  assert.equal(names[0], rows[0].name, 'the table says what each did itself, as without');
  assert.deepEqual((await api('top', { ...ALL, query: CHECKOUT, lens: 'invert' })).rows.map((r) => [r.name, r.self, r.total]), rows.map((r) => [r.name, r.self, r.total]));
  await page.keyboard.press('3');
  await page.getByRole('treegrid').focus();
  await page.keyboard.press('Home');
  await page.locator('.ct-box .ct-row.selected', { hasText: 'json::parse_object' }).waitFor();
  await page.keyboard.press('i');
  await page.waitForURL((u) => !u.searchParams.has('lens'));
  await page.locator('.ct-box .ct-row', { hasText: 'main' }).first().waitFor();
  await page.goto(PAGE + '/s/checkout?view=sandwich&fn=' + encodeURIComponent('json::parse_object') + '&lens=invert');
  await drawn(page, 'callers are callers', () => window.__wherefore?.callers?.box('json::parse_object') && window.__wherefore.callers.box('main'));
}

async function timeAxis(page) {
  step('W S A D F R on a timeline, a heat map and a waterfall; the letters of the graph rest there');
  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  const axis = page.locator('.timeline .axis');
  await page.locator('.u-over').waitFor();
  await axis.focus();
  await page.keyboard.press('w');
  await page.locator('.timeline figcaption', { hasText: 'in view' }).waitFor();
  await page.keyboard.press('r');
  const whole = (await selection(page)).map(Number);
  assert.ok(whole[1] - whole[0] > 30 * 60e3 && whole[1] - whole[0] < 40 * 60e3, `0.6 of an hour: ${whole}`);
  await axis.focus();
  for (const key of ['w', 'd', 'r']) await page.keyboard.press(key);
  await page.waitForURL((u) => { const [a, b] = (u.searchParams.get('sel') ?? '0-0').split('-').map(Number); return a > whole[0] && b > a && b - a < 0.7 * (whole[1] - whole[0]); });
  const [from, to] = await selection(page);
  const part = await api('top', { from, to, query: CHECKOUT });
  await drawn(page, 'what was in view', (v) => window.__wherefore?.flame?.total === v, Number(part.total));
  await axis.focus();
  await page.keyboard.press('f');
  await page.locator('.timeline figcaption', { hasText: 'in view' }).waitFor({ state: 'detached' });
  assert.equal(new URL(page.url()).searchParams.has('lens'), false);
  await page.goto(PAGE + '/s/checkout?view=heat');
  await drawn(page, 'a heat map', () => window.__wherefore?.heat?.sum > 0);
  const { sum } = await page.evaluate(() => window.__wherefore.heat);
  await page.locator('.heat-box').focus();
  for (const key of ['w', 'w', 'w']) await page.keyboard.press(key);
  await drawn(page, 'less of it', (n) => window.__wherefore.heat.sum < n, sum);
  await page.keyboard.press('r');
  const [a, b] = (await selection(page)).map(Number);
  assert.ok(b - a < 15 * 60e3, `${a} ${b}`);
  await page.locator('.heat-box').focus();
  await page.keyboard.press('f');
  await drawn(page, 'all of it', (n) => window.__wherefore.heat.sum === n, sum);
  const { traces } = await api('traces', { ...ALL, service: 'checkout', min_duration: '500ms', limit: 200 });
  await page.goto(`${PAGE}/traces/${traces[0].trace}`);
  const box = page.locator('.wf-box');
  await box.focus();
  const scale = () => page.locator('.wf-scale').textContent();
  const before = await scale();
  await page.keyboard.press('w');
  await page.waitForFunction((t) => document.querySelector('.wf-scale').textContent !== t, before);
  await page.keyboard.press('f');
  await page.waitForFunction((t) => document.querySelector('.wf-scale').textContent === t, before);
  for (const key of ['w', 'd', 'r']) await page.keyboard.press(key);
  await page.waitForURL((u) => u.pathname.startsWith('/s/') && u.searchParams.get('to') - u.searchParams.get('from') <= 0.7 * traces[0].duration_ns / 1e6);
}

async function plainText(page) {
  step('the search reads plain text or a regular expression; the address says which');
  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  const field = page.getByLabel('Search');
  const regular = page.getByRole('button', { name: 'Regular expression' });
  assert.equal(await regular.getAttribute('aria-pressed'), 'true');
  await field.fill('(Request const&)');
  await drawn(page, 'a group, not brackets: nothing', () => window.__wherefore.flame.matched > 0);
  await field.fill('y(Request');
  await page.getByText('not a regular expression').waitFor();
  await regular.click();
  await page.waitForURL((u) => u.searchParams.get('plain') === '1' && u.searchParams.get('search') === 'y\\(Request');
  assert.equal(await field.inputValue(), 'y(Request');
  await page.getByText('not a regular expression').waitFor({ state: 'detached' });
  const { search } = await api('flame', { ...ALL, query: CHECKOUT, search: 'y\\(Request', format: 'json' });
  await drawn(page, 'found as text', (v) => window.__wherefore.flame.matched === v, Number(search.value));
  await page.reload();
  await drawn(page, 'found again', (v) => window.__wherefore?.flame?.matched === v, Number(search.value));
  assert.equal(await regular.getAttribute('aria-pressed'), 'false');
  await field.fill('.');
  await drawn(page, 'a full stop is a full stop', () => window.__wherefore.flame.matched === 0);
  await page.locator('.flame-box').focus();
  await page.keyboard.press('End');
  await page.keyboard.press('*');
  await page.waitForURL((u) => u.searchParams.get('search') === '^json::parse_object$');
  assert.equal(await regular.getAttribute('aria-pressed'), 'true', 'a name is searched exactly');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('search');
  await page.getByRole('option', { name: /Search with regular expressions/ }).click();
  await page.waitForURL((u) => !u.searchParams.has('plain'));
}

async function viewFocus(page) {
  step('after a key that changes the view the focus is in it');
  const at = (what, selector) => page.waitForFunction((s) => document.activeElement.matches(s), selector, { timeout: 15_000 }).catch(async () => assert.fail(`${what}: ${await page.evaluate(() => document.activeElement.outerHTML.slice(0, 200))}`));
  const hottest = async () => {
    await page.goto(PAGE + '/s/checkout');
    await shown(page);
    await page.locator('.flame-box').focus();
    await page.keyboard.press('End');
    await drawn(page, 'the hottest', () => window.__wherefore.flame.frame === 'json::parse_object');
  };
  await hottest();
  const views = { 2: 'table.top tr.selected th button', 3: '.calltree', 4: '.flame-box', 5: '.heat-box', 6: '.source', 7: 'table.seen a', 1: '.flame-box' };
  for (const key of ['2', '3', '4', '5', '6', '7', '1', '3', '1']) {
    await page.keyboard.press(key);
    await at(key, views[key]);
  }
  for (const [key, selector] of [['s', views[4]], ['o', views[6]], ['t', views[7]]]) {
    await hottest();
    await page.keyboard.press(key);
    await page.waitForURL(/view=/);
    await at(key, selector);
  }
  await page.goBack();
  await at('back', '.flame-box');
  await page.keyboard.press('3');
  await at('3', views[3]);
  await page.keyboard.press('Enter');
  await at('Enter in the call tree', '.flame-box');
  await page.keyboard.press('2');
  await at('2', views[2]);
  await page.keyboard.press('Enter');
  await at('Enter in the table', '.flame-box');
}

async function treeMenu(page) {
  step('call tree: the menu right after *, of the row found');
  await page.goto(PAGE + '/s/deep?view=tree');
  const tree = page.locator('.calltree');
  await tree.waitFor();
  await tree.focus();
  for (const key of ['*', 'Shift+F10']) await page.keyboard.press(key);
  const menu = page.getByRole('menu');
  await menu.waitFor();
  const selected = await page.locator('.drawer h2').textContent();
  assert.ok((await menu.getAttribute('aria-label')).endsWith(selected), `${await menu.getAttribute('aria-label')}, ${selected}`);
  await page.keyboard.press('Escape');
}

async function undoKeys(page) {
  step('Ctrl+Z in the empty lens field undoes the lens; a step forth never leads to another page');
  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  const field = page.locator('form.chips input');
  await field.fill('hide:^malloc$');
  await page.keyboard.press('Enter');
  await page.waitForURL(/lens=hide/);
  await field.focus();
  await page.keyboard.type('x');
  await page.keyboard.press('Control+z');
  assert.match(page.url(), /lens=hide/, 'while there is text the key is the field\'s');
  await field.fill('');
  await page.keyboard.press('Control+z');
  await page.waitForURL((u) => !u.searchParams.has('lens'));
  await page.keyboard.press('Control+Shift+z');
  await page.waitForURL(/lens=hide/);
  await page.getByRole('navigation').getByRole('link', { name: 'Status' }).click();
  await page.waitForURL(/\/status/);
  await page.goBack();
  await page.waitForURL(/\/s\/checkout/);
  await shown(page);
  await page.locator('.flame-box').focus();
  for (let i = 0; i < 3; i++) await page.keyboard.press('Control+Shift+z');
  await page.keyboard.press('Control+z');
  await page.waitForURL((u) => u.pathname === '/s/checkout' && !u.searchParams.has('lens'));
  await page.reload();
  await shown(page);
  for (let i = 0; i < 3; i++) await page.keyboard.press('Control+Shift+z');
  await page.waitForURL((u) => u.pathname === '/s/checkout' && u.searchParams.has('lens'));
  assert.equal(new URL(page.url()).pathname, '/s/checkout');
}

async function marked(page) {
  step('the legend\'s mark is in the address: back and reload keep it');
  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  const json = page.getByRole('group', { name: 'Colours' }).getByRole('button', { name: /^json/ });
  await json.click();
  await page.waitForURL((u) => u.searchParams.get('mark') === 'json');
  await page.reload();
  await page.locator('.legend [aria-pressed=true]', { hasText: 'json' }).waitFor();
  await page.goBack();
  await page.waitForURL((u) => !u.searchParams.has('mark'));
  assert.equal(await json.getAttribute('aria-pressed'), 'false');
}

export async function keys(page, problems) {
  await transforms(page);
  await timeAxis(page);
  await plainText(page);
  await marked(page);
  await viewFocus(page);
  await treeMenu(page);
  await undoKeys(page);
  await timeline(page);
  await pageKeys(page);
  await find(page);
  await oneSelection(page);
  await kept(page);
  await failed(page, problems);
  await switchedOff(page);
  await colours(page);
}

export const keyParts = { timeline, pageKeys, find, oneSelection, kept, failed, switchedOff, colours, transforms, timeAxis, plainText, marked, viewFocus, treeMenu, undoKeys };
