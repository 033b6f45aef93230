// The README's five screenshots, taken from the running demo at PAGE, into SCREENSHOTS (tools/screenshots --demo URL).
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { api, open, PAGE } from './browser.mjs';
import { smaller } from './png.mjs';

const RECENT = { since: '15m' };

// The slowest request for which process-data was sampled.
async function slowRequest() {
  const { traces } = await api('traces', { ...RECENT, service: 'orders', limit: 200 });
  for (const { trace, matched } of traces.sort((a, b) => Number(b.duration_ns) - Number(a.duration_ns))) {
    const { by_span } = await api(`traces/${trace}/flame`, { type: 'cpu' });
    const { spans } = await api(`traces/${trace}`);
    if (by_span[matched[0].span] && spans.some((s) => s.name === 'api-request'))
      return `/traces/${trace}?span=${matched[0].span}`;
  }
  throw new Error('no request was sampled');
}

async function looks() {
  const { rows } = await api('top', {
    ...RECENT,
    query: '{service_name="orders"}',
    type: 'cpu',
    sort: 'total',
    limit: 1000,
  });
  const parse = encodeURIComponent(rows.find((r) => r.name.includes('Parser::ParseString')).name);
  const version = (v) => encodeURIComponent(`orders{service.version="${v}"}`);
  return {
    overview: '/?since=15m',
    diff: `/diff?query=${version('v2')}&base_query=${version('v1')}&mode=share&since=15m`,
    source: `/s/orders?view=source&fn=${parse}&since=15m`,
    trace: await slowRequest(),
    lock: '/s/inventory?type=mutex&since=15m',
  };
}

const { context, page } = await open({ viewport: { width: 1440, height: 800 } });
try {
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  for (const [name, path] of Object.entries(await looks())) {
    await page.goto(PAGE + path);
    await page.waitForLoadState('networkidle');
    await page.locator('h1').waitFor();
    const png = smaller(await page.screenshot());
    assert.ok(png.length <= 100_000, `${name}: ${png.length} bytes`);
    writeFileSync(join(process.env.SCREENSHOTS, `demo-${name}.png`), png);
  }
} finally {
  await context.close();
}
