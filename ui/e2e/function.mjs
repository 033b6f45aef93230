// One function of a service in every view; each view leads back to the flame graph.
import assert from 'node:assert/strict';
import { api, CHECKOUT, drawn, step } from './browser.mjs';

async function table(page, { from, to, part }) {
  step("table: the API's rows");
  await page.getByRole('button', { name: 'Table' }).click();
  await page.locator('table.top tbody tr').first().waitFor();
  const rows = await api('top', { from, to, query: CHECKOUT });
  assert.equal(await page.locator('table.top tbody tr').count(), rows.rows.length);
  assert.equal(await page.locator('table.top tbody tr').first().locator('th').textContent(), rows.rows[0].name);
  await page.goBack();
  await drawn(page, 'the graph again', (v) => window.__wherefore?.flame?.total === v, Number(part.total));
  return rows;
}

async function callers(page, rows, part) {
  step("sandwich: callers and callees have the function's total");
  await page.locator('.flame-box').first().focus();
  await page.keyboard.press('End');
  await page.getByRole('link', { name: 'Callers and callees' }).click();
  const hot = rows.rows.find((r) => r.name === 'json::parse_object');
  await drawn(
    page,
    'both sides',
    (v) => window.__wherefore.callers?.total === v && window.__wherefore.callees?.total === v,
    Number(hot.total),
  );
  await page.locator('section[aria-label=Lines] table tbody tr').first().waitFor();
  await page.locator('section[aria-label=Callers] .flame-box').focus();
  for (const key of ['Home', 'ArrowUp', 'ArrowUp', 'Enter']) await page.keyboard.press(key);
  await page.waitForURL(/upzoom=/);
  await page.reload();
  await drawn(page, "the callers' zoom after a reload", () => window.__wherefore?.callers?.zoom !== 'all');
  await page.goBack();
  await drawn(page, "the callers' zoom taken back", () => window.__wherefore?.callers?.zoom === 'all');
  await page.goBack();
  await drawn(page, 'the graph once more', (v) => window.__wherefore?.flame?.total === v, Number(part.total));

  step("call tree: the flame graph's numbers, by keyboard");
  await page.getByRole('button', { name: 'Call tree' }).click();
  const grid = page.getByRole('treegrid');
  await grid.focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('*');
  await page.locator('.ct-row.selected').waitFor();
  const chain = await page.locator('.ct-row.selected .ct-name').textContent();
  assert.ok(chain.length > 0);
  for (let i = 0; i < 30 && !(await page.locator('.ct-row.selected', { hasText: 'json::parse_object' }).count()); i++)
    await page.keyboard.press(i % 2 ? 'ArrowDown' : 'ArrowRight');
  await page.locator('.ct-row.selected', { hasText: 'json::parse_object' }).waitFor();
  await page.reload();
  await page.locator('.ct-row.selected', { hasText: 'json::parse_object' }).waitFor();
  await page.goBack();
  await drawn(page, 'the graph after the tree', (v) => window.__wherefore?.flame?.total === v, Number(part.total));
  return hot;
}

async function tracesAndSource(page, { from, to, part }) {
  step('function to its traces and back to the service');
  await page.locator('.flame-box').first().focus();
  await page.keyboard.press('End');
  await drawn(page, 'the hottest', () => window.__wherefore?.flame?.frame === 'json::parse_object');
  await page.keyboard.press('t');
  await page.waitForURL(/view=traces/);
  const seen = await api('function-traces', { from, to, query: CHECKOUT, function: 'json::parse_object', limit: 100 });
  assert.ok(seen.found > 1 && seen.found === seen.traces.length);
  await page
    .locator('table.seen tbody tr')
    .nth(seen.found - 1)
    .waitFor();
  assert.equal(await page.locator('table.seen tbody tr').count(), seen.found);
  await page.reload();
  await page.locator('table.seen tbody tr').first().locator('th a').click();
  await page.waitForURL(new RegExp(`traces/${seen.traces[0].trace}`));
  await drawn(
    page,
    'the span it ran in',
    (v) => window.__wherefore?.flame?.total === v,
    Number(seen.traces[0].seen_in[0].value),
  );
  await page.goBack();
  await page.locator('table.seen').waitFor();

  step('source: the line, its cost, its place in the repository');
  await page.getByRole('button', { name: 'Source', exact: true }).click();
  const line = page.locator('.source-line.selected');
  await line.waitFor();
  assert.match(await line.textContent(), /^14.*if \(known == key\)/);
  const cost = (
    await api('list', { from, to, query: CHECKOUT, function: '^json::parse_object$' })
  ).functions[0].lines.find(([l]) => l === 14);
  assert.ok(Number(cost[1]) > 0);
  const inPart = async (version) =>
    Number((await api('top', { from, to, query: `{service_name="checkout", service.version="${version}"}` })).total);
  const version = (await inPart('v1')) > (await inPart('v2')) ? 'v1' : 'v2';
  assert.equal(
    await page.getByRole('link', { name: 'Open in the repository' }).getAttribute('href'),
    `https://repository.example/checkout/blob/${version}/shop/json.cc#L14`,
  );
  await page.locator('.source').focus();
  await page.keyboard.press('n');
  await page.locator('.source-line.selected', { hasText: 'out = parse_object(in)' }).waitFor();
  await page.reload();
  await page.locator('.source-line.selected', { hasText: 'out = parse_object(in)' }).waitFor();
  await page.goBack();
  await page.locator('table.seen').waitFor();
  await page.goBack();
  await drawn(page, 'the graph after its function', (v) => window.__wherefore?.flame?.total === v, Number(part.total));
}

// Returns the row of the hottest function.
export async function functions(page, selected) {
  const hot = await callers(page, await table(page, selected), selected.part);
  await tracesAndSource(page, selected);
  return hot;
}
