// What is stored, what is kept of it and why, and what insights lead to (tests/ui_kept_test.py): the status page equals
// the API; a window is pinned and unpinned by keyboard alone, on a service and on a trace; evidence of an insight is
// the graph with its frames searched. PART=nothing is about a server that has nothing yet.
import assert from 'node:assert/strict';
import { accessible, api, box, drawn, open, PAGE, step, tabTo } from './browser.mjs';
import { narrow, reflows } from './reflow.mjs';

const { context, page, problems } = await open();
const dialog = page.getByRole('dialog', { name: 'Keep this window' });
const pins = async () => (await api('pins')).pins;
const day = (ms) => new Date(Number(ms)).toISOString().slice(0, 10);
const FROM = Number(process.env.FROM); // of a window with data, some days ago
const TO = FROM + 3600e3;

// What the pages about something say without it.
const SAYS = {
  '/': 'Nothing has been sent to this server yet.',
  '/traces': 'No trace matches.',
  '/insights': /^no profiles at all between/,
  '/regressions': 'No new version was looked at yet',
  '/alerts': 'No rules yet.',
  '/status': 'Nothing is stored yet.',
};

async function nothing() {
  step('a server without anything: every page of the menu says so, none is dead');
  await page.goto(PAGE + '/');
  const menu = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
  const addresses = await menu.evaluateAll((all) => all.map((a) => a.getAttribute('href')));
  for (const address of addresses) {
    await page.goto(PAGE + address);
    await page.locator('h1').first().waitFor();
    await page.waitForLoadState('networkidle');
    if (SAYS[address]) await page.locator('main').getByText(SAYS[address]).first().waitFor();
    assert.equal(await page.getByRole('alert').count(), 0, address);
  }
  step('status: nothing is stored, nothing is kept');
  await page.goto(PAGE + '/status');
  await page.getByText('Nothing is stored yet.').waitFor();
  await page.getByText(/^None\. “Keep this window…”/).waitFor();
  await everywhere('status without anything');
}

// "1.23 KiB" in bytes.
const SIZES = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };
const bytes = (text) => parseFloat(text) * SIZES[text.split(' ')[1]];
const close = (text, wanted, what) =>
  assert.ok(Math.abs(bytes(text) - wanted) <= 0.006 * wanted, `${what}: ${text}, not ${wanted}`);

async function stored() {
  step('status: a row for each day, newest first, with the bytes of each kind, as the API says');
  await page.goto(PAGE + '/status');
  const rows = page.locator('table.stored tbody tr');
  await rows.first().waitFor();
  const { days } = await api('storage');
  const names = [...new Set(days.map((d) => d.day))].sort().reverse();
  assert.ok(names.length > 4, names.join());
  assert.deepEqual(await rows.evaluateAll((all) => all.map((r) => r.dataset.day)), names);
  const heads = await page.locator('table.stored thead th').allTextContents();
  assert.deepEqual(heads, ['Day', 'spans', 'links', 'samples', 'hours', 'profiles and names', 'Total', 'Goes']);
  const of = (test) => days.filter(test).reduce((sum, d) => sum + Number(d.bytes), 0);
  const old = days.filter((d) => d.day !== names[0]); // today's parts may merge in between
  for (const { day: name, kind, bytes: size } of old) {
    const cell = page.locator(`tr[data-day="${name}"] td`).nth(heads.indexOf(kind) - 1);
    close(await cell.textContent(), Number(size), `${kind} of ${name}`);
  }
  const total = page.locator(`tr[data-day="${names[1]}"] td`).nth(5);
  close(
    await total.textContent(),
    of((d) => d.day === names[1]),
    'the total of a day',
  );
  await page.locator('table.stored tfoot', { hasText: 'All days' }).waitFor();
  const goes = await page.locator(`tr[data-day="${names[1]}"] time`).evaluateAll((all) => all.map((t) => t.dateTime));
  const told = [...new Set(days.filter((d) => d.day === names[1]).map((d) => Date.parse(d.goes)))].sort();
  assert.deepEqual(goes.map(Date.parse), told, 'what goes when');
  await page.getByTestId('stored').getByText('Next to go: ').waitFor();
  await everywhere('status');
}

