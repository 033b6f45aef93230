// Differences: of a selection, of two versions, from the presets.
import assert from 'node:assert/strict';
import { ALL, api, CHECKOUT, drawn, flame, PAGE, step } from './browser.mjs';
import { exported } from './files.mjs';

export async function compared(page, part, hot) {
  step('diff: both sides');
  await page.getByRole('link', { name: 'Compare', exact: true }).click();
  await drawn(page, 'a difference', () => window.__wherefore?.flame?.totalBefore !== undefined);
  const asked = new URL(page.url()).searchParams;
  const earlier = await api('top', { from: asked.get('base_from'), to: asked.get('base_to'), query: CHECKOUT });
  const diff = await flame(page);
  assert.deepEqual([diff.totalBefore, diff.total], [Number(earlier.total), Number(part.total)]);
  await page.reload();
  await drawn(page, 'the difference after a reload', () => window.__wherefore?.flame?.totalBefore !== undefined);
  await page.goBack();
  await page.waitForURL(/\/s\/checkout/);

  step('export: exact, as CSV');
  const csv = await exported(page, 'link', 'CSV of all functions');
  assert.ok(
    csv.includes(`json::parse_object,,,${hot.self},${hot.total},`) || csv.includes(`,${hot.self},${hot.total},`),
    csv.slice(0, 300),
  );

  step('deploy: the change of version is marked and compared');
  await page.getByRole('link', { name: /v1 → v2, compare/ }).click();
  const v2 = await api('top', { ...ALL, query: '{service_name="checkout", service.version="v2"}' });
  await drawn(
    page,
    'v2 against v1, as shares',
    (v) => window.__wherefore?.flame?.total === v && Math.abs(window.__wherefore.flame.totalBefore / v - 1) < 1e-9,
    Number(v2.total),
  );
  await drawn(page, 'the function that grew', () => window.__wherefore.flame.box('json::parse_object')?.w > 0);
  await page.goBack();
  await page.waitForURL(/\/s\/checkout/);
}

export async function presets(page) {
  step('diff presets: a version change, one label value against another, the day before');
  await page.goto(`${PAGE}/diff?query=${encodeURIComponent('{service.version="v2", service_name="checkout"}')}`);
  await page.getByRole('button', { name: 'Version v1 → v2' }).waitFor();
  await page.goto(`${PAGE}/diff?query=${encodeURIComponent(CHECKOUT)}`);
  const totals = async (before, after) => [
    Number((await api('top', { ...ALL, query: before })).total),
    Number((await api('top', { ...ALL, query: after })).total),
  ];
  const withLabel = (label, value) => `{service_name="checkout", ${label}="${value}"}`;
  await page.getByRole('button', { name: 'Version v1 → v2' }).click();
  const [v1, v2] = await totals(withLabel('service.version', 'v1'), withLabel('service.version', 'v2'));
  await drawn(
    page,
    'v2 against v1',
    (v) => window.__wherefore?.flame?.total === v && Math.abs(window.__wherefore.flame.totalBefore / v - 1) < 1e-9,
    v2,
  );
  const cells = page.locator('table.top tbody tr').first().locator('td');
  assert.match((await cells.allTextContents()).slice(0, 3).join(' | '), /^[\d.]+ % \| [\d.]+ % \| [+−][\d.]+ points/);
  const summary = await page.getByTestId('summary').textContent();
  const [before, after] = summary.split(' · ')[0].split(' → ');
  assert.notEqual(before, after, 'totals are as they are, not brought to the same scale');
  await page.getByRole('button', { name: 'per second' }).click();
  await page.locator('table.top caption', { hasText: 'per second' }).waitFor();
  assert.match(await cells.first().textContent(), / per s$/);
  await page.goBack();
  await page.getByRole('button', { name: 'Swap A and B' }).click();
  await drawn(page, 'v1 against v2', (v) => window.__wherefore?.flame?.total === v, v1);
  await page.goBack();
  await drawn(page, 'v2 against v1 again', (v) => window.__wherefore?.flame?.total === v, v2);
  await page.goBack();
  await page.getByRole('button', { name: 'One label value against another' }).click();
  const form = page.locator('.presets form');
  await form.locator('select').nth(0).selectOption('host.name');
  await form.locator('select').nth(1).selectOption('h0');
  await form.locator('select').nth(2).selectOption('h1');
  await form.getByRole('button', { name: 'Compare' }).click();
  await page.getByRole('button', { name: 'as they are' }).click();
  await drawn(
    page,
    'h1 against h0',
    ([a, b]) => window.__wherefore?.flame?.totalBefore === a && window.__wherefore.flame.total === b,
    await totals(withLabel('host.name', 'h0'), withLabel('host.name', 'h1')),
  );
  await page.getByRole('button', { name: 'Same time yesterday' }).click();
  await page.waitForURL(/base_from=/);
  const asked = new URL(page.url()).searchParams;
  assert.equal(Number(asked.get('from')) - Number(asked.get('base_from')), 86_400_000);
}
