// Why a request took as long as it did, drawn: where its time went, the critical path, slow against typical requests,
// and what a difference is sure of. Everything drawn equals the API's answer.
import assert from 'node:assert/strict';
import { accessible, ALL, api, drawn, PAGE, step, tabTo } from './browser.mjs';

const near = (a, b, what, by = 0.6) => assert.ok(Math.abs(a - b) <= by, `${what}: ${a} instead of ${b}`);

// The segments of a bar as shares of its width, by part.
const sharesOf = (locator) =>
  locator.evaluate((bar) => {
    const width = bar.getBoundingClientRect().width;
    return Object.fromEntries(
      [...bar.querySelectorAll('[data-part]')].map((i) => [
        i.dataset.part,
        (100 * i.getBoundingClientRect().width) / width,
      ]),
    );
  });

async function slowest() {
  const { traces } = await api('traces', { ...ALL, service: 'checkout', limit: 200 });
  return traces.sort((a, b) => Number(b.duration_ns) - Number(a.duration_ns))[0].trace;
}

const wantedShares = (parts, value, duration) =>
  Object.fromEntries(
    Object.entries(parts)
      .map(([name, part]) => [name, (100 * Number(value(part))) / Number(duration)])
      .filter(([, share]) => share > 0),
  );

function sameShares(got, wanted, what) {
  assert.deepEqual(Object.keys(got).sort(), Object.keys(wanted).sort(), what);
  for (const [name, share] of Object.entries(wanted)) near(got[name], share, `${what}, ${name}`);
}

async function accounts(page) {
  step("accounting: the selected span's bar and every row's fill, as the API says");
  const trace = await slowest();
  const all = await api(`traces/${trace}/accounting`);
  const at = (i) => [all.parts, (part) => part.value[i], all.duration[i]];
  await page.goto(`${PAGE}/traces/${trace}?span=${all.span[1]}`);
  const bar = page.locator('section[aria-label="Where its time went"] .account-bar');
  await bar.waitFor();
  sameShares(await sharesOf(bar), wantedShares(...at(1)), 'the bar');
  const legend = await page.locator('section[aria-label="Where its time went"] .account-parts').innerText();
  assert.match(legend.replace(/\s+/g, ' '), /on CPU 20\.0 ms ± 52\.9 ms, 2\.7 %/);
  assert.match(await page.getByTestId('why').textContent(), new RegExp(all.reasons[all.why[1]].slice(0, 40)));
  for (const [i, id] of all.span.entries()) {
    const fill = page.locator(`#span-${id} .wf-fill`);
    sameShares(await sharesOf(fill), wantedShares(...at(i)), `the row of ${id}`);
  }
  return trace;
}

async function path(page, trace) {
  step('critical path: marked on the rows it goes through, a flame graph of its own, in the address');
  const answer = await api(`traces/${trace}/critical-path`);
  const { start_ns: began, duration } = await api(`traces/${trace}`, { format: 'columns' });
  const whole = Math.max(...duration.map(Number));
  for (const id of new Set(answer.segments.map((s) => s.span))) {
    const marks = await page.locator(`#span-${id} .wf-line`).evaluate((line) => {
      const box = line.getBoundingClientRect();
      return [...line.querySelectorAll('.wf-path')].map((m) => {
        const mark = m.getBoundingClientRect();
        return [(mark.left - box.left) / box.width, mark.width / box.width];
      });
    });
    const wanted = answer.segments.filter((s) => s.span === id);
    assert.equal(marks.length, wanted.length, id);
    wanted.forEach((s, i) => {
      near(100 * marks[i][0], (100 * Number(BigInt(s.start_ns) - BigInt(began))) / whole, 'start on the path', 0.3);
      near(100 * marks[i][1], Math.max((100 * Number(s.duration_ns)) / whole, 0.1), 'length on the path', 0.3);
    });
  }
  await page.getByRole('button', { name: 'Critical path' }).click();
  await page.waitForURL(/scope=critical/);
  await drawn(
    page,
    "the path's flame graph",
    (v) => window.__wherefore?.flame?.total === v,
    Number(answer.duration_ns),
  );
  await page.reload();
  await drawn(
    page,
    'the same after a reload',
    (v) => window.__wherefore?.flame?.total === v,
    Number(answer.duration_ns),
  );
  const flame = await api(`traces/${trace}/flame`, { path: 'critical' });
  const cpu = await page.locator('section.whole [data-part=on_cpu] .figures').textContent();
  const spent = flame.functions.findIndex(([name]) => name === '[on CPU]');
  assert.ok(spent > 0);
  assert.match(cpu, /^160 ms, 21\.6 %$/);
  await page.getByRole('button', { name: 'Similar spans', exact: true }).click();
  await page.getByTestId('similar').filter({ hasText: 'all 12 spans of that name' }).waitFor();
  const similar = await api('critical-path', { ...ALL, service: 'checkout', name: 'handle_pay', slowest: '20' });
  await drawn(page, 'that of similar spans', (v) => window.__wherefore?.flame?.total === v, Number(similar.total));
  await accessible(page, 'the page of a trace');
  await page.goBack();
  await drawn(page, 'the path again', (v) => window.__wherefore?.flame?.total === v, Number(answer.duration_ns));
}