async function keepByKeyboard() {
  step('a window of a service is kept by keyboard alone: it asks why and says what stays');
  await page.goto(`${PAGE}/s/shop?from=${FROM - 3600e3}&to=${TO + 3600e3}&sel=${FROM - 60e3}-${TO}`);
  await drawn(page, 'the graph', () => window.__wherefore?.flame?.total > 0);
  await tabTo(page, 'the menu', () => document.activeElement.matches('summary[aria-label=More]'));
  await page.keyboard.press('Enter');
  await tabTo(page, 'Keep', () => document.activeElement.textContent === 'Keep this window…');
  await page.keyboard.press('Enter');
  await dialog.waitFor();
  await dialog.getByText(`${day(FROM)} (UTC)`).waitFor();
  assert.ok(
    await page.evaluate(() => document.activeElement.matches('dialog input')),
    'the focus is where one writes why',
  );
  assert.ok(await dialog.getByRole('button', { name: 'Keep', exact: true }).isDisabled(), 'not without a reason');
  await page.keyboard.type('incident 42');
  await page.keyboard.press('Enter');
  await page
    .getByTestId('kept-window')
    .filter({ hasText: `Kept. What stays whole: ${day(FROM)}.` })
    .waitFor();
  const [pin] = await pins();
  assert.deepEqual(
    [pin.service, Date.parse(pin.from), Date.parse(pin.to), pin.why],
    ['shop', FROM - 60e3, TO, 'incident 42'],
  );
  await dialog.locator(`tr[data-pin="${pin.id}"]`, { hasText: 'incident 42' }).waitFor();
  await everywhere('keep a window');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  assert.ok(await page.evaluate(() => document.activeElement.matches('summary[aria-label=More]')), 'the focus is back');
  return pin;
}

async function unpinByKeyboard(pin) {
  step('it is marked on the timeline and counted below it; status has it with its day, and removes it');
  await page.locator('.marks [data-mark=pin] a[aria-label*="incident 42"]').waitFor();
  await page.getByRole('link', { name: '■ 1 window is kept' }).click();
  await page.waitForURL((u) => u.pathname === '/status' && u.searchParams.get('service') === 'shop');
  const row = page.locator(`tr[data-pin="${pin.id}"]`);
  await row.getByText('incident 42').waitFor();
  await page.locator(`tr[data-day="${day(FROM)}"] .pinned`).waitFor();
  await page.getByTestId('stored').getByText('1 day is pinned.').waitFor();
  await everywhere('status with a pin');
  await page.setViewportSize({ width: 1440, height: 900 });
  await tabTo(page, 'Remove', () => /^Remove the pin of shop/.test(document.activeElement.ariaLabel ?? ''));
  await page.keyboard.press('Enter');
  await page.getByText(/^None\. “Keep this window…”/).waitFor();
  assert.deepEqual(await pins(), []);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Windows that are kept');
  await page
    .locator(`tr[data-day="${day(FROM)}"] time`)
    .first()
    .waitFor();
}

async function keepTrace() {
  step('the window of a trace, with the trace as the reason; removed in the same dialog');
  await page.goto(`${PAGE}/traces/${process.env.TRACE}`);
  await page.locator('.wf-box').waitFor();
  const keep = page.getByRole('button', { name: 'Keep this window…' });
  await keep.click();
  assert.equal(await dialog.getByLabel('Why').inputValue(), `trace ${process.env.TRACE}`);
  await dialog.getByRole('button', { name: 'Keep', exact: true }).click();
  await dialog.locator('tr[data-pin]').waitFor();
  assert.equal((await pins())[0].why, `trace ${process.env.TRACE}`);
  await dialog.getByRole('button', { name: /^Remove the pin/ }).click();
  await dialog.locator('tr[data-pin]').waitFor({ state: 'hidden' });
  assert.deepEqual(await pins(), []);
  await dialog.getByRole('button', { name: 'Close' }).click();
  await dialog.waitFor({ state: 'hidden' });
  assert.ok(await keep.evaluate((b) => b === document.activeElement), 'the focus is back');

  step('a window that is too long is not offered');
  await page.goto(`${PAGE}/s/shop?since=90d`);
  await page.locator('summary[aria-label=More]').click();
  await page.getByRole('button', { name: 'Keep this window…' }).click();
  await dialog.getByText('A pin keeps at most 31 days, and this is 90 days').waitFor();
  await dialog.getByLabel('Why').fill('all of it');
  assert.ok(await dialog.getByRole('button', { name: 'Keep', exact: true }).isDisabled());
  await dialog.getByRole('link', { name: /^What is stored/ }).click();
  await page.waitForURL((u) => u.pathname === '/status');
  await dialog.waitFor({ state: 'hidden' });
}

