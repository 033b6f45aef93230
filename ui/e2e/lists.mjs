// Lists of traces and services agree with the pages of each.
import assert from 'node:assert/strict';
import { api, drawn, open, PAGE, step } from './browser.mjs';

const ALL = { since: '1h' };

export async function lists(page) {
  step('traces: which have samples, as many as their page shows; the heat map has every request');
  const { traces } = await api('traces', { ...ALL, limit: 200, matched: 0 });
  const profiled = traces.filter((t) => t.profiled.length > 0);
  assert.ok(profiled.length > 0 && profiled.length < traces.length, 'some have samples, some do not');
  await page.goto(PAGE + '/traces');
  await page
    .locator('table.traces caption', { hasText: `${traces.length} traces, ${profiled.length} with profile samples` })
    .waitFor();
  const { spans, errors } = await api('latency', ALL);
  await drawn(page, 'the heat map', (n) => window.__wherefore?.latency?.count === n, spans);
  assert.equal(await page.evaluate(() => window.__wherefore.latency.errors), errors);
  const rowOf = (trace) => page.locator('table.traces tbody tr', { has: page.locator(`a[href*="${trace}"]`) });
  const without = traces.find((t) => t.profiled.length === 0);
  assert.deepEqual((await rowOf(without.trace).locator('td').allTextContents()).slice(-2), ['–', 'none']);
  const most = profiled.sort((a, b) => Number(b.profiled[0].count) - Number(a.profiled[0].count))[0];
  const [cpu, samples] = (await rowOf(most.trace).locator('td').allTextContents()).slice(-2);
  assert.equal(Number(samples.replaceAll(',', '')), Number(most.profiled[0].count));
  assert.match(cpu, /^[\d.]+ (ms|s)\*?$/);
  await rowOf(most.trace).locator('a').click();
  await page
    .getByTestId('samples')
    .filter({ hasText: `${samples} sample` })
    .waitFor();
  await drawn(
    page,
    'as many samples as the list says',
    (n) => window.__wherefore?.flame?.count === n,
    Number(most.profiled[0].count),
  );

  step('overview: cores over the time that was seen, and how little of it a service was there');
  await page.goto(PAGE + '/');
  const overview = await api('overview', ALL);
  const sum = overview.services.reduce((n, s) => n + (s.cores ?? 0), 0);
  const said = Number((await page.getByTestId('sum').textContent()).match(/([\d.]+) cores used/)[1]);
  assert.ok(Math.abs(said - sum) <= 0.02 + sum / 50, `${said} against ${sum}`);
  const once = page.locator('table.services tbody tr', { has: page.getByRole('link', { name: 'one', exact: true }) });
  const [, minutes] = (await once.locator('td').first().textContent()).match(/seen 10 s of (\d+) min$/);
  assert.ok(Math.abs(Number(minutes) - overview.observed_ms / 60e3) <= 1, `of ${minutes} min`);
}

// Times: in the server's messages, in addresses, and clocks that are wrong.
export async function times(page) {
  step('an address with a time that is none says so');
  await page.goto(PAGE + '/traces?from=99999999999999&to=1763203600000');
  await page
    .getByRole('alert')
    .filter({ hasText: "“from” in this page's address, 99999999999999, is not a time from 1970 to 2261" })
    .waitFor();
  await page.locator('table.traces tbody tr').first().waitFor();
  const [from, to] = [Math.floor(Date.now() / 1000) - 3600, Math.floor(Date.now() / 1000)];
  await page.goto(`${PAGE}/traces?from=${from}&to=${to}`); // in seconds
  await page.locator('table.traces tbody tr').first().waitFor();
  assert.equal(await page.getByRole('alert').count(), 0);

  step("the server's times are in the zone of the page, and now is the server's");
  const tokyo = await open({ timezoneId: 'Asia/Tokyo' });
  try {
    const there = tokyo.page;
    await there.addInitScript(() => {
      const own = Date.now;
      Date.now = () => own() - 7200e3;
    });
    await there.goto(PAGE + '/s/nothing');
    const said = await there.locator('.empty').filter({ hasText: 'between' }).innerText();
    const [, shown] = said.match(/and (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?!Z)/);
    const away = Date.parse(shown.replace(' ', 'T') + '+09:00') - Date.now();
    assert.ok(Math.abs(away) < 300e3, `${shown} in Tokyo is ${away / 1e3} s away`);
    await there.goto(PAGE + '/');
    await there.locator('table.services tbody tr').first().waitFor();
    await there.locator('.range select').selectOption('fixed');
    const until = await there.getByLabel('To', { exact: true }).inputValue();
    assert.ok(
      Math.abs(Date.parse(until.replace(' ', 'T') + '+09:00') - Date.now()) < 300e3,
      `now is ${until} on a machine two hours behind`,
    );
  } finally {
    await tokyo.context.close();
  }
}

export async function searchedFile(page) {
  step('a file is searched where the page has it folded');
  const many =
    Array.from({ length: 30_000 }, (_, i) => `main;big${i} 100`).join('\n') + '\nmain;big0;needle::inner 3\n';
  await page.goto(PAGE + '/adhoc');
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'many.folded', mimeType: 'text/plain', buffer: Buffer.from(many) });
  await drawn(page, 'the file, folded', () => window.__wherefore?.flame?.shown < 1);
  await page.getByLabel('Search').fill('needle');
  await drawn(
    page,
    'found in all of it',
    () => window.__wherefore?.flame?.box('needle::inner') !== null && window.__wherefore.flame.total === 3_000_003,
  );
  await page.locator('.matched', { hasText: '1' }).first().waitFor();
}
