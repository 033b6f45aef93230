// Messages with a way on for what is invalid or not there yet: values in an address, the address itself, a field, a
// root span.
import assert from 'node:assert/strict';
import { accessible, ALL, api, CHECKOUT, drawn, PAGE, step } from './browser.mjs';

async function unread(page, problems) {
  step('values of an address that mean nothing are said, and the page goes on without them');
  const alert = page.getByRole('alert').filter({ hasText: 'address' });
  for (const [address, says] of [
    ['/s/checkout?sel=xx', /“sel”.* xx, is not a part of the timeline/],
    ['/s/checkout?view=zzz', /“view”.*zzz, is not one of flame, table/],
    ['/diff?mode=zzz', /“mode”.*one of raw, rate, share/],
  ]) {
    await page.goto(PAGE + address);
    await alert.waitFor();
    assert.match(await alert.textContent(), says);
  }
  for (const [address, says] of [
    ['by=nope', /“by”.* nope, is not a label of this service/],
    ['mark=nope', /“mark”.* nope, is not a colour/],
  ]) {
    await page.goto(`${PAGE}/s/checkout?${address}`);
    await alert.waitFor();
    assert.match(await alert.textContent(), says);
  }
  await page.goto(PAGE + '/s/checkout?by=service_version&mark=json');
  await page.locator('.legend [aria-pressed=true]').waitFor();
  await page.waitForLoadState('networkidle');
  assert.equal(await alert.count(), 0);

  step('a lens that leaves nothing is said to, in every view and in a difference');
  for (const view of ['flame', 'table', 'tree', 'sandwich', 'heat']) {
    await page.goto(`${PAGE}/s/checkout?view=${view}&lens=focus:^nope$`);
    await page.getByText('the lens removes everything').waitFor();
  }
  await page.getByRole('button', { name: 'Clear lens' }).click();
  await page.waitForURL((u) => !u.searchParams.has('lens') && u.searchParams.get('view') === 'heat');
  await page.goto(`${PAGE}/diff?query=checkout&base_query=${encodeURIComponent(CHECKOUT)}&lens=focus:^nope$`);
  await page.getByText('Nothing on either side: the lens removes everything').waitFor();

  step('matches are shown where there is a field to search in, under the text that was typed');
  await page.goto(`${PAGE}/s/checkout?plain=1&search=${encodeURIComponent('\\(Request')}`);
  await page.locator('.plot-legend', { hasText: 'matches (Request' }).waitFor();
  await page.goto(`${PAGE}/s/checkout?view=source&fn=${encodeURIComponent('json::parse_object')}&search=parse`);
  await page.locator('.source').waitFor();
  await page.locator('.plot-over').waitFor();
  await page.waitForLoadState('networkidle');
  assert.equal(await page.locator('.timeline .matches').count(), 0);
  await page.goto(PAGE + '/s/checkout?view=tree');
  await page.locator('.calltree').waitFor();
  assert.equal(await alert.count(), 0);

  step('an address that cannot be decoded has a page, and ways on');
  await page.goto(PAGE + '/s/%E0%A4%A');
  await page.getByRole('heading', { name: 'This address cannot be read' }).waitFor();
  await accessible(page, 'an address that cannot be read');
  await page.getByRole('main').getByRole('link', { name: 'All services' }).click();
  await page.getByRole('link', { name: 'checkout', exact: true }).waitFor();
  assert.ok(problems.length > 0 && problems.every((p) => p.includes('400 (Bad Request)')), problems.join());
  problems.length = 0;

  step('a length that cannot be read: the field, its text, and a search that works');
  await page.goto(PAGE + '/traces?min=abc&service=checkout');
  const error = page.getByRole('alert').filter({ hasText: 'Longer than' });
  await error.waitFor();
  assert.match(await error.textContent(), /^“Longer than”, abc: 'abc' is not a duration; expected for example/);
  assert.equal(await error.getByRole('button', { name: 'Try again' }).count(), 0);
  await error.getByRole('link', { name: 'Search without “Longer than”' }).click();
  await page.locator('table.traces tbody tr').first().waitFor();
  assert.equal(new URL(page.url()).search, '?service=checkout');
  problems.length = 0;
}

async function lists(page) {
  step(
    'traces: without a root it is said; most CPU time and most samples of all come first; ' +
      'more than it took is explained',
  );
  await page.goto(PAGE + '/traces?service=late');
  const late = page.getByRole('row', { name: /second half/ });
  await late.getByText('its root span has not arrived').waitFor();
  await late.getByRole('link').click();
  await page.getByTestId('rootless').waitFor();
  await page.goto(PAGE + '/traces');
  for (const [button, sort] of [
    ['CPU', 'cpu'],
    ['Samples', 'samples'],
  ]) {
    await page.getByRole('columnheader').getByRole('button', { name: button }).click();
    await page.waitForURL((u) => u.searchParams.get('sort') === sort);
    const [most] = (await api('traces', { ...ALL, sort, limit: 1 })).traces;
    await page.locator(`table.traces tbody tr:first-child a[href*="${most.trace}"]`).waitFor();
    await page.locator('th[aria-sort=descending]', { hasText: button }).waitFor();
  }
  await page.goto(PAGE + '/traces?service=search&sort=cpu');
  await page.locator('table.traces caption', { hasText: 'more than the trace took' }).waitFor();
  await page.locator('table.traces tbody tr:first-child td', { hasText: /\*$/ }).first().waitFor();
  await page.locator('table.traces tbody tr:first-child a').click();
  await page.getByRole('button', { name: 'Whole trace' }).click();
  await page.getByTestId('more-than-it-took').waitFor();
  await drawn(page, 'its profile', () => window.__wherefore?.flame?.total > 0);
}

export async function addresses(page, problems) {
  await unread(page, problems);
  await lists(page);
}
