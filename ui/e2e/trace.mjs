// From the list of traces to one trace, its spans and their profiles, and on to a function, by keyboard alone.
import assert from 'node:assert/strict';
import { ALL, api, drawn, PAGE, step, tabTo } from './browser.mjs';
import { exported } from './files.mjs';

async function slowest(page) {
  step('traces: search, the slowest, its spans');
  await page.getByRole('link', { name: 'Traces' }).first().click();
  await page.getByLabel('Longer than').fill('500ms');
  await page.getByLabel('Shorter than').fill('10s');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.waitForURL(/min=500ms/);
  const slow = await api('traces', { ...ALL, min_duration: '500ms', max_duration: '10s', limit: 200 });
  await page.locator('table.traces caption', { hasText: `${slow.traces.length} traces` }).waitFor();
  await page.getByRole('button', { name: 'Duration' }).click();
  await page.waitForURL(/sort=duration/);
  await page.locator('table.traces tbody a').first().click();
  await page.waitForURL(/\/traces\/[0-9a-f]{32}/);
  const trace = page.url().match(/traces\/([0-9a-f]{32})/)[1];
  const path = await api(`traces/${trace}/flame`, { path: 'critical' });
  await drawn(page, 'what it waited for', (v) => window.__wherefore?.flame?.total === v, Number(path.total));
  await page.getByRole('button', { name: 'Whole trace' }).click();
  const whole = await api(`traces/${trace}/flame`);
  await drawn(page, "the trace's samples", (v) => window.__wherefore?.flame?.total === v, Number(whole.total));
  assert.equal(await page.locator('.wf-row').count(), 4);

  step('span: its own flame graph, and why there is none');
  await page.locator('.wf-row', { hasText: 'parse body' }).click();
  const [span, value] = Object.entries(whole.by_span).find(([id]) => page.url().includes(id));
  assert.ok(span);
  await drawn(page, "the span's samples", (v) => window.__wherefore?.flame?.total === v, Number(value));
  await page.reload();
  await drawn(page, 'the span after a reload', (v) => window.__wherefore?.flame?.total === v, Number(value));
  await page.getByTestId('few').filter({ hasText: 'Only 14 samples' }).waitFor();
  const { spans } = await api(`traces/${trace}`);
  const { service, name } = spans.find((s) => s.span === span);
  const similar = await api('critical-path', { ...ALL, service, name, slowest: '20' });
  await drawn(
    page,
    'similar spans beside it',
    (v) => window.__wherefore?.['similar spans']?.total === v,
    Number(similar.total),
  );
  await page.locator('.wf-row', { hasText: 'handle_pay' }).click();
  await page.getByRole('button', { name: /With the 2 below/ }).click();
  await drawn(page, 'the span and those below', (v) => window.__wherefore?.flame?.total === v, Number(whole.total));
  await page.locator('.wf-row', { hasText: 'POST /pay' }).click();
  await page.getByRole('button', { name: 'This span' }).click();
  await page.getByTestId('hint').waitFor();
  assert.match(
    await page.getByTestId('hint').textContent(),
    /no samples are linked to it: gateway was profiled .* does not link spans/,
  );
  return { trace, whole };
}

async function throughLens(page, { trace, whole }) {
  step('a lens on the span: the same words, evaluated by the server; taken away with it');
  await page.locator('.wf-row', { hasText: 'handle_pay' }).click();
  await page.getByRole('button', { name: /With the 2 below/ }).click();
  await drawn(page, 'the subtree again', (v) => window.__wherefore?.flame?.total === v, Number(whole.total));
  const handler = new URL(page.url()).searchParams.get('span');
  const rest = Number(
    (await api(`traces/${trace}/flame`, { span: handler, subtree: 'true', lens: 'drop:^json::parse_object$' })).total,
  );
  assert.ok(rest > 0 && rest < Number(whole.total), `${rest} of ${whole.total}`);
  await page.locator('.flame-box').first().focus();
  await page.keyboard.press('End');
  await page.getByRole('button', { name: 'Drop', exact: true }).click();
  await drawn(page, 'the span through the lens', (v) => window.__wherefore?.flame?.total === v, rest);
  await page.reload();
  await drawn(page, 'the lens after a reload', (v) => window.__wherefore?.flame?.total === v, rest);
  const folded = await exported(page, 'link', 'folded stacks');
  assert.equal(
    folded
      .trim()
      .split('\n')
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0),
    rest,
  );
  await page.goBack();
  await drawn(page, 'the subtree without the lens', (v) => window.__wherefore?.flame?.total === v, Number(whole.total));
}

