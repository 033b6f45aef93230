// One service: its row in the overview, its flame graph, and everything that narrows it: lens, filter, selection.
import assert from 'node:assert/strict';
import { ALL, api, box, CHECKOUT, clickBox, dragTimeline, drawn, flame, PAGE, selection, step } from './browser.mjs';

async function overview(page) {
  step('overview: services by cores, linked');
  await page.goto(PAGE + '/');
  await page.getByRole('link', { name: 'checkout', exact: true }).waitFor();
  const { services, observed_ms } = await api('overview', ALL);
  assert.equal(await page.locator('table.services tbody tr').count(), services.length);
  const cores = Number((await api('top', { ...ALL, query: CHECKOUT, type: 'cpu' })).total) / 1e6 / observed_ms;
  const row = page.locator('table.services tbody tr', {
    has: page.getByRole('link', { name: 'checkout', exact: true }),
  });
  assert.ok(
    Math.abs(parseFloat(await row.locator('td').first().textContent()) - cores) < 0.05,
    `cores ${await row.locator('td').first().textContent()} against ${cores}`,
  );
  await row.getByText('json::parse_object').waitFor();
  await row.getByRole('link', { name: /v2 of checkout is new/ }).waitFor();
  const gateway = page.locator('table.services tbody tr', {
    has: page.getByRole('link', { name: 'gateway', exact: true }),
  });
  const { latency } = services.find((s) => s.name === 'gateway');
  const [median, p99] = [latency.median_ns, latency.p99_ns].map((ns) => `${Number(ns) / 1e6} ms`);
  await gateway.getByRole('link', { name: `Traces of gateway: median ${median}, p99 ${p99}` }).waitFor();
}

async function graph(page) {
  step("service: the flame graph has the API's total");
  await page.getByRole('link', { name: 'checkout', exact: true }).click();
  await drawn(page, 'a flame graph', () => window.__wherefore?.flame?.count > 0);
  const top = await api('top', { ...ALL, query: CHECKOUT });
  const f = await flame(page);
  assert.equal(f.total, Number(top.total));
  assert.equal(f.count, Number(top.count));
  assert.equal((await box(page, 'json::parse_object')) !== null, true);
  await page.locator('.plot canvas').first().waitFor();

  step('zoom; back; forward; reload');
  await clickBox(page, 'handle_pay(Request const&)');
  await drawn(page, 'zoomed', () => window.__wherefore?.flame?.zoom.startsWith('handle_pay'));
  await drawn(
    page,
    'as wide as the view',
    () =>
      window.__wherefore?.flame?.box('handle_pay(Request const&)').w >
      0.98 * document.querySelector('.flame-view').clientWidth,
  );
  await page.reload();
  await drawn(page, 'zoomed after a reload', () => window.__wherefore?.flame?.zoom.startsWith('handle_pay'));
  await page.goBack();
  await drawn(page, 'zoomed out after back', () => window.__wherefore?.flame?.zoom === 'all');
  await page.goForward();
  await drawn(page, 'zoomed after forward', () => window.__wherefore?.flame?.zoom.startsWith('handle_pay'));
  await page.goBack();

  step('search: matched share');
  await page.getByLabel('Search').fill('json::parse_obj');
  const parse = top.rows.find((r) => r.name === 'json::parse_object');
  await drawn(page, 'matched value', (v) => window.__wherefore?.flame?.matched === v, Number(parse.total));
  await page.reload();
  await drawn(page, 'matched after a reload', (v) => window.__wherefore?.flame?.matched === v, Number(parse.total));
  await page.getByLabel('Search').fill('');

  step('keyboard: the hot path, zoom, and back out');
  await page.locator('.flame-box').first().focus();
  await page.keyboard.press('End');
  await drawn(page, 'hot path', () => window.__wherefore?.flame?.frame === 'json::parse_object');
  assert.match(
    await page.locator('.flame [aria-live]').textContent(),
    /json::parse_object, .* percent plus or minus .* level 6/,
  );
  await page.keyboard.press('ArrowUp');
  await drawn(page, 'caller', () => window.__wherefore?.flame?.frame.startsWith('json::parse('));
  await page.keyboard.press('Enter');
  await drawn(page, 'zoomed by key', () => window.__wherefore?.flame?.zoom.startsWith('json::parse('));
  await page.keyboard.press('Escape');
  await drawn(page, 'whole again', () => window.__wherefore?.flame?.zoom === 'all');

  step('closing the details gives the focus back to the graph');
  await page.keyboard.press('End');
  await page.getByRole('button', { name: 'Close details' }).click();
  await page.locator('.flame-box:focus').waitFor();
  return top;
}

async function narrowing(page, top) {
  step('lens: a chip, evaluated by the server');
  await page.keyboard.press('End');
  await page.getByRole('button', { name: 'Drop' }).click();
  const dropped = await api('top', { ...ALL, query: CHECKOUT, lens: 'drop:^json::parse_object$' });
  await drawn(page, 'without it', (v) => window.__wherefore?.flame?.total === v, Number(dropped.total));
  await page.getByRole('button', { name: /^Remove drop/ }).click();
  await drawn(page, 'with it again', (v) => window.__wherefore?.flame?.total === v, Number(top.total));

  step('filter by label');
  await page.locator('.menu summary', { hasText: 'filter' }).click();
  await page.getByLabel('Filter').fill('service.version="v1"');
  await page.getByRole('button', { name: 'Apply' }).click();
  const v1 = await api('top', { ...ALL, query: '{service_name="checkout", service.version="v1"}' });
  await drawn(page, 'v1 only', (v) => window.__wherefore?.flame?.total === v, Number(v1.total));
  await page.goBack();
  await drawn(page, 'all versions', (v) => window.__wherefore?.flame?.total === v, Number(top.total));

  step('drag on the timeline selects');
  await dragTimeline(page, 0.55, 0.75);
  const [from, to] = await selection(page);
  const part = await api('top', { from, to, query: CHECKOUT });
  assert.ok(Number(part.total) > 0 && Number(part.total) < Number(top.total));
  await drawn(page, 'the selection only', (v) => window.__wherefore?.flame?.total === v, Number(part.total));
  await page.reload();
  await drawn(page, 'the selection after a reload', (v) => window.__wherefore?.flame?.total === v, Number(part.total));
  return { from, to, part };
}

// Selects part of the timeline and returns it.
export async function service(page) {
  await overview(page);
  return narrowing(page, await graph(page));
}
