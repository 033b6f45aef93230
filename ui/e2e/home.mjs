// Home and what it leads to: the table of services equals the API, own code is charged as the API charges it, Ctrl K
// finds functions and versions everywhere, and a graph can be copied as an image.
import assert from 'node:assert/strict';
import { ALL, api, CHECKOUT, drawn, PAGE, step } from './browser.mjs';

const names = (page) => page.locator('table.services tbody th a:not(.mark-count)').allTextContents();

async function table(page) {
  step('home: CPU per request, latencies and where the time went, as the API says; sorted by any column');
  await page.goto(PAGE + '/');
  const { services } = await api('overview', { ...ALL, where: '12' });
  await page
    .locator('table.services tbody tr')
    .nth(services.length - 1)
    .waitFor();
  const asked = services.filter((s) => s.latency);
  assert.ok(asked.length > 1, 'several services have requests');
  const shares = (s) =>
    Object.entries(s.where.parts)
      .map(([part, { value }]) => [part, (100 * Number(value)) / Number(s.where.duration_ns)])
      .filter(([, share]) => share > 0);
  for (const s of asked) {
    const row = page.locator('table.services tbody tr', { has: page.getByRole('link', { name: s.name, exact: true }) });
    const drawnShares = await row
      .locator('.account-bar')
      .evaluate((bar) => [...bar.children].map((i) => [i.dataset.part, parseFloat(i.style.width)]));
    assert.deepEqual(
      drawnShares.map(([part]) => part).sort(),
      shares(s)
        .map(([part]) => part)
        .sort(),
      s.name,
    );
    const wanted = Object.fromEntries(shares(s));
    for (const [part, share] of drawnShares) assert.ok(Math.abs(share - wanted[part]) < 0.1, `${s.name} ${part}`);
    for (const { name } of s.own_top) assert.ok(await row.locator(`bdi[title=${JSON.stringify(name)}]`).count(), name);
  }
  for (const [heading, sort, value] of [
    ['p99', 'p99', (s) => (s.latency ? Number(s.latency.p99_ns) : -1)],
    ['p50', 'median', (s) => (s.latency ? Number(s.latency.median_ns) : -1)],
  ]) {
    await page.getByRole('button', { name: heading, exact: true }).click();
    await page.waitForURL(new RegExp(`sort=${sort}`));
    const order = [...services].sort((a, b) => value(b) - value(a) || a.name.localeCompare(b.name));
    assert.deepEqual(
      await names(page),
      order.map((s) => s.name),
      heading,
    );
  }
  await page.reload();
  await page.locator('th[aria-sort=descending]', { hasText: 'p50' }).waitFor();

  step('home: an empty range is not an empty server');
  await page.goto(`${PAGE}/?from=1500000000000&to=1500000060000`);
  await page.getByText('Nothing was sent in this range.').waitFor();
  await page.getByRole('link', { name: 'all time' }).click();
  await page.locator('table.services tbody tr').first().waitFor();
}

async function ownCode(page) {
  step('own code: the default from home, charged as the API does it; one key shows everything');
  await page.goto(PAGE + '/');
  await page.getByRole('link', { name: 'checkout', exact: true }).click();
  await page.waitForURL(/lens=own/);
  const nodes = (n) => drawn(page, `${n} frames`, (v) => window.__wherefore?.flame?.nodes === v, n);
  const whole = await api('flame', { ...ALL, query: CHECKOUT });
  await nodes((await api('flame', { ...ALL, query: CHECKOUT, own: 'default' })).nodes);
  const rules = '-^json::';
  const own = await api('flame', { ...ALL, query: CHECKOUT, own: rules });
  assert.equal(own.total, whole.total, 'no total changes');
  assert.ok(own.nodes < whole.nodes, `${own.nodes} of ${whole.nodes} frames`);
  const field = page.getByLabel(/^Rules before the defaults/);
  await page.locator('summary[aria-label="What is own code"]').click();
  await field.fill('json::');
  await page.getByText('is no rule').waitFor();
  await field.fill(rules);
  await page.getByRole('button', { name: 'Use', exact: true }).click();
  await page.waitForURL((u) => u.searchParams.get('lens') === `own:${rules}`);
  await nodes(own.nodes);
  await page.reload();
  await nodes(own.nodes);
  await page.getByTestId('summary').filter({ hasText: 'what libraries did is charged to own code' }).waitFor();
  await page.locator('.flame-box').first().focus();
  await page.keyboard.press('End');
  const at = await page.evaluate(() => window.__wherefore.flame.frame);
  await page.keyboard.press('e');
  await page.waitForURL((u) => !u.searchParams.has('lens'));
  await nodes(whole.nodes);
  await drawn(page, 'the same function', (name) => window.__wherefore.flame.frame === name, at);
  await page.getByRole('button', { name: 'Own code', exact: true }).click();
  await page.waitForURL((u) => u.searchParams.get('lens') === 'own');
}

