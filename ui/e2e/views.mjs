// Other views and pages: heat map, status, a saved file, nothing to show.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { accessible, ALL, api, clickBox, drawn, flame, PAGE, step } from './browser.mjs';

export async function heatMap(page) {
  step('heat map: every observation at its place in the second; a drag selects');
  await page.goto(PAGE + '/s/ticker?view=heat&type=samples');
  const heat = await api('heatmap', { ...ALL, query: 'ticker', type: 'samples' });
  const sum = heat.cells.reduce((n, c) => n + c[2], 0);
  assert.equal(sum, 240 * 9);
  await drawn(page, 'all cells', (v) => window.__wherefore?.heat?.sum === v && window.__wherefore.heat.drawn > 0, sum);
  const area = await page.locator('.heat-box').boundingBox();
  const steps = heat.cells.map(([at]) => at).sort((a, b) => a - b);
  const column = (share) => area.x + (area.width * (steps[Math.floor(share * (steps.length - 1))] + 0.5)) / heat.steps;
  await page.mouse.move(column(0.3), area.y + 50);
  await page.mouse.down();
  await page.mouse.move(column(0.7), area.y + 50, { steps: 4 });
  await page.mouse.up();
  await page.waitForURL(/sel=/);
  const [from, to] = new URL(page.url()).searchParams.get('sel').split('-');
  const part = await api('top', { from, to, query: 'ticker', type: 'samples' });
  await drawn(page, 'the selection', (v) => window.__wherefore?.flame?.total === v, Number(part.total));
  await page.goBack();
  await drawn(page, 'everything again', (v) => window.__wherefore?.flame?.total === v, sum);
  await page.locator('.heat-box').focus();
  for (const key of ['ArrowRight', 'Shift+ArrowRight', 'Enter']) await page.keyboard.press(key);
  await page.waitForURL(/sel=/);
}

export async function statusPage(page) {
  step('status: senders, storage, limits, commands to copy');
  await page.goto(PAGE + '/status');
  const { services } = await api('overview', { since: '1d' });
  await page
    .locator('table.senders tbody tr')
    .nth(services.length - 1)
    .waitFor();
  await page.locator('table.senders', { hasText: 'opentelemetry 1.30.0 (cpp)' }).waitFor();
  await page.getByRole('region', { name: 'stored' }).getByText('on disk').waitFor();
  await page.getByRole('region', { name: 'limits' }).waitFor();
  await page.locator('.connect summary', { hasText: 'Python' }).click();
  await page.getByText(`server_address="${PAGE}"`).waitFor();
  await page.locator('.connect summary', { hasText: 'OpenTelemetry' }).click();
  await page.getByText(`OTEL_EXPORTER_OTLP_ENDPOINT=${PAGE}`).first().waitFor();
  const ports = await api('settings');
  await page.getByText(`${ports.otlp_grpc_port} (gRPC) and ${ports.otlp_http_port} (HTTP)`).waitFor();
  await page.locator('main').focus();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).getByText('In a flame graph').waitFor();
  await accessible(page, 'the keys');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'hidden' });
}

export async function savedFile(context, page) {
  step('a saved file opens offline, is interactive and asks for nothing');
  await page.goto(PAGE + '/s/checkout');
  await drawn(page, 'the graph', () => window.__wherefore?.flame?.count > 0);
  const { total } = await flame(page);
  await page.locator('.menu summary', { hasText: 'Export' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: /^HTML of what is shown/ }).click(),
  ]);
  const path = join(process.env.TEMP_FOLDER, 'saved.html');
  await download.saveAs(path);
  const other = await context.newPage();
  const asked = [];
  const problems = [];
  other.on('request', (r) => asked.push(r.url()));
  other.on('pageerror', (e) => problems.push(e.message));
  other.on('console', (m) => {
    if (m.type() === 'error') problems.push(m.text());
  });
  await context.setOffline(true);
  await other.goto('file://' + path);
  await drawn(other, 'the same total', (v) => window.__wherefore?.flame?.total === v, total);
  await clickBox(other, 'handle_pay(Request const&)');
  await drawn(other, 'zoomed', () => window.__wherefore?.flame?.zoom.startsWith('handle_pay'));
  await other.getByLabel('Search').fill('json');
  await drawn(other, 'searched', () => window.__wherefore?.flame?.matched > 0);
  await accessible(other, 'a saved file');
  assert.deepEqual([asked.filter((u) => !/^(file|data):/.test(u)), problems], [[], []]);
  await other.close();
  await context.setOffline(false);
}

export async function wayBack(page) {
  step('nothing to show: one button takes back whatever narrowed it');
  await page.goto(
    `${PAGE}/s/checkout?type=nope&q=${encodeURIComponent('host.name="nobody"')}&lens=my-code` +
      '&from=1000000000000&to=1000000001000',
  );
  await page.getByRole('button', { name: 'Clear filter, lens, type and time' }).click();
  await drawn(page, 'the graph', () => window.__wherefore?.flame?.total > 0);
  assert.equal(new URL(page.url()).search, '');
}
