// Lists say of a trace and of a service what their own pages say.
import assert from 'node:assert/strict';
import { api, drawn, PAGE } from './browser.mjs';

const ALL = { since: '1h' };

export async function lists(page, step) {
  step('traces: which have samples, as many as their page shows; dots say the same');
  const { traces } = await api('traces', { ...ALL, limit: 200, matched: 0 });
  const profiled = traces.filter((t) => t.profiled.length > 0);
  assert.ok(profiled.length > 0 && profiled.length < traces.length, 'some have samples, some do not');
  await page.goto(PAGE + '/traces');
  await page.locator('table.traces caption', { hasText: `${traces.length} traces, ${profiled.length} with profile samples` }).waitFor();
  assert.deepEqual([await page.locator('.scatter > svg circle:not(.hollow)').count(), await page.locator('.scatter > svg circle.hollow').count()], [profiled.length, traces.length - profiled.length]);
  const rowOf = (trace) => page.locator('table.traces tbody tr', { has: page.locator(`a[href*="${trace}"]`) });
  const without = traces.find((t) => t.profiled.length === 0);
  assert.deepEqual((await rowOf(without.trace).locator('td').allTextContents()).slice(-2), ['–', 'none']);
  const most = profiled.sort((a, b) => Number(b.profiled[0].count) - Number(a.profiled[0].count))[0];
  const [cpu, samples] = (await rowOf(most.trace).locator('td').allTextContents()).slice(-2);
  assert.equal(Number(samples.replaceAll(',', '')), Number(most.profiled[0].count));
  assert.match(cpu, /^[\d.]+ (ms|s)$/);
  await rowOf(most.trace).locator('a').click();
  await page.getByTestId('samples').filter({ hasText: `${samples} sample` }).waitFor();
  await drawn(page, 'as many samples as the list says', (n) => window.__wherefore?.flame?.count === n, Number(most.profiled[0].count));

  step('overview: cores over the whole time, and how little of it was seen');
  await page.goto(PAGE + '/');
  const overview = await api('overview', ALL);
  const sum = overview.services.reduce((n, s) => n + (s.cores ?? 0), 0);
  const said = Number((await page.getByTestId('sum').textContent()).match(/([\d.]+) cores used/)[1]);
  assert.ok(Math.abs(said - sum) <= 0.02 + sum / 50, `${said} against ${sum}`);
  const once = page.locator('table.services tbody tr', { has: page.getByRole('link', { name: 'one', exact: true }) });
  await once.getByText(/seen 10 s of (29|30|31) min/).waitFor();
}
