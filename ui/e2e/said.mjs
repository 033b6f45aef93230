// Texts of the page: why a field rejects its text, announcements after a step, what notes and saved files contain.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { accessible, clickBox, drawn, PAGE, step } from './browser.mjs';

const UTC = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ to \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ \(UTC\)`;
const shown = (page) => drawn(page, 'a flame graph', () => window.__wherefore?.flame?.count > 0);
const copied = async (page) => {
  await page.evaluate(() => {
    navigator.clipboard.writeText = async (text) => {
      window.copied = text;
    };
  });
  await page.locator('.inspector').getByRole('button', { name: 'Copy for incident' }).click();
  await page.waitForFunction(() => window.copied);
  return page.evaluate(() => window.copied);
};

export async function says(page) {
  step('after a step to another page its heading has the focus');
  await page.goto(PAGE + '/');
  await page.getByRole('link', { name: 'checkout', exact: true }).click();
  await page.locator('h1:focus', { hasText: 'checkout' }).waitFor();
  await page.locator('#said', { hasText: 'checkout · Wherefore' }).waitFor({ state: 'attached' });
  await shown(page);

  step('the export menu closes, and offers pictures only of what is shown');
  const menu = page.locator('.menu[open]');
  await page.locator('.menu summary', { hasText: 'Export' }).click();
  await page.getByRole('button', { name: 'PNG of what is shown' }).focus();
  await page.keyboard.press('Escape');
  await menu.waitFor({ state: 'detached' });
  await page.locator('.menu summary:focus').waitFor();
  await page.locator('.menu summary', { hasText: 'Export' }).click();
  await page.locator('h1').click();
  await menu.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Table', exact: true }).click();
  await page.locator('.menu summary', { hasText: 'Export' }).click();
  assert.equal(await page.getByRole('button', { name: /of what is shown/ }).count(), 0);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Flame graph', exact: true }).click();

  step('a time and a lens that cannot be read say why');
  await page.locator('.range select').selectOption('fixed');
  await page.getByRole('textbox', { name: 'From' }).fill('yesterday');
  await page.getByText('From is not a time').waitFor();
  assert.match(
    await page
      .getByRole('textbox', { name: 'From' })
      .evaluate((e) => document.getElementById(e.getAttribute('aria-describedby')).textContent),
    /not a time/,
  );
  await accessible(page, 'an invalid time');
  await page.getByRole('button', { name: 'Cancel' }).click();
  const lens = page.getByLabel(/^Add a step/);
  await lens.fill('hide:');
  await page.keyboard.press('Enter');
  await page.getByText('comes a regular expression').waitFor();
  await lens.fill('remove:x');
  await page.getByText('is not a lens step').waitFor();

  step('a note for an incident has the absolute time and a link pinned to it');
  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  await clickBox(page, 'handle_pay(Request const&)');
  const note = await copied(page);
  assert.match(note, new RegExp('- Time: `' + UTC));
  const link = new URL(/<(http.*)>/.exec(note)[1]);
  assert.ok(link.searchParams.get('from') && link.searchParams.get('to') && link.searchParams.get('frame'), note);

  step('a frame that is not drawn is said');
  await page.goto(PAGE + '/s/checkout?zoom=0123456789abcdef');
  await page.getByText('The frame in the address is not drawn here').waitFor();
  await page.getByRole('button', { name: 'Remove it from the address' }).click();
  await page.waitForURL((u) => !u.searchParams.has('zoom'));

  step('a saved difference has both sides and the legend');
  await page.goto(PAGE + '/diff?query=checkout&since=15m');
  await page.getByRole('button', { name: 'Swap A and B' }).waitFor();
  await shown(page);
  await page.locator('.menu summary', { hasText: 'Export' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: /^HTML of what is shown/ }).click(),
  ]);
  const path = join(process.env.TEMP_FOLDER, 'difference.html');
  await download.saveAs(path);
  assert.match(readFileSync(path, 'utf8'), /<title>Difference: checkout → checkout/);
  const other = await page.context().newPage();
  await other.goto('file://' + path);
  const about = await other.locator('.about').textContent();
  assert.match(about, new RegExp(`A, before.*checkout, ${UTC}.*B, after.*checkout, ${UTC}.*base_from=`));
  await other.locator('.legend').waitFor();
  await accessible(other, 'a saved difference');
  await other.close();
}