// Answers no server of this version gives.
async function odd() {
  step('answers that cannot be read, or come from another version, are said to be');
  const answer = (path, status, json) => page.route(`**/api/v1/${path}`, (r) => r.fulfill({ status, json }));
  const error = { error: { code: 'not_found', message: 'no such route' } };
  await answer('storage', 200, {});
  const until = new Date(Date.now() + 3.2 * 86400e3).toISOString();
  const pin = { id: '1', service: 'shop', from: until, to: until, why: 'alert Hot', time: until, until };
  await answer('pins', 200, { pins: [pin] });
  await page.goto(PAGE + '/status');
  await page.getByRole('alert').filter({ hasText: 'cannot be read' }).waitFor();
  await page.locator('table.pins tbody tr', { hasText: 'in 3 d' }).waitFor();
  await page.unrouteAll();
  await answer('storage', 404, error);
  await answer('pins', 404, error);
  await page.goto(PAGE + '/status');
  await page.getByText('This server does not say what it stores.').waitFor();
  await page.getByText('This server keeps no windows.').waitFor();
  await page.unrouteAll();
}

async function insights() {
  step('insights: evidence opens the graph of everything with the frames searched, as the API counts them');
  const { findings } = await api('insights', { since: '1h' });
  const graphs = findings.filter((f) => f.type !== 'spans');
  assert.ok(
    ['shop', 'go'].every((name) => graphs.some((f) => f.service === name)),
    graphs.map((f) => `${f.rule} of ${f.service}`).join(),
  );
  for (const f of graphs) {
    await page.goto(PAGE + '/insights');
    const card = page.locator(`.finding[data-rule="${f.rule}"][aria-label="${f.title}, ${f.service}"]`);
    await card.getByRole('link', { name: 'Evidence' }).click();
    await page.waitForURL((u) => u.pathname === `/s/${f.service}` && u.searchParams.get('search') === f.search);
    const query = `{service_name="${f.service}"}`;
    const { search } = await api('flame', { since: '1h', query, type: f.type, search: f.search });
    await drawn(page, `frames of ${f.rule}`, (v) => window.__wherefore?.flame?.matched === v, Number(search.value));
    assert.ok(Number(search.value) > 0, f.rule);
    await page.reload();
    await drawn(page, 'the same after a reload', (v) => window.__wherefore?.flame?.matched === v, Number(search.value));
    await page.keyboard.press('Escape');
    await page.locator('.flame-box').focus();
    await page.keyboard.press('n');
    await page.waitForURL((u) => u.searchParams.has('frame'));
    assert.ok(await box(page, f.function.name), `${f.function.name} is drawn`);
  }
  step('nothing found: it is said, and no mark is shown');
  await page.goto(`${PAGE}/insights?query=${encodeURIComponent('{service_name="shop"}')}&rule=go-gc`);
  await page.getByText('None of the known patterns surely costs more than it must.').waitFor();
  await page.goto(`${PAGE}/s/quiet`);
  await drawn(page, 'the graph', () => window.__wherefore?.flame?.total > 0);
  await page.waitForLoadState('networkidle');
  assert.equal(await page.locator('.marks, .mark-count').count(), 0);
}

// Both themes, and as narrow as a phone.
async function everywhere(what) {
  // What was announced fades, and is no text to be read then.
  await page.waitForFunction(() => {
    const said = document.getElementById('announce');
    return said === null || getComputedStyle(said).opacity === '0';
  });
  for (const theme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await accessible(page, `${what} (${theme})`);
    if (!process.env.SHOTS) continue;
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await page.waitForTimeout(100); // the header follows
      await page.screenshot({ path: `${process.env.SHOTS}/${what} ${theme} ${width}.png`, fullPage: true });
    }
    await page.setViewportSize({ width: 1440, height: 900 });
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await narrow(page);
  await reflows(page, what);
  await page.setViewportSize({ width: 1440, height: 900 });
}

try {
  if (process.env.PART === 'nothing') await nothing();
  else {
    await stored();
    await unpinByKeyboard(await keepByKeyboard());
    await keepTrace();
    await insights();
    assert.deepEqual(problems, []);
    await odd();
    problems.splice(0, problems.length, ...problems.filter((p) => !p.includes('404')));
  }
  assert.deepEqual(problems, []);
} finally {
  await context.close();
}
console.log('  all fine');
