// The page of files: one, two, too many, unreadable; reloaded and dropped again; exported; kept.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { accessible, api, drawn, flame, PAGE, step } from './browser.mjs';
import { narrow, reflows } from './reflow.mjs';

const file = (name, text) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
const drop = (page, ...files) => page.locator('input[type=file]').setInputFiles(files);
const ONE = file('one.folded', 'main;a 30\nmain;b 12\n');
const BEFORE = file('before.folded', 'main;a 30\n');
const AFTER = file('after.folded', 'main;a 30\nmain;c 10\n');

// The content of a file from the export menu.
export async function exported(page, role, name) {
  if (!(await page.locator('.menu[open]').count())) await page.locator('.menu summary', { hasText: 'Export' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.locator('.menu').getByRole(role, { name }).click(),
  ]);
  return readFile(await download.path(), 'utf8');
}

async function look(page) {
  step('files: one is drawn; zoom, back; another, and back to the first; away and back');
  await page.goto(PAGE + '/adhoc');
  await page.getByText('nothing is stored unless you keep it').waitFor();
  await drop(page, ONE);
  const one = () => drawn(page, 'the file', () => window.__wherefore?.flame?.count === 42);
  await one();
  await page.locator('.flame-box').first().focus();
  for (const key of ['Home', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
  await page.waitForURL(/zoom=/);
  await page.goBack();
  await drawn(page, 'the zoom taken back', () => window.__wherefore?.flame?.zoom === 'all');
  await drop(page, file('other.folded', 'main;z 5\n'));
  await drawn(page, 'the other', () => window.__wherefore?.flame?.count === 5);
  await page.goBack();
  await one();
  await page.getByRole('link', { name: 'Status' }).click();
  await page.getByRole('heading', { name: 'Status' }).waitFor();
  await page.goBack();
  await one();
  assert.equal(await exported(page, 'button', 'folded stacks'), 'main;a 30\nmain;b 12\n');
  assert.match(await exported(page, 'button', 'CSV of all functions'), /\r\na,,,30,30,30,30\r\n/);
  assert.match(await exported(page, 'button', 'SVG'), /^<\?xml|<svg/);
}

async function compare(page) {
  step('files: two are a difference as on its own page; a lens; taken away; a reload says what to drop again');
  await drop(page, BEFORE, AFTER);
  const both = () =>
    drawn(page, 'the difference', () => {
      const f = window.__wherefore?.flame;
      return f?.totalBefore > 0 && Math.abs(f.total / f.totalBefore - 4 / 3) < 1e-9;
    });
  await both();
  await page.getByText('about the same').first().waitFor(); // sums alone are not tested
  await page.locator('table.top tbody tr', { hasText: 'c' }).getByText('new').waitFor();
  assert.equal(await page.getByRole('button', { name: 'per second' }).isDisabled(), true);
  await page.getByRole('button', { name: 'share of the whole' }).click();
  await page.waitForURL(/mode=share/);
  await drawn(page, 'as shares', () => {
    const f = window.__wherefore.flame;
    return Math.abs(f.total - f.totalBefore) < 1e-6 * f.total;
  });
  await page.goBack();
  await both();
  assert.equal(await exported(page, 'button', /^folded stacks of both/), 'main;a 30 30\nmain;c 0 10\n');
  assert.match(await exported(page, 'button', /^CSV of all functions/), /\r\nc,,,0,10,0,10\r\n/);
  assert.match(await exported(page, 'button', /^SVG of what is shown/), /<svg[\s\S]*stroke-width[\s\S]*<\/svg>/);
  assert.match(await exported(page, 'button', /^HTML of what is shown/), /before\.folded → after\.folded/);
  await page.getByRole('button', { name: 'Swap', exact: true }).click();
  await drawn(page, 'the other way round', () => {
    const f = window.__wherefore.flame;
    return Math.abs(f.totalBefore / f.total - 4 / 3) < 1e-9;
  });
  await page.goBack();
  await both();
  step('files: a lens that cannot be read: what was shown stays, with its chips and the field');
  const lens = page.getByLabel(/^Add a step/);
  await lens.fill('focus:^(?=a)');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({ hasText: 'This is the previous answer' }).waitFor();
  await page.locator('.stale .flame').waitFor();
  await lens.waitFor();
  await page.getByRole('button', { name: /^Remove focus/ }).click();
  await both();
  await page.getByRole('alert').waitFor({ state: 'detached' });
  await accessible(page, 'two files');
  await narrow(page);
  await reflows(page, 'two files');
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.reload();
  const again = page.getByTestId('drop-again');
  await again.waitFor();
  assert.match(await again.textContent(), /before\.folded.*after\.folded/);
  await drop(page, BEFORE, AFTER);
  await both();
}

async function wrong(page) {
  step('files: what is wrong, and with which of them; a third one gets a sentence');
  const bad = { name: 'no.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 1, 2, 3]) };
  await drop(page, BEFORE, bad);
  await page.getByRole('alert').filter({ hasText: 'after (no.bin): not a profile' }).waitFor();
  await drop(page, bad, AFTER);
  await page.getByRole('alert').filter({ hasText: 'before (no.bin): not a profile' }).waitFor();
  await drop(page, file('empty.folded', ''));
  await page.getByRole('alert').filter({ hasText: 'empty.folded: the file is empty' }).waitFor();
  await drop(page, BEFORE, AFTER, ONE);
  await page.getByRole('alert').filter({ hasText: 'These are 3 files' }).waitFor();
  await drop(page, ONE);
  await page.getByText('These are 3 files').waitFor({ state: 'detached' });
}

async function keep(page, golden) {
  step("files: kept under a name, at the file's own time or now, and opened there");
  await drop(page, ONE);
  await page.getByText('it is kept as of now').waitFor();
  await page.getByLabel('Service').fill('kept one');
  await page.getByRole('button', { name: 'Keep', exact: true }).click();
  await page.getByTestId('kept').getByRole('link', { name: 'Open kept one' }).click();
  await page.waitForURL(/\/s\/kept%20one/);
  await drawn(page, 'what was kept', () => window.__wherefore?.flame?.count === 42);
  await page.goBack();
  await drop(page, { name: 'go_cpu.pb.gz', mimeType: 'application/gzip', buffer: golden });
  await drawn(page, 'a pprof file', () => window.__wherefore?.flame?.type === 'cpu');
  const { total, count } = await flame(page);
  await page.getByText('under the time the file names').waitFor();
  await page.getByLabel('Service').fill('kept-go');
  await page.getByRole('button', { name: 'Keep', exact: true }).click();
  await page.getByTestId('kept').getByRole('link').click();
  await page.waitForURL(/\/s\/kept-go\?from=/);
  await drawn(
    page,
    'the same numbers out of the store',
    ([t, n]) => window.__wherefore?.flame?.total === t && window.__wherefore.flame.count === n,
    [total, count],
  );
  assert.equal(
    (await api('services', { since: '1h' })).services.some((s) => s.name === 'adhoc'),
    false,
  );
}

export async function files(page) {
  await look(page);
  await compare(page);
  await wrong(page);
  await keep(page, await readFile(join(process.env.GOLDEN, 'go_cpu.pb.gz')));
}
