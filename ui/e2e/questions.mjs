// First-time questions on the demo, each answered from "/" in at most three clicks, and no step that needs the docs.
import assert from 'node:assert/strict';
import { api, drawn, PAGE, step } from './browser.mjs';

const MOST_CLICKS = 3;
const PARSER = /ParseString/;

// Opens the first page and counts the clicks of `answer`.
async function question(page, text, answer) {
  step(`asked: ${text}`);
  await page.goto(PAGE + '/');
  await page.getByRole('link', { name: 'orders', exact: true }).waitFor();
  let clicks = 0;
  const click = async (locator) => {
    clicks++;
    await locator.click();
  };
  await answer(click);
  assert.ok(clicks <= MOST_CLICKS, `${text} ${clicks} clicks`);
}

export async function questions(page) {
  const link = (name) => page.getByRole('link', { name, exact: true });
  const row = page.locator('table.services tbody tr', { has: link('orders') });
  const isNew = row.getByRole('link', { name: /v2 of orders is new/ });
  await question(page, 'which service has a new version?', async (click) => {
    await click(page.getByRole('button', { name: /^new \d/ }));
    await isNew.waitFor();
  });
  await question(page, 'since when?', async (click) => {
    await click(link('orders'));
    await page.getByRole('link', { name: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ?: v1 → v2, compare$/ }).waitFor();
  });
  await question(page, 'what changed, and is it certain?', async (click) => {
    await click(isNew);
    await page.locator('.causes li', { hasText: PARSER }).first().waitFor();
    assert.match(await page.locator('.causes li').first().textContent(), /\(\+?[−\d.]+ % to \+?[−\d.]+ %\)/);
  });
  // The largest own function of both is asked about; of storefront that is the parser in either release.
  await question(page, 'which line?', async (click) => {
    await click(link('storefront'));
    await drawn(page, 'the graph', () => window.__wherefore?.flame?.count > 0);
    await click(page.getByRole('button', { name: 'Source', exact: true }));
    await page.locator('.source-line.selected', { hasText: 'out = out + text_[at_]' }).waitFor();
  });
  await question(page, 'which requests?', async (click) => {
    await click(link('storefront'));
    await drawn(page, 'the graph', () => window.__wherefore?.flame?.count > 0);
    await click(page.getByRole('button', { name: 'Traces with it' }));
    await page.locator('table.seen tbody a').first().waitFor();
    await page.getByText('ParseString').first().waitFor();
  });
  await question(page, 'what do they wait for?', async (click) => {
    await click(row.locator('a[href^="/traces"]'));
    await click(page.locator('table.traces tbody a').first());
    const trace = page.url().match(/traces\/([0-9a-f]{32})/)[1];
    await page.locator('section.whole .account-bar').waitFor();
    const { duration_ns: lasts } = await api(`traces/${trace}/critical-path`);
    const { total } = await api(`traces/${trace}/flame`, { path: 'critical' });
    assert.equal(Number(total), Number(lasts), 'the bar is the whole trace');
  });
  await question(page, 'show a colleague', async (click) => {
    await click(row.locator('a[href^="/traces"]'));
    await click(page.locator('table.traces tbody a').first());
    await click(page.getByRole('button', { name: 'Copy for incident' }));
    await page.getByText('Copied.').waitFor();
  });
  await question(page, 'watch it live', async (click) => {
    await click(link('orders'));
    await click(page.getByRole('button', { name: 'Live' }));
    await page.waitForURL(/live=1/);
  });
  await question(page, 'is it gone after a fix?', async (click) => {
    await click(link('orders'));
    await click(link('Compare'));
    await drawn(page, 'the difference', () => window.__wherefore?.flame?.totalBefore !== undefined);
    await click(page.getByRole('button', { name: 'per request' }));
    await page.getByTestId('detectable').waitFor();
  });
}
