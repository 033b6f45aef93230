// The actions of a frame: its menu by pointer and by key on every page with a graph, and what the actions do.
import assert from 'node:assert/strict';
import { accessible, ALL, api, CHECKOUT, clickBox, drawn, flame, newest, PAGE, step } from './browser.mjs';
import { narrow, reflows } from './reflow.mjs';

const PAY = 'handle_pay(Request const&)';
const menu = (page) => page.getByRole('menu');
const closed = (page) => menu(page).waitFor({ state: 'detached' });
const texts = (page) => page.locator('[role=menuitem] > span').allTextContents();
const focused = (page) =>
  page.evaluate(() => document.activeElement.querySelector('span')?.textContent ?? document.activeElement.className);
const shown = (page) => drawn(page, 'a flame graph', () => window.__wherefore?.flame?.count > 0);
const inside = async (page) => {
  const box = await page.locator('.frame-menu').boundingBox();
  const { width, height } = page.viewportSize();
  assert.ok(
    box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height,
    `the menu is at ${JSON.stringify(box)} of ${width} x ${height}`,
  );
};

async function byPointer(page) {
  step('menu: a right click offers what the inspector does; a left click still zooms');
  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  await clickBox(page, PAY, { button: 'right' });
  await menu(page).waitFor();
  await inside(page);
  assert.deepEqual([(await flame(page)).frame, (await flame(page)).zoom], [PAY, 'all']);
  const offered = await texts(page);
  const inspected = await page
    .locator('.inspector .actions > *')
    .evaluateAll((all) => all.map((a) => a.firstChild.textContent));
  assert.deepEqual(inspected.sort(), [...offered].sort());
  assert.deepEqual(offered, [
    'Zoom',
    'Focus',
    'Hide',
    'Merge',
    'Collapse',
    'Drop',
    'Collapse recursion',
    'Focus here',
    'Merge here',
    'Search its name',
    'Copy name',
    'Copy stack',
    'Copy for incident',
    'Callers and callees',
    'Source',
    'Traces with it',
    'Open in diff',
  ]);
  await accessible(page, "a frame's menu");
  await page.setViewportSize({ width: 1440, height: 700 });
  await closed(page);
  for (const [what, act] of [
    ['a click elsewhere', () => page.locator('h1').click()],
    ['scrolling', () => page.evaluate(() => document.querySelector('.flame-box').dispatchEvent(new Event('scroll')))],
    ['another size of the window', () => page.setViewportSize({ width: 1400, height: 710 })],
  ]) {
    if (!(await menu(page).count())) await clickBox(page, PAY, { button: 'right' });
    await menu(page).waitFor();
    await act();
    await closed(page).catch(() => assert.fail(`${what} leaves the menu open`));
    await page.evaluate(() => scrollTo(0, 0));
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await clickBox(page, PAY);
  await drawn(page, 'zoomed by a left click', () => window.__wherefore?.flame?.zoom.startsWith('handle_pay'));
  await page.goBack();
}

async function byKey(page) {
  step('menu: by key, walked by arrows, Home, End and letters; a printed key acts; Escape gives the focus back');
  await drawn(page, 'not zoomed', () => window.__wherefore?.flame?.zoom === 'all');
  const graph = page.locator('.flame-box').first();
  await graph.focus();
  await page.keyboard.press('End');
  for (const key of ['Shift+F10', 'ContextMenu']) {
    await page.keyboard.press(key);
    await menu(page).waitFor();
    await inside(page);
    await page.keyboard.press('Escape');
    await closed(page);
    await page.locator('.flame-box:focus').waitFor();
  }
  await page.keyboard.press('Shift+F10');
  const walked = [];
  for (const key of ['ArrowDown', 'ArrowUp', 'ArrowUp', 'Home', 'End', 'z']) {
    await page.keyboard.press(key);
    walked.push(await focused(page));
  }
  assert.deepEqual(walked, ['Focus', 'Zoom', 'Open in diff', 'Zoom', 'Open in diff', 'Zoom']);
  await page.keyboard.press('Tab');
  await closed(page);
  await page.locator('.flame-box:focus').waitFor();
  await page.keyboard.press('Shift+F10');
  await page.keyboard.press('d'); // printed beside Drop
  const dropped = await api('top', { ...ALL, query: CHECKOUT, lens: 'drop:^json::parse_object$' });
  const top = await api('top', { ...ALL, query: CHECKOUT });
  await drawn(page, 'dropped out of the menu', (v) => window.__wherefore?.flame?.total === v, Number(dropped.total));
  await page.locator('.flame-box:focus').waitFor();
  step('Ctrl+Z takes a lens back, Ctrl+Shift+Z puts it there again; neither leaves the page');
  await page.keyboard.press('Control+z');
  await drawn(page, 'the lens taken back', (v) => window.__wherefore?.flame?.total === v, Number(top.total));
  await page.keyboard.press('Control+Shift+z');
  await drawn(page, 'the lens again', (v) => window.__wherefore?.flame?.total === v, Number(dropped.total));
  for (let i = 0; i < 8; i++) await page.keyboard.press('Control+z');
  await drawn(page, 'the lens taken back for good', (v) => window.__wherefore?.flame?.total === v, Number(top.total));
  assert.match(page.url(), /\/s\/checkout/);
}

async function inDiff(page) {
  step('menu: a frame against as long before, and it stays selected');
  const to = await newest('checkout');
  const from = to - 15 * 60e3;
  const [before, after] = await Promise.all(
    [
      [2 * from - to, from],
      [from, to],
    ].map(([a, b]) => api('top', { from: a, to: b, query: CHECKOUT })),
  );
  await page.goto(`${PAGE}/s/checkout?from=${from}&to=${to}`);
  await shown(page);
  await clickBox(page, PAY, { button: 'right' });
  await page.getByRole('menuitem', { name: 'Open in diff' }).click();
  await page.waitForURL(/\/diff/);
  await drawn(
    page,
    'both sides, the frame selected',
    ([a, b]) =>
      window.__wherefore?.flame?.totalBefore === a &&
      window.__wherefore.flame.total === b &&
      window.__wherefore.flame.frame.startsWith('handle_pay'),
    [Number(before.total), Number(after.total)],
  );
  await closed(page);
  await clickBox(page, PAY, { button: 'right' });
  assert.deepEqual((await texts(page)).slice(-4), [
    'Copy for incident',
    'Callers and callees',
    'Source',
    'Traces with it',
  ]);
  await page.getByRole('menuitem', { name: 'Callers and callees' }).click();
  await page.waitForURL(/\/s\/checkout\?.*view=sandwich/);
  await drawn(page, 'the sandwich', () => window.__wherefore?.callers?.count > 0);
  await page.locator('section[aria-label=Callees] .flame-box').focus();
  for (const key of ['Home', 'ArrowDown', 'ArrowDown', 'Shift+F10']) await page.keyboard.press(key);
  assert.ok((await texts(page)).includes('Open in diff'));
  await page.getByRole('menuitem', { name: 'Callers and callees' }).click();
  await page.waitForURL((u) => u.searchParams.get('fn') !== PAY);
}

async function elsewhere(page) {
  step('menu: in a call tree, a file, a whole trace');
  await page.goto(PAGE + '/s/checkout?view=tree');
  await page.locator('.ct-box .ct-row').first().click({ button: 'right' });
  await menu(page).waitFor();
  assert.equal((await texts(page))[0], 'Zoom');
  await page.keyboard.press('Escape');
  await page.locator('.calltree:focus').waitFor();
  await page.keyboard.press('Shift+F10');
  await menu(page).waitFor();
  await page.goto(PAGE + '/adhoc');
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'm.folded', mimeType: 'text/plain', buffer: Buffer.from('main;a 30\nmain;b 12\n') });
  await drawn(page, 'the file', () => window.__wherefore?.flame?.count === 42);
  await clickBox(page, 'a', { button: 'right' });
  const why = page.getByRole('menuitem', { name: /Callers, source, traces/ });
  assert.equal(await why.getAttribute('aria-disabled'), 'true');
  assert.match(await why.textContent(), /only for stored profiles/);
  await accessible(page, 'a menu that says why');
}

