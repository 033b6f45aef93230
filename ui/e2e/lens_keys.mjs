// Keys that change the view: transforms as steps of the lens, the time axis, plain or regular-expression search, the
// marked colour. Chip, address, table and API agree.
import assert from 'node:assert/strict';
import { ALL, api, CHECKOUT, drawn, flame, PAGE, selection, step } from './browser.mjs';

const shown = (page) => drawn(page, 'a flame graph', () => window.__wherefore?.flame?.count > 0);

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
  const graph = page.locator('.flame-box').first();
  await graph.focus();
  for (const key of ['Home', 'ArrowDown', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
  await drawn(page, 'a handler', () => window.__wherefore.flame.frame.startsWith('handle_'));
  const { frame } = await flame(page);
  await add('F', `focus-path:main;Server::run;${frame}`);
  await drawn(page, 'nothing above it', () => !window.__wherefore.flame.box('main'));
  await graph.focus();
  for (const key of ['Home', 'ArrowDown']) await page.keyboard.press(key);
  await add('M', `focus-path:main;Server::run;${frame} > merge-path:${frame}`);
  await drawn(page, 'without that frame', (n) => !window.__wherefore.flame.box(n), frame);
  await page.goBack();
  await drawn(page, 'one step back', (n) => window.__wherefore?.flame?.box(n), frame);
  await page.reload();
  await drawn(
    page,
    'after a reload',
    (n) => window.__wherefore?.flame?.box(n) && !window.__wherefore.flame.box('main'),
    frame,
  );
  await graph.focus();
  await page.keyboard.press('End');
  await add('r', `focus-path:main;Server::run;${frame} > recursion:^json::parse_object$`);

  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  const rows = (await api('top', { ...ALL, query: CHECKOUT })).rows;
  await graph.focus();
  await add('i', 'invert');
  await drawn(
    page,
    'a top frame has what the function did itself',
    (v) => window.__wherefore.flame.box('json::parse_object')?.total === v,
    Number(rows.find((r) => r.name === 'json::parse_object').self),
  );
  await drawn(page, 'the focus in the new graph', () => document.activeElement.matches('.flame-box'));
  await page.keyboard.press('End');
  await drawn(page, 'below it its callers, out to where stacks begin', () => window.__wherefore.flame.frame === 'main');
  await page.keyboard.press('2');
  await page.locator('table.top').waitFor();
  const names = await page.locator('table.top tbody th').allTextContents();
  assert.equal(names[0], rows[0].name, 'the table says what each did itself, as without');
  assert.deepEqual(
    (await api('top', { ...ALL, query: CHECKOUT, lens: 'invert' })).rows.map((r) => [r.name, r.self, r.total]),
    rows.map((r) => [r.name, r.self, r.total]),
  );
  await page.keyboard.press('3');
  await page.getByRole('treegrid').focus();
  await page.keyboard.press('Home');
  await page.locator('.ct-box .ct-row.selected', { hasText: 'json::parse_object' }).waitFor();
  await page.keyboard.press('i');
  await page.waitForURL((u) => !u.searchParams.has('lens'));
  await page.locator('.ct-box .ct-row', { hasText: 'main' }).first().waitFor();
  // The same function is selected in the new tree, and the keys continue from it.
  await page.locator('.ct-box .ct-row.selected', { hasText: 'json::parse_object' }).waitFor();
  await drawn(page, 'the focus in the tree', () => document.activeElement.matches('.calltree'));
  await page.goto(PAGE + '/s/checkout?view=sandwich&fn=' + encodeURIComponent('json::parse_object') + '&lens=invert');
  await drawn(
    page,
    'callers are callers',
    () => window.__wherefore?.callers?.box('json::parse_object') && window.__wherefore.callers.box('main'),
  );
}

async function timeAxis(page) {
  step('W S A D F R on a timeline, a heat map and a waterfall; the letters of the graph rest there');
  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  const axis = page.locator('.timeline .axis');
  await page.locator('.plot-over').waitFor();
  await axis.focus();
  await page.keyboard.press('w');
  await page.locator('.timeline figcaption', { hasText: 'in view' }).waitFor();
  await page.keyboard.press('r');
  const whole = (await selection(page)).map(Number);
  assert.ok(whole[1] - whole[0] > 30 * 60e3 && whole[1] - whole[0] < 40 * 60e3, `0.6 of an hour: ${whole}`);
  await axis.focus();
  for (const key of ['w', 'd', 'r']) await page.keyboard.press(key);
  await page.waitForURL((u) => {
    const [a, b] = (u.searchParams.get('sel') ?? '0-0').split('-').map(Number);
    return a > whole[0] && b > a && b - a < 0.7 * (whole[1] - whole[0]);
  });
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
  await page.waitForURL(
    (u) =>
      u.pathname.startsWith('/s/') &&
      u.searchParams.get('to') - u.searchParams.get('from') <= (0.7 * traces[0].duration_ns) / 1e6,
  );
}

async function walkedSteps(page) {
  step('arrows walk the steps of a timeline: time, value and matched share are said');
  await page.goto(PAGE + '/s/checkout?search=parse_object');
  await page.locator('.timeline .matches').waitFor();
  await page.locator('.plot-over').waitFor();
  await page.locator('.timeline .axis').focus();
  const said = () => page.locator('.timeline .walked').textContent();
  await page.keyboard.press('End');
  const full = /^[-0-9]{10} [:0-9]{8}Z?: [0-9.]+ cores, [0-9.]+ % of it matches$/;
  await page.waitForFunction(() => document.querySelector('.walked').textContent !== '');
  let one = await said();
  for (let i = 0; i < 200 && !full.test(one); i++) {
    // to where something was stored
    await page.keyboard.press('ArrowLeft');
    await page.waitForFunction((t) => document.querySelector('.walked').textContent !== t, one);
    one = await said();
  }
  assert.match(one, full);
  const { at, share } = await page.evaluate((text) => {
    const { startMs, stepMs, all, matched } = window.__wherefore.timeline;
    const i = (Date.parse(text.slice(0, 19).replace(' ', 'T') + 'Z') - startMs) / stepMs;
    return { at: i, share: ((100 * matched[i]) / all[i]).toFixed(1) };
  }, one);
  assert.ok(one.includes(`, ${share} % of it matches`), `${one}; step ${at}: ${share}`);
  await page.keyboard.press('ArrowLeft');
  await page.waitForFunction((t) => document.querySelector('.walked').textContent !== t, one);
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction((t) => document.querySelector('.walked').textContent === t, one);
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.querySelector('.walked').textContent === '');
}