async function away(page) {
  step('palette: Ctrl+K, a service, Enter');
  await page.keyboard.press('Control+k');
  await page.locator('.palette input:focus').waitFor();
  await page.getByRole('option', { name: 'search' }).waitFor();
  await page.keyboard.type('searc');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/s\/search/);
  await drawn(page, 'that service', () => window.__wherefore?.flame?.box('Postings::next') !== null);
  await page.goBack();

  step('span to its service at that time');
  await page.locator('.wf-row', { hasText: 'handle_pay' }).click();
  await page.getByRole('link', { name: 'checkout at that time' }).click();
  await page.waitForURL(/\/s\/checkout\?from=/);
  await drawn(page, 'the service then', () => window.__wherefore?.flame?.total > 0);
}

export async function traces(page) {
  await throughLens(page, await slowest(page));
  await away(page);
}

export async function keyboardAlone(page) {
  step('the keyboard alone: from the overview to the hottest function of the slowest trace and its lines');
  await page.goto(PAGE + '/');
  await page.getByRole('link', { name: 'checkout', exact: true }).waitFor();
  await page.keyboard.press('Control+k');
  await page.locator('.palette input:focus').waitFor();
  await page.keyboard.type('traces');
  await page.keyboard.press('Enter');
  await page.locator('table.traces tbody tr').first().waitFor();
  await tabTo(page, 'the attribute', () => document.activeElement.matches('input[name=attribute]'));
  await page.keyboard.type('http.route=/pay');
  await page.keyboard.press('Enter');
  await page.waitForURL(/attribute=/);
  await page.locator('table.traces caption', { hasText: /^12 traces/ }).waitFor();
  await tabTo(page, 'the duration column', () => document.activeElement.textContent.startsWith('Duration'));
  await page.keyboard.press('Enter');
  await tabTo(page, 'the slowest trace', () => document.activeElement.matches('table.traces tbody a'));
  await page.keyboard.press('Enter');
  await page.locator('.wf-row').first().waitFor();
  await tabTo(page, 'the waterfall', () => document.activeElement.matches('.wf-box'));
  for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowDown');
  await page.locator('.wf-row.selected', { hasText: 'parse body' }).waitFor();
  await drawn(page, 'the span', () => window.__wherefore?.flame?.count === 14);
  await tabTo(page, 'the flame graph', () => document.activeElement.matches('.flame-box'));
  await page.keyboard.press('End');
  await drawn(
    page,
    'the hottest function, selected and not zoomed',
    () => window.__wherefore.flame.frame === 'json::parse_object' && window.__wherefore.flame.zoom === 'all',
  );
  await tabTo(page, 'its source', () => document.activeElement.firstChild?.textContent === 'Source');
  await page.keyboard.press('Enter');
  await page.locator('.source-line.selected', { hasText: 'if (known == key)' }).waitFor();
}

export async function orders(page) {
  step('traces with a function: another order brings up what was not listed');
  const ask = (sort) =>
    api('function-traces', { ...ALL, query: '{service_name="search"}', function: 'score', sort, limit: 100 });
  await page.goto(`${PAGE}/s/search?view=traces&fn=score`);
  for (const [sort, heading] of [
    ['value', 'In it'],
    ['duration', 'Trace took'],
    ['time', 'Start'],
  ]) {
    if (sort !== 'value') await page.getByRole('button', { name: heading }).click();
    const { traces, found } = await ask(sort);
    assert.equal(found, 120);
    await page.locator('table.seen tbody tr').nth(99).waitFor();
    await page.locator('table.seen tbody tr').first().locator(`a[href*="${traces[0].trace}"]`).first().waitFor();
    await page.locator('table.seen tbody tr').nth(99).locator(`a[href*="${traces[99].trace}"]`).first().waitFor();
  }
  await page.reload();
  await page
    .locator('table.seen tbody tr')
    .first()
    .locator(`a[href*="${(await ask('time')).traces[0].trace}"]`)
    .first()
    .waitFor();
}
