// What a newcomer sees after ./run: three services, traces, a slow span with the parser on top, and what v2 made worse.
import assert from 'node:assert/strict';
import { api, box, drawn, flame, open, PAGE } from './browser.mjs';
import { questions } from './questions.mjs';

const step = (text) => console.log('  ' + text);
const RECENT = { since: '15m' };
const PARSER = /Parser::/;

async function story(page) {
  step('overview: three services, the release that took over');
  await page.goto(PAGE + '/?since=15m');
  for (const name of ['storefront', 'orders', 'inventory'])
    await page.getByRole('link', { name, exact: true }).waitFor();
  const row = page.locator('table.services tbody tr', { has: page.getByRole('link', { name: 'orders', exact: true }) });
  await row.getByRole('link', { name: /v2 of orders is new/ }).waitFor();

  step("orders: the parser is in the flame graph, with the API's total");
  await page.getByRole('link', { name: 'orders', exact: true }).click();
  await drawn(page, 'a flame graph', () => window.__wherefore?.flame?.count > 0);
  const { rows } = await api('top', {
    ...RECENT,
    query: '{service_name="orders"}',
    type: 'cpu',
    sort: 'total',
    limit: 1000,
  });
  const parse = rows.find((r) => r.name.includes('Parser::ParseString'));
  assert.ok(parse, 'ParseString is not among ' + rows.map((r) => r.name).join(', '));
  assert.ok(await box(page, parse.name), 'ParseString is not drawn');

  step('what v2 made worse: ParseString grew');
  const version = (v) => `orders{service.version="${v}"}`;
  await page.goto(
    `${PAGE}/diff?query=${encodeURIComponent(version('v2'))}&base_query=${encodeURIComponent(version('v1'))}` +
      '&mode=share&since=15m',
  );
  await drawn(page, 'a difference', () => window.__wherefore?.flame?.count > 0);
  const share = async (v) => {
    const { total, rows: all } = await api('top', {
      ...RECENT,
      query: version(v),
      type: 'cpu',
      sort: 'total',
      limit: 1000,
    });
    return Number(all.find((r) => r.name === parse.name)?.total ?? 0) / Number(total);
  };
  const [before, after] = [await share('v1'), await share('v2')];
  assert.ok(after > before + 0.1, `ParseString: ${before} of v1, ${after} of v2`);

  step('the causes, per request: ParseString, as the API says');
  // The demo goes on meanwhile: both are asked about a time for which everything has arrived.
  const to = Date.now() - 15_000;
  const time = { from: String(to - 900_000), to: String(to) };
  const asked = { query: version('v2'), base_query: version('v1'), mode: 'request', ...time };
  const { causes } = await api('diff', { ...asked, format: 'json' });
  await page.goto(`${PAGE}/diff?${new URLSearchParams(asked)}`);
  await page.locator('.causes li').first().waitFor();
  assert.deepEqual(
    await page.locator('.causes li').evaluateAll((rows) => rows.map((r) => r.dataset.kind)),
    causes.slice(0, 8).map((c) => c.kind),
  );
  await page.locator('.causes li', { hasText: 'ParseString' }).first().waitFor();

  step('traces: a request through all three, and the span with its profile');
  const { traces } = await api('traces', { ...RECENT, service: 'orders', limit: 200 });
  assert.ok(traces.length > 10);
  let seen = null;
  for (const { trace } of traces.sort((a, b) => Number(b.duration_ns) - Number(a.duration_ns)).slice(0, 60)) {
    const { by_span } = await api(`traces/${trace}/flame`, { type: 'cpu' });
    const { spans } = await api(`traces/${trace}`);
    const span = spans.find((s) => s.name === 'process-data' && by_span?.[s.span_id ?? s.span ?? s.id]);
    if (span) {
      seen = { trace, span: span.span_id ?? span.span ?? span.id };
      break;
    }
  }
  assert.ok(seen, 'no process-data span has samples');
  await page.goto(`${PAGE}/traces/${seen.trace}?span=${seen.span}`);
  for (const name of ['api-request', 'process-data', 'reserve-stock']) await page.getByText(name).first().waitFor();
  await drawn(page, "the span's flame graph", () => window.__wherefore?.flame?.count > 0);
  assert.ok((await flame(page)).total > 0);
  assert.ok(PARSER.test(parse.name));
}

const { context, page, problems } = await open();
try {
  await story(page);
  await questions(page);
  assert.deepEqual(problems, []);
} finally {
  await context.close();
}