async function byKeyboard(page) {
  step('from a span to slow requests, by keyboard alone');
  await page.locator('.wf-box').focus();
  await page.keyboard.press('ArrowDown');
  await page.locator('section[aria-label="Where its time went"]').waitFor();
  await tabTo(page, 'slow versus typical', () => document.activeElement.textContent === 'Slow versus typical');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/slow\?/);
  await page.getByTestId('gap').filter({ hasText: 'at least 20 and 50 are needed' }).waitFor();
}

async function slow(page) {
  step('slow versus typical: gap, parts and functions as the API says, the cause first');
  const how = { slow: 'p80', typical: 'p30-p75' };
  const answer = await api('slow', { ...ALL, service: 'search', name: 'find', ...how });
  assert.ok(answer.parts.length > 0, answer.note);
  await page.goto(`${PAGE}/traces?service=search&name=find`);
  await page.getByRole('link', { name: 'Slow versus typical' }).click();
  await page.waitForURL(/\/slow\?/);
  await page.getByLabel('Slow from').fill(how.slow);
  await page.getByLabel('Typical').fill(how.typical);
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.waitForURL(/slow=p80/);
  await page
    .getByTestId('gap')
    .filter({ hasText: `a gap of ${(answer.gap_ns / 1e6).toFixed(1)} ms` })
    .waitFor();
  const parts = page.getByRole('table', { name: 'Parts' });
  assert.deepEqual(
    await parts.locator('tbody tr').evaluateAll((rows) => rows.map((r) => r.dataset.part)),
    answer.parts.map((p) => p.part),
  );
  assert.equal(await page.locator('.causes li').count(), answer.causes.length);
  const more = answer.parts.filter((p) => Number(p.change_ns) > 0);
  const sum = more.reduce((s, p) => s + Number(p.change_ns), 0);
  sameShares(
    await sharesOf(page.locator('section[aria-label="The gap"] .account-bar')),
    Object.fromEntries(more.map((p) => [p.part, (100 * Number(p.change_ns)) / sum])),
    'the gap',
  );
  await page.reload();
  await page.getByTestId('gap').filter({ hasText: 'a gap of' }).waitFor();
  await accessible(page, 'slow versus typical');
}

async function difference(page) {
  step('a difference: what is sure has colour, outline and sign; causes and intervals are the API’s');
  const side = (v) => `checkout{service.version="${v}"}`;
  const asked = { query: side('v2'), base_query: side('v1'), mode: 'share' };
  const answer = await api('diff', { ...ALL, ...asked, format: 'json' });
  assert.ok(answer.verdict.includes('more'));
  const causesWanted = answer.causes.slice(0, 8).map((c) => c.kind);
  await page.goto(`${PAGE}/diff?${new URLSearchParams(asked)}`);
  await drawn(page, 'the difference', () => window.__wherefore?.flame?.totalBefore > 0);
  const causes = await page.locator('.causes li').evaluateAll((rows) => rows.map((r) => r.dataset.kind));
  assert.deepEqual(causes, causesWanted);
  const grown = answer.changes.find((c) => c.name === 'json::parse_object');
  assert.equal(grown.total.verdict, 'more');
  const sure = await page.evaluate(() => window.__wherefore.flame.sure('json::parse_object'));
  assert.deepEqual(sure, { sure: 1, interval: [grown.total.low, grown.total.high] });
  await page.getByTestId('detectable').filter({ hasText: 'would be found' }).waitFor();
}

export async function why(page) {
  await path(page, await accounts(page));
  await byKeyboard(page);
  await slow(page);
  await difference(page);
}
