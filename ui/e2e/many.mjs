// Three thousand services (tests/many_services_test.py makes them): the overview is fast and stays small, and the
// server finds what is not listed, by pointer and by keyboard. SCREENSHOT: a file for a picture of the overview.
import assert from 'node:assert/strict';
import { accessible, api, open, PAGE, step } from './browser.mjs';

const SERVICES = 3000; // with profiles, beside one of 300 hosts; 300 have spans only
const NODES = 5000;
const { context, page, problems } = await open();
const nodes = () => page.evaluate(() => document.querySelectorAll('*').length);
const small = async (where) => assert.ok((await nodes()) < NODES, `${where}: ${await nodes()} nodes`);
// What a field offers once the server has answered.
const offered = (id, name) =>
  page.waitForFunction(
    ([list, wanted]) => [...(document.getElementById(list)?.options ?? [])].some((o) => o.value === wanted),
    [id, name],
  );
const field = async (label) => {
  const input = page.getByLabel(label, { exact: true });
  return { input, list: await input.getAttribute('list') };
};

async function overview() {
  step('overview: the first of three thousand within ten seconds, and few nodes however far one scrolls');
  const begin = Date.now();
  await page.goto(PAGE + '/');
  await page.locator('table.services tbody tr').first().waitFor({ timeout: 10_000 });
  assert.ok(Date.now() - begin < 10_000, `${Date.now() - begin} ms`);
  await small('overview');
  step(`${Date.now() - begin} ms, ${await nodes()} nodes`);
  assert.match(await page.getByTestId('sum').textContent(), /^3,301 services · [\d,.]+ cores used$/);
  assert.equal(await page.locator('table.services').getAttribute('aria-rowcount'), '3302');
  if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT });
  await accessible(page, 'overview of many');
  const listed = (await api('overview', { since: '1h', limit: '1000' })).services.map((s) => s.name);
  const last = () => page.evaluate(() => Number([...document.querySelectorAll('[aria-rowindex]')].at(-1).ariaRowIndex));
  for (let before = 0; before < 402; ) {
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await page.waitForFunction(
      (n) => [...document.querySelectorAll('[aria-rowindex]')].some((r) => r.ariaRowIndex > n),
      before,
    );
    before = await last();
    await small('overview, scrolled');
  }
  const [index, name] = await page.evaluate(() => {
    const row = [...document.querySelectorAll('[aria-rowindex]')].at(-1);
    return [Number(row.ariaRowIndex), row.querySelector('th a').textContent];
  });
  assert.equal(name, listed[index - 2], 'in the order of the API');
  await page.evaluate(() => scrollTo(0, 0));
  await page.locator('[aria-rowindex="2"]').waitFor();

  step('a part of a name finds those that have it; the address keeps it; nothing found is said');
  await page.getByLabel('Search').fill('SERVICE-00123');
  await page.getByTestId('sum').filter({ hasText: '10 services with “SERVICE-00123”' }).waitFor();
  assert.equal(await page.locator('table.services tbody tr').count(), 10);
  assert.equal(await page.getByTestId('more').count(), 0);
  await page.reload();
  await page.getByTestId('sum').filter({ hasText: '10 services with' }).waitFor();
  await page.getByLabel('Search').fill('nobody');
  await page.getByText('No service in this time range has “nobody” in its name.').waitFor();
  await page.getByRole('button', { name: 'Show all' }).click();
  await page.getByTestId('sum').filter({ hasText: '3,301 services' }).waitFor();
}

async function jump() {
  step('Ctrl K asks the server');
  await page.keyboard.press('Control+k');
  await page.getByText('2,951 more: type more of the name').waitFor();
  await page.keyboard.type('service-002001');
  await page.getByRole('option', { name: 'Service-002001 service' }).waitFor();
  await small('jump');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/s\/Service-002001/);
  await page.getByLabel('Type').locator('option', { hasText: 'samples' }).waitFor({ state: 'attached' });
}

async function values() {
  step('a label with many values is a field; the server finds them');
  await page.goto(PAGE + '/s/crowd');
  await page.locator('.menu summary', { hasText: 'filter' }).click();
  await page.locator('.filters select').first().selectOption('host.name');
  const { input, list } = await field('is');
  await page.getByText('250 more: type a part').waitFor();
  await small('filters');
  await accessible(page, 'a field of many values');
  await input.fill('HOST-27');
  await offered(list, 'host-277');
  await input.blur();
  assert.equal(new URL(page.url()).searchParams.get('q'), null, 'half a name is no choice');
  await input.fill('host-277');
  await input.press('Enter');
  await page.waitForURL((url) => url.searchParams.get('q') === 'host.name="host-277"');
}

async function traces() {
  step('so are services that send spans');
  await page.goto(PAGE + '/traces');
  const { input, list } = await field('Service');
  await input.fill('traced-0222');
  await offered(list, 'Traced-0222');
  await input.fill('Traced-0222');
  await input.press('Enter');
  await page.waitForURL((url) => url.searchParams.get('service') === 'Traced-0222');
  await page.locator('table.traces tbody tr').first().waitFor();
  await small('traces');
}

try {
  assert.ok((await api('services', { since: '1h', search: 'Service-' })).total === SERVICES);
  await overview();
  await jump();
  await values();
  await traces();
  await page.goto(PAGE + '/status');
  await page.locator('table.senders tbody tr').first().waitFor();
  await small('status');
  assert.deepEqual(problems, []);
} finally {
  await context.close();
}
console.log('  all fine');