async function pointing(page) {
  step('a drag moves the graph and zooms nothing; a colour of the legend is marked');
  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  await page.locator('.flame-box').first().focus();
  for (let i = 0; i < 3; i++) await page.keyboard.press('+');
  await drawn(
    page,
    'closer',
    () => window.__wherefore.flame.range[1] - window.__wherefore.flame.range[0] < 0.5 * window.__wherefore.flame.total,
  );
  const { range } = await flame(page);
  const area = await page.locator('.flame-view').first().boundingBox();
  await page.mouse.move(area.x + 700, area.y + 50);
  await page.mouse.down();
  await page.mouse.move(area.x + 500, area.y + 50, { steps: 4 });
  await page.mouse.up();
  const wanted = range[0] + (200 / area.width) * (range[1] - range[0]);
  await drawn(page, 'moved along', (v) => Math.abs(window.__wherefore.flame.range[0] / v - 1) < 1e-6, wanted);
  assert.equal((await flame(page)).zoom, 'all');
  await page.mouse.move(area.x + 300, area.y + 90);
  await page.getByRole('tooltip').getByText('of its caller').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('tooltip').waitFor({ state: 'detached' });
  await page.mouse.move(5, 5);
  const painted = () =>
    page.evaluate(() => {
      const c = document.querySelectorAll('.flame-view canvas')[1];
      return c
        .getContext('2d')
        .getImageData(0, 0, c.width, c.height)
        .data.reduce((n, v, i) => n + (i % 4 === 3 && v > 0 ? 1 : 0), 0);
    });
  const before = await painted();
  const json = page.getByRole('group', { name: 'Colours' }).getByRole('button', { name: /^json/ });
  await json.click();
  assert.equal(await json.getAttribute('aria-pressed'), 'true');
  assert.ok((await painted()) > before + 20_000, 'the others are dimmed');
  await json.click();
  assert.ok((await painted()) <= before + 1000, 'nothing is marked');
}

