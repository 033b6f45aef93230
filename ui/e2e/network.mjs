// How much goes over the network, and what the page says if the server is down.
import assert from 'node:assert/strict';
import { get } from 'node:http';
import { drawn, PAGE, step } from './browser.mjs';

export async function budgets(page) {
  step('budgets: what the first page asks for, how large an answer is');
  const scripts = [];
  let requests = 0;
  const onResponse = (r) => {
    requests++;
    if (r.url().endsWith('.js')) scripts.push(r.url());
  };
  page.on('response', onResponse);
  await page.goto(PAGE + '/');
  await page.locator('table.services tbody tr').first().waitFor();
  await page.waitForLoadState('networkidle');
  page.off('response', onResponse);
  const sizes = await Promise.all(scripts.map(packedBytes));
  const sum = sizes.reduce((a, b) => a + b, 0);
  console.log(`    first page: ${requests} requests, ${sum} bytes of script`);
  assert.ok(sum <= 45_000 && requests <= 6, `${requests} requests, ${sum} bytes of script`);
  const answer = await packedBytes(`${PAGE}/api/v1/flame?query=wide&format=binary`);
  console.log(`    a flame graph of 20,000 nodes: ${answer} bytes`);
  assert.ok(answer <= 250_000, `${answer} bytes`);
}

// Bytes on the network, as a browser gets them.
const packedBytes = (address) =>
  new Promise((resolve, reject) => {
    get(address, { headers: { 'accept-encoding': 'gzip' } }, (response) => {
      let bytes = 0;
      response.on('data', (chunk) => {
        bytes += chunk.length;
      });
      response.on('end', () => resolve(bytes));
    }).on('error', reject);
  });

export async function offline(context, page, problems) {
  step('a server that went away is noticed and recovered from');
  await page.goto(PAGE + '/s/checkout');
  await drawn(page, 'the graph', () => window.__wherefore?.flame?.total > 0);
  await context.setOffline(true);
  await page.getByLabel('Type').selectOption('samples');
  await page.getByText('The server does not answer').first().waitFor();
  await page.locator('.stale .flame').waitFor();
  await page.getByText('This is the previous answer').first().waitFor();
  assert.equal(await page.getByText('The server does not answer').count(), 1, 'said once, whatever was asked');
  await context.setOffline(false);
  await drawn(page, 'the new answer', () => window.__wherefore?.flame?.type === 'samples');
  await page.getByText('The server does not answer').first().waitFor({ state: 'detached' });

  step('so does a page that asks nothing: while it is seen, not while it is hidden');
  const idle = await context.newPage();
  await idle.clock.install();
  await idle.goto(PAGE + '/adhoc');
  await idle.getByRole('heading', { name: 'Files' }).waitFor();
  const asked = [];
  idle.on('request', (r) => asked.push(r.url()));
  const hide = (hidden) =>
    idle.evaluate((h) => {
      Object.defineProperty(document, 'hidden', { value: h, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
  await hide(true);
  await idle.clock.fastForward(60_000);
  assert.deepEqual(asked, []);
  await hide(false);
  await context.setOffline(true);
  await idle.clock.fastForward(13_000);
  await idle.getByText('continues by itself').waitFor();
  await context.setOffline(false);
  await idle.clock.fastForward(3_000);
  await idle.getByText('continues by itself').waitFor({ state: 'detached' });
  await idle.close();
  // The browser reports every request that failed in that time.
  assert.deepEqual(
    problems.filter((p) => !p.includes('ERR_INTERNET_DISCONNECTED')),
    [],
  );
  problems.length = 0;
}