async function ownDifference(page) {
  step('own code: both sides of a difference are charged alike; e shows everything; what is sure has a colour');
  const side = (v) => `checkout{service.version="${v}"}`;
  const asked = { query: side('v2'), base_query: side('v1'), mode: 'share' };
  const whole = await api('diff', { ...ALL, ...asked });
  const rules = '-^json::';
  const own = await api('diff', { ...ALL, ...asked, own: rules });
  const before = (answer) => answer.before_self.reduce((sum, v) => sum + Number(v), 0);
  assert.deepEqual([own.total, before(own)], [whole.total, before(whole)], 'no total changes');
  assert.ok(own.nodes < whole.nodes, `${own.nodes} of ${whole.nodes} frames`);
  const grew = own.verdict.findIndex((v, i) => v === 'more' && i > 0);
  assert.ok(grew > 0, 'something surely grew');
  const nodes = (n) => drawn(page, `${n} frames`, (v) => window.__wherefore?.flame?.nodes === v, n);
  await page.goto(`${PAGE}/diff?${new URLSearchParams({ ...asked, lens: `own:${rules}` })}`);
  await nodes(own.nodes);
  const found = await page.evaluate((n) => window.__wherefore.flame.sure(n), own.functions[own.function[grew]][0]);
  assert.equal(found.sure, 1);
  await page.locator('.flame-box').first().focus();
  await page.keyboard.press('e');
  await page.waitForURL((u) => !u.searchParams.has('lens'));
  await nodes(whole.nodes);
  await page.getByRole('button', { name: 'Own code', exact: true }).click();
  await page.waitForURL((u) => u.searchParams.get('lens') === 'own');
  await nodes((await api('diff', { ...ALL, ...asked, own: 'default' })).nodes);
}

async function jump(page, from, text, option) {
  await page.goto(PAGE + from);
  await page.locator('h1').waitFor();
  await page.keyboard.press('Control+k');
  await page.locator('.palette input:focus').waitFor();
  await page.keyboard.type(text);
  const found = page.getByRole('option', { name: option });
  await found.first().waitFor();
  await found.first().click();
}

async function finds(page) {
  step('Ctrl K: a function and a version, from a page that shows no service');
  await jump(page, '/', 'parse_obj', /json::parse_object function of checkout/);
  await page.waitForURL(/\/s\/checkout.*search=/);
  await drawn(page, 'it is found', () => window.__wherefore?.flame?.matched > 0);
  await jump(page, '/status', 'v2', /v2 version of checkout/);
  await page.waitForURL(/\/s\/checkout/);
  const query = '{service_name="checkout", service.version="v2"}';
  const { total } = await api('flame', { since: '1d', query, own: 'default' });
  await drawn(page, 'that version', (v) => window.__wherefore?.flame?.total === v, Number(total));
}

async function insights(page) {
  step('insights: findings as the API says, by cores saved; evidence is the graph with its frames searched');
  const { findings, total } = await api('insights', ALL);
  await page.goto(PAGE + '/insights');
  await page
    .getByTestId('looked')
    .filter({ hasText: new RegExp(`^${total} findings? `) })
    .waitFor();
  const shown = await page.locator('.finding').evaluateAll((all) => all.map((f) => f.dataset.rule));
  assert.deepEqual(
    shown,
    findings.map((f) => f.rule),
  );
  const at = findings.findIndex((f) => f.type !== 'spans');
  if (at < 0) return;
  await page.locator('.finding').nth(at).getByRole('link', { name: 'Evidence' }).click();
  await page.waitForURL((u) => u.searchParams.get('search') === findings[at].search);
  await drawn(page, 'its frames', () => window.__wherefore?.flame?.matched > 0);
}

async function image(page) {
  step('copy as image: title, graph, legend and address on the clipboard');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: PAGE });
  await page.goto(PAGE + '/s/checkout');
  await drawn(page, 'the graph', () => window.__wherefore?.flame?.total > 0);
  await page.locator('summary', { hasText: 'Export' }).click();
  await page.getByRole('button', { name: 'Copy as image' }).click();
  await page.locator('#announce', { hasText: 'Copied.' }).waitFor();
  const [copied, canvas] = await page.evaluate(async () => {
    const [item] = await navigator.clipboard.read();
    const bitmap = await createImageBitmap(await item.getType('image/png'));
    const graph = document.querySelector('.flame-view canvas');
    return [
      [bitmap.width, bitmap.height],
      [graph.width, graph.height],
    ];
  });
  assert.ok(copied[0] > canvas[0] && copied[1] > canvas[1] + 100, `${copied} around ${canvas}`);

  step('print: no controls, light in the dark theme too');
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  // What is chosen stays, as a word.
  const controls = '.flame-bar button:visible, .bar:visible, .toolbar button:visible:not([aria-pressed=true])';
  assert.equal(await page.locator(controls).count(), 0);
  await drawn(page, 'in light colours', () => document.documentElement.dataset.theme === 'light');
  await page.getByTestId('summary').waitFor();
  await page.emulateMedia({ media: 'screen', colorScheme: 'light' });
}

export async function home(page) {
  await table(page);
  await ownCode(page);
  await ownDifference(page);
  await finds(page);
  await insights(page);
  await image(page);
}
