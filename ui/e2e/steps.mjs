// From "which service?" to the traces of one function. After every step: what is drawn, and that a reload, back and
// forward draw the right thing again.
import assert from 'node:assert/strict';
import { ALL, api, CHECKOUT, clickBox, dragTimeline, drawn, PAGE, selection } from './browser.mjs';

const total = (page, what, value) => drawn(page, what, (v) => window.__wherefore?.flame?.total === v, Number(value));

// `here` asserts what a step drew; `before` what the back button must draw: the previous step, unless the step made no
// history entry (typing does not).
async function step(page, what, act, here, before) {
  console.log('  at each step: ' + what);
  await act();
  await here();
  const address = page.url();
  await page.reload();
  await here();
  assert.equal(page.url(), address, `${what}: a reload keeps the address`);
  if (before) {
    await page.goBack();
    await before();
    await page.goForward();
    await here();
  }
  return here;
}

async function service(page) {
  const { services } = await api('overview', ALL);
  const overview = await step(
    page,
    'overview',
    () => page.goto(PAGE + '/'),
    async () => {
      await page.getByRole('link', { name: 'checkout', exact: true }).waitFor();
      assert.equal(await page.locator('table.services tbody tr').count(), services.length);
    },
  );
  const top = await api('top', { ...ALL, query: CHECKOUT });
  const whole = await step(
    page,
    'service',
    () => page.getByRole('link', { name: 'checkout', exact: true }).click(),
    async () => {
      await total(page, "the service's total", top.total);
      await drawn(
        page,
        'not zoomed',
        () => window.__wherefore.flame.zoom === 'all' && window.__wherefore.flame.matched === 0,
      );
    },
    overview,
  );
  const zoomed = () =>
    drawn(
      page,
      'zoomed',
      () =>
        window.__wherefore?.flame?.zoom.startsWith('handle_pay') &&
        window.__wherefore.flame.box('handle_pay(Request const&)').w >
          0.98 * document.querySelector('.flame-view').clientWidth,
    );
  await step(page, 'zoom', () => clickBox(page, 'handle_pay(Request const&)'), zoomed, whole);
  const parse = top.rows.find((r) => r.name === 'json::parse_object');
  return step(
    page,
    'search',
    () => page.getByLabel('Search').fill('json::parse_obj'),
    async () => {
      await zoomed();
      await drawn(page, 'the matched value', (v) => window.__wherefore.flame.matched === v, Number(parse.total));
    },
    whole,
  );
}

async function compare(page, searched) {
  let [part, earlier] = [null, null];
  const drag = async () => {
    await dragTimeline(page, 0.55, 0.75);
    const [from, to] = await selection(page);
    part = await api('top', { from, to, query: CHECKOUT });
  };
  const selected = await step(
    page,
    'a time range',
    drag,
    async () => {
      await total(page, 'the selection', part.total);
      await drawn(
        page,
        'searched in it',
        (v) => window.__wherefore.flame.matched === v,
        Number(part.rows.find((r) => r.name === 'json::parse_object').total),
      );
    },
    searched,
  );
  const open = async () => {
    await page.getByRole('link', { name: 'Compare', exact: true }).click();
    await page.waitForURL(/\/diff/);
    const asked = new URL(page.url()).searchParams;
    earlier = await api('top', { from: asked.get('base_from'), to: asked.get('base_to'), query: CHECKOUT });
  };
  return step(
    page,
    'diff',
    open,
    () =>
      drawn(
        page,
        'both sides',
        ([a, b]) => window.__wherefore?.flame?.totalBefore === a && window.__wherefore.flame.total === b,
        [Number(earlier.total), Number(part.total)],
      ),
    selected,
  );
}

async function trace(page, compared) {
  const list = await api('traces', { ...ALL, limit: 200 });
  const listed = await step(
    page,
    'traces',
    () => page.getByRole('link', { name: 'Traces', exact: true }).click(),
    async () => {
      await page.locator('table.traces caption', { hasText: `${list.traces.length} traces` }).waitFor();
      await page
        .locator('table.traces tbody tr')
        .nth(list.traces.length - 1)
        .waitFor();
    },
    compared,
  );
  const one = list.traces
    .filter((t) => t.root_service === 'gateway')
    .sort((a, b) => Number(b.duration_ns) - Number(a.duration_ns))[0];
  const whole = await api(`traces/${one.trace}/flame`);
  const path = await api(`traces/${one.trace}/flame`, { path: 'critical' });
  const opened = await step(
    page,
    'trace',
    () => page.locator(`table.traces a[href*="${one.trace}"]`).click(),
    async () => {
      await total(page, 'what the trace waited for', path.total);
      await page
        .locator('.wf-row')
        .nth(one.spans - 1)
        .waitFor();
      assert.equal(await page.locator('.wf-row.selected').count(), 0);
    },
    listed,
  );
  const own = async () => {
    const span = new URL(page.url()).searchParams.get('span');
    await page.locator('.wf-row.selected', { hasText: 'parse body' }).waitFor();
    await total(page, "the span's samples", whole.by_span[span]);
  };
  return step(page, 'span', () => page.locator('.wf-row', { hasText: 'parse body' }).click(), own, opened);
}

async function functionAndTraces(page, span) {
  let asked = {};
  const choose = async () => {
    await page.locator('.flame-box').first().focus();
    await page.keyboard.press('End');
    await drawn(page, 'the hottest function', () => window.__wherefore.flame.frame === 'json::parse_object');
    await page.getByRole('link', { name: 'Callers and callees' }).click();
    await page.waitForURL(/view=sandwich/);
    const p = new URL(page.url()).searchParams;
    asked = { query: CHECKOUT, from: p.get('from'), to: p.get('to') };
  };
  const sandwich = await step(
    page,
    'function',
    choose,
    async () => {
      const row = (await api('top', asked)).rows.find((r) => r.name === 'json::parse_object');
      await drawn(
        page,
        'its callers and callees',
        (v) => window.__wherefore?.callers?.total === v && window.__wherefore.callees?.total === v,
        Number(row.total),
      );
    },
    span,
  );
  await step(
    page,
    'its traces',
    () => page.getByRole('button', { name: 'Traces with it' }).click(),
    async () => {
      const seen = await api('function-traces', { ...asked, function: 'json::parse_object', limit: 100 });
      assert.ok(seen.found > 0);
      await page
        .locator('table.seen tbody tr')
        .nth(Math.min(seen.found, 100) - 1)
        .waitFor();
      assert.equal(await page.locator('table.seen tbody tr').count(), Math.min(seen.found, 100));
    },
    sandwich,
  );
}

export async function everyStep(page) {
  const searched = await service(page);
  const compared = await compare(page, searched);
  const span = await trace(page, compared);
  await functionAndTraces(page, span);
}