async function liveAxis(page) {
  step('live: what is in view of the time axis stays while the axis moves on');
  await page.goto(PAGE + '/s/checkout?since=15m&live=1');
  await page.locator('.plot-over').waitFor();
  await page.locator('.timeline .axis').focus();
  const start = await page.evaluate(() => window.__wherefore.timeline.startMs);
  for (const key of ['w', 'w']) await page.keyboard.press(key);
  const inView = async () => /in view [^·]*/.exec(await page.locator('.timeline figcaption').textContent())?.[0];
  const before = await inView();
  assert.ok(before, 'zoomed');
  await page.waitForFunction((t) => window.__wherefore.timeline.startMs > t, start, { timeout: 120_000 });
  assert.equal(await inView(), before);
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
  await page.locator('.flame-box').first().focus();
  await page.keyboard.press('End');
  await page.keyboard.press('*');
  await page.waitForURL((u) => u.searchParams.get('search') === '^json::parse_object$');
  assert.equal(await regular.getAttribute('aria-pressed'), 'true', 'a name is searched exactly');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('regular');
  await page.getByRole('option', { name: /Find by regular expression/ }).click();
  await page.waitForURL((u) => !u.searchParams.has('plain'));
}

async function marked(page) {
  step("the legend's mark is in the address: back and reload keep it");
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

async function keepsFocus(page) {
  step('a key or a button that changes the lens does not lose the focus: graph of a trace, chips');
  const at = (what, selector) =>
    page
      .waitForFunction((s) => document.activeElement.matches(s), selector, { timeout: 15_000 })
      .catch(async () =>
        assert.fail(`${what}: ${await page.evaluate(() => document.activeElement.outerHTML.slice(0, 200))}`),
      );
  const { traces } = await api('traces', { ...ALL, service: 'checkout', sort: 'samples', limit: 1 });
  for (const key of ['f', 'h', 'i']) {
    await page.goto(`${PAGE}/traces/${traces[0].trace}`);
    await shown(page);
    await page.locator('.flame-box').first().focus();
    await page.keyboard.press('End');
    await page.keyboard.press(key);
    await page.locator('.chip').waitFor();
    await page.waitForLoadState('networkidle');
    await page.locator('[aria-busy=false] > .flame').waitFor();
    await at(key, '.flame-box');
  }
  step('after r and i the function is still selected; without one a key of the lens says so');
  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  await page.locator('.flame-box').first().focus();
  await page.keyboard.press('F');
  await page.locator('#announce', { hasText: 'Select a frame first' }).waitFor();
  await page.keyboard.press('End');
  for (const key of ['r', 'i']) {
    await page.keyboard.press(key);
    await page.waitForURL(
      (u) => u.searchParams.get('lens')?.includes(key === 'r' ? 'recursion' : 'invert') && u.searchParams.has('frame'),
    );
    await drawn(page, 'the same function', () => window.__wherefore.flame.frame === 'json::parse_object');
  }
  await page.keyboard.press('F');
  await page.waitForURL((u) => u.searchParams.get('lens').includes('focus-path'));

  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  for (const [name, chip] of [
    ['Invert', 'Remove invert'],
    ['Merge templates', 'Remove merge-templates'],
  ]) {
    await page.getByRole('button', { name, exact: true }).focus();
    await page.keyboard.press('Enter');
    await at(name, `[aria-label="${chip}"]`);
  }
  await page.getByRole('button', { name: 'Remove invert' }).focus();
  await page.keyboard.press('Enter');
  await at('the next chip', '[aria-label="Remove merge-templates"]');
  await page.keyboard.press('Enter');
  await at('no chip is left', '[aria-label^="Add a step"]');
}

export async function lensKeys(page) {
  await keepsFocus(page);
  await transforms(page);
  await timeAxis(page);
  await liveAxis(page);
  await walkedSteps(page);
  await plainText(page);
  await marked(page);
}
