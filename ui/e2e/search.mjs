// The search: any text, in every view, in everything that is stored.
import assert from 'node:assert/strict';
import { ALL, api, box, drawn, flame, PAGE, step } from './browser.mjs';

export async function searches(page) {
  step('search: a pattern without end does not stop the page, what is no pattern is plain text in every view');
  await page.goto(`${PAGE}/s/${encodeURIComponent('hostile <b>&amp;</b>/service')}?search=${encodeURIComponent('(x+)+y$')}`);
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
  await drawn(page, 'the share of the whole', (v) => window.__wherefore.flame.matched === v, Number(expected.search.value));
  await drawn(page, 'the frame itself', (v) => window.__wherefore.flame.box('leaf000000')?.total === v, Number(expected.search.value));
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