async function wholeTrace(page) {
  step('a whole trace: the keys of its flame graph');
  const { traces } = await api('traces', { ...ALL, service: 'checkout', min_duration: '500ms', limit: 200 });
  await page.goto(`${PAGE}/traces/${traces[0].trace}`);
  const { total } = await api(`traces/${traces[0].trace}/flame`);
  await drawn(page, 'the trace', (v) => window.__wherefore?.flame?.total === v, Number(total));
  const graph = page.locator('.flame-box').first();
  const hottest = async () => {
    await graph.focus();
    await page.keyboard.press('End');
    await drawn(page, 'the hottest', () => window.__wherefore?.flame?.frame === 'json::parse_object');
  };
  await hottest();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await drawn(page, 'zoomed', () => window.__wherefore.flame.zoom.startsWith('json::parse('));
  await page.keyboard.press('Backspace');
  await drawn(page, 'zoomed back', () => window.__wherefore.flame.zoom === 'all');
  await hottest();
  await page.keyboard.press('*');
  await page.waitForURL((u) => u.searchParams.get('search') === '^json::parse_object$');
  await drawn(page, 'its name searched', () => window.__wherefore.flame.matched > 0);
  await page.keyboard.press('n');
  await page.keyboard.press('/');
  await page.locator('input[type=search]:focus').waitFor();
  await page.keyboard.press('Escape');
  await hottest();
  await page.keyboard.press('d');
  await page.getByRole('button', { name: /^Remove drop/ }).waitFor();
  await page.keyboard.press('Control+z');
  await drawn(page, 'without the lens', (v) => window.__wherefore.flame.total === v, Number(total));
  for (const [key, view] of [
    ['s', 'sandwich'],
    ['o', 'source'],
    ['t', 'traces'],
  ]) {
    await hottest();
    await page.keyboard.press(key);
    await page.waitForURL(new RegExp(`/s/checkout\\?.*view=${view}.*fn=json`));
    await page.goBack();
    await drawn(page, 'the trace again', (v) => window.__wherefore?.flame?.total === v, Number(total));
  }
}

async function smallScreen(page) {
  step('menu: at 320 pixels it is inside the window');
  await narrow(page);
  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  await page.locator('.flame-box').first().scrollIntoViewIfNeeded();
  await clickBox(page, PAY, { button: 'right' });
  await menu(page).waitFor();
  await inside(page);
  await reflows(page, "a frame's menu");
  await page.keyboard.press('End');
  assert.equal(await focused(page), 'Open in diff');
  await page.setViewportSize({ width: 1440, height: 900 });
}

export async function actions(page) {
  await byPointer(page);
  await byKey(page);
  await inDiff(page);
  await elsewhere(page);
  await pointing(page);
  await wholeTrace(page);
  await smallScreen(page);
}
