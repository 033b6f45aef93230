// From "which service?" to "what did this slow request do?": once with the back button and a reload at each step (steps.mjs), once
// with everything there is beside the way; then files, hostile names, large data, 320 pixels, accessibility in both themes.
import assert from 'node:assert/strict';
import { get } from 'node:http';
import { join } from 'node:path';
import { accessible, api, box, clickBox, drawn, flame, open, PAGE } from './browser.mjs';
import { exported, files } from './files.mjs';
import { everyPage } from './pages.mjs';
import { lists, searchedFile, times } from './lists.mjs';
import { narrow, reflows } from './reflow.mjs';
import { says } from './said.mjs';
import { everyStep } from './steps.mjs';

const step = (text) => console.log('  ' + text);
const ALL = { since: '1h' };
const CHECKOUT = '{service_name="checkout"}';

async function walk(page) {
  step('overview: services by cores, linked');
  await page.goto(PAGE + '/');
  await page.getByRole('link', { name: 'checkout', exact: true }).waitFor();
  const { services, observed_from_ms, observed_to_ms } = await api('overview', ALL);
  assert.equal(await page.locator('table.services tbody tr').count(), services.length);
  const cores = Number((await api('top', { ...ALL, query: CHECKOUT, type: 'cpu' })).total) / 1e6 / (observed_to_ms - observed_from_ms);
  const row = page.locator('table.services tbody tr', { has: page.getByRole('link', { name: 'checkout', exact: true }) });
  assert.ok(Math.abs(parseFloat(await row.locator('td').first().textContent()) - cores) < 0.05, `cores ${await row.locator('td').first().textContent()} against ${cores}`);
  await row.getByText('json::parse_object').waitFor();
  await row.getByRole('link', { name: /v2 of checkout is new/ }).waitFor();
  const gateway = page.locator('table.services tbody tr', { has: page.getByRole('link', { name: 'gateway', exact: true }) });
  assert.match(await gateway.textContent(), /ms, .* ms/);

  step('service: the flame graph has the API\'s total');
  await page.getByRole('link', { name: 'checkout', exact: true }).click();
  await drawn(page, 'a flame graph', () => window.__wherefore?.flame?.count > 0);
  const top = await api('top', { ...ALL, query: CHECKOUT });
  const f = await flame(page);
  assert.equal(f.total, Number(top.total));
  assert.equal(f.count, Number(top.count));
  assert.equal((await box(page, 'json::parse_object')) !== null, true);
  await page.locator('.uplot canvas').first().waitFor();

  step('zoom; back; forward; reload');
  const before = await box(page, 'handle_pay(Request const&)');
  await clickBox(page, 'handle_pay(Request const&)');
  await drawn(page, 'zoomed', () => window.__wherefore?.flame?.zoom.startsWith('handle_pay'));
  await drawn(page, 'as wide as the view', (w) => window.__wherefore?.flame?.box('handle_pay(Request const&)').w > w, before.w * 1.2);
  await page.reload();
  await drawn(page, 'zoomed after a reload', () => window.__wherefore?.flame?.zoom.startsWith('handle_pay'));
  await page.goBack();
  await drawn(page, 'zoomed out after back', () => window.__wherefore?.flame?.zoom === 'all');
  await page.goForward();
  await drawn(page, 'zoomed after forward', () => window.__wherefore?.flame?.zoom.startsWith('handle_pay'));
  await page.goBack();

  step('search: matched share');
  await page.getByLabel('Search').fill('json::parse_obj');
  const parse = top.rows.find((r) => r.name === 'json::parse_object');
  await drawn(page, 'matched value', (v) => window.__wherefore?.flame?.matched === v, Number(parse.total));
  await page.reload();
  await drawn(page, 'matched after a reload', (v) => window.__wherefore?.flame?.matched === v, Number(parse.total));
  await page.getByLabel('Search').fill('');

  step('keyboard: the hot path, zoom, and back out');
  await page.locator('.flame-box').focus();
  await page.keyboard.press('End');
  await drawn(page, 'hot path', () => window.__wherefore?.flame?.frame === 'json::parse_object');
  assert.match(await page.locator('.flame [aria-live]').textContent(), /json::parse_object, .* percent plus or minus .* level 6/);
  await page.keyboard.press('ArrowUp');
  await drawn(page, 'caller', () => window.__wherefore?.flame?.frame.startsWith('json::parse('));
  await page.keyboard.press('Enter');
  await drawn(page, 'zoomed by key', () => window.__wherefore?.flame?.zoom.startsWith('json::parse('));
  await page.keyboard.press('Escape');
  await drawn(page, 'whole again', () => window.__wherefore?.flame?.zoom === 'all');

  step('closing the details gives the focus back to the graph');
  await page.keyboard.press('End');
  await page.getByRole('button', { name: 'Close details' }).click();
  await page.locator('.flame-box:focus').waitFor();

  step('lens: a chip, evaluated by the server');
  await page.keyboard.press('End');
  await page.getByRole('button', { name: 'Drop' }).click();
  const dropped = await api('top', { ...ALL, query: CHECKOUT, lens: 'drop:^json::parse_object$' });
  await drawn(page, 'without it', (v) => window.__wherefore?.flame?.total === v, Number(dropped.total));
  await page.getByRole('button', { name: /^Remove drop/ }).click();
  await drawn(page, 'with it again', (v) => window.__wherefore?.flame?.total === v, Number(top.total));

  step('filter by label');
  await page.getByLabel('Filter').fill('service.version="v1"');
  await page.getByRole('button', { name: 'Apply' }).click();
  const v1 = await api('top', { ...ALL, query: '{service_name="checkout", service.version="v1"}' });
  await drawn(page, 'v1 only', (v) => window.__wherefore?.flame?.total === v, Number(v1.total));
  await page.goBack();
  await drawn(page, 'all versions', (v) => window.__wherefore?.flame?.total === v, Number(top.total));

  step('drag on the timeline selects');
  await page.waitForLoadState('networkidle');
  await page.locator('.u-over').hover();  // waits until it stays where it is
  const plot = await page.locator('.u-over').boundingBox();
  await page.mouse.move(plot.x + plot.width * 0.55, plot.y + 50);
  await page.mouse.down();
  await page.mouse.move(plot.x + plot.width * 0.75, plot.y + 60, { steps: 5 });
  await page.mouse.up();
  await page.waitForURL(/sel=/);
  const [from, to] = new URL(page.url()).searchParams.get('sel').split('-');
  const part = await api('top', { from, to, query: CHECKOUT });
  assert.ok(Number(part.total) > 0 && Number(part.total) < Number(top.total));
  await drawn(page, 'the selection only', (v) => window.__wherefore?.flame?.total === v, Number(part.total));
  await page.reload();
  await drawn(page, 'the selection after a reload', (v) => window.__wherefore?.flame?.total === v, Number(part.total));

  step('table: the API\'s rows');
  await page.getByRole('button', { name: 'Table' }).click();
  await page.locator('table.top tbody tr').first().waitFor();
  const rows = await api('top', { from, to, query: CHECKOUT });
  assert.equal(await page.locator('table.top tbody tr').count(), rows.rows.length);
  assert.equal(await page.locator('table.top tbody tr').first().locator('th').textContent(), rows.rows[0].name);
  await page.goBack();
  await drawn(page, 'the graph again', (v) => window.__wherefore?.flame?.total === v, Number(part.total));

  step('sandwich: callers and callees have the function\'s total');
  await page.locator('.flame-box').focus();
  await page.keyboard.press('End');
  await page.getByRole('link', { name: 'Callers and callees' }).click();
  const hot = rows.rows.find((r) => r.name === 'json::parse_object');
  await drawn(page, 'both sides', (v) => window.__wherefore.callers?.total === v && window.__wherefore.callees?.total === v, Number(hot.total));
  await page.locator('section[aria-label=Lines] table tbody tr').first().waitFor();
  await page.locator('section[aria-label=Callers] .flame-box').focus();
  for (const key of ['Home', 'ArrowUp', 'ArrowUp', 'Enter']) await page.keyboard.press(key);
  await page.waitForURL(/upzoom=/);
  await page.reload();
  await drawn(page, 'the callers\' zoom after a reload', () => window.__wherefore?.callers?.zoom !== 'all');
  await page.goBack();
  await drawn(page, 'the callers\' zoom taken back', () => window.__wherefore?.callers?.zoom === 'all');
  await page.goBack();
  await drawn(page, 'the graph once more', (v) => window.__wherefore?.flame?.total === v, Number(part.total));

  step('call tree: the flame graph\'s numbers, by keyboard');
  await page.getByRole('button', { name: 'Call tree' }).click();
  const grid = page.getByRole('treegrid');
  await grid.focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('*');
  await page.locator('.ct-row.selected').waitFor();
  const chain = await page.locator('.ct-row.selected .ct-name').textContent();
  assert.ok(chain.length > 0);
  for (let i = 0; i < 30 && !(await page.locator('.ct-row.selected', { hasText: 'json::parse_object' }).count()); i++) await page.keyboard.press(i % 2 ? 'ArrowDown' : 'ArrowRight');
  await page.locator('.ct-row.selected', { hasText: 'json::parse_object' }).waitFor();
  await page.reload();
  await page.locator('.ct-row.selected', { hasText: 'json::parse_object' }).waitFor();
  await page.goBack();
  await drawn(page, 'the graph after the tree', (v) => window.__wherefore?.flame?.total === v, Number(part.total));

  step('function to its traces and back to the service');
  await page.locator('.flame-box').focus();
  await page.keyboard.press('End');
  await drawn(page, 'the hottest', () => window.__wherefore?.flame?.frame === 'json::parse_object');
  await page.keyboard.press('t');
  await page.waitForURL(/view=traces/);
  const seen = await api('function-traces', { from, to, query: CHECKOUT, function: 'json::parse_object', limit: 100 });
  assert.ok(seen.found > 1 && seen.found === seen.traces.length);
  await page.locator('table.seen tbody tr').nth(seen.found - 1).waitFor();
  assert.equal(await page.locator('table.seen tbody tr').count(), seen.found);
  await page.reload();
  await page.locator('table.seen tbody tr').first().locator('th a').click();
  await page.waitForURL(new RegExp(`traces/${seen.traces[0].trace}`));
  await drawn(page, 'the span it ran in', (v) => window.__wherefore?.flame?.total === v, Number(seen.traces[0].seen_in[0].value));
  await page.goBack();
  await page.locator('table.seen').waitFor();

  step('source: the line, its cost, its place in the repository');
  await page.getByRole('button', { name: 'Source', exact: true }).click();
  const line = page.locator('.source-line.selected');
  await line.waitFor();
  assert.match(await line.textContent(), /^14.*if \(known == key\)/);
  const cost = (await api('list', { from, to, query: CHECKOUT, function: '^json::parse_object$' })).functions[0].lines.find(([l]) => l === 14);
  assert.ok(Number(cost[1]) > 0);
  const inPart = async (version) => Number((await api('top', { from, to, query: `{service_name="checkout", service.version="${version}"}` })).total);
  const version = await inPart('v1') > await inPart('v2') ? 'v1' : 'v2';
  assert.equal(await page.getByRole('link', { name: 'Open in the repository' }).getAttribute('href'), `https://repository.example/checkout/blob/${version}/shop/json.cc#L14`);
  await page.locator('.source').focus();
  await page.keyboard.press('n');
  await page.locator('.source-line.selected', { hasText: 'out = parse_object(in)' }).waitFor();
  await page.reload();
  await page.locator('.source-line.selected', { hasText: 'out = parse_object(in)' }).waitFor();
  await page.goBack();
  await page.locator('table.seen').waitFor();
  await page.goBack();
  await drawn(page, 'the graph after its function', (v) => window.__wherefore?.flame?.total === v, Number(part.total));

  step('diff: both sides');
  await page.getByRole('link', { name: 'Compare', exact: true }).click();
  await drawn(page, 'a difference', () => window.__wherefore?.flame?.totalBefore !== undefined);
  const asked = new URL(page.url()).searchParams;
  const earlier = await api('top', { from: asked.get('base_from'), to: asked.get('base_to'), query: CHECKOUT });
  const diff = await flame(page);
  assert.deepEqual([diff.totalBefore, diff.total], [Number(earlier.total), Number(part.total)]);
  await page.reload();
  await drawn(page, 'the difference after a reload', () => window.__wherefore?.flame?.totalBefore !== undefined);
  await page.goBack();
  await page.waitForURL(/\/s\/checkout/);

  step('export: exact, as CSV');
  const csv = await exported(page, 'link', 'CSV of all functions');
  assert.ok(csv.includes(`json::parse_object,,,${hot.self},${hot.total},`) || csv.includes(`,${hot.self},${hot.total},`), csv.slice(0, 300));

  step('deploy: the change of version is marked and compared');
  await page.getByRole('link', { name: /v1 → v2, compare/ }).click();
  const v2 = await api('top', { ...ALL, query: '{service_name="checkout", service.version="v2"}' });
  await drawn(page, 'v2 against v1, as shares', (v) => window.__wherefore?.flame?.total === v && Math.abs(window.__wherefore.flame.totalBefore / v - 1) < 1e-9, Number(v2.total));
  await drawn(page, 'the function that grew', () => window.__wherefore.flame.box('json::parse_object')?.w > 0);
  await page.goBack();
  await page.waitForURL(/\/s\/checkout/);

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
  const whole = await api(`traces/${trace}/flame`);
  await drawn(page, 'the trace\'s samples', (v) => window.__wherefore?.flame?.total === v, Number(whole.total));
  assert.equal(await page.locator('.wf-row').count(), 4);

  step('span: its own flame graph, and why there is none');
  await page.locator('.wf-row', { hasText: 'parse body' }).click();
  const [span, value] = Object.entries(whole.by_span).find(([id]) => page.url().includes(id));
  assert.ok(span);
  await drawn(page, 'the span\'s samples', (v) => window.__wherefore?.flame?.total === v, Number(value));
  await page.reload();
  await drawn(page, 'the span after a reload', (v) => window.__wherefore?.flame?.total === v, Number(value));
  await page.locator('.wf-row', { hasText: 'handle_pay' }).click();
  await page.getByRole('button', { name: /With the 2 below/ }).click();
  await drawn(page, 'the span and those below', (v) => window.__wherefore?.flame?.total === v, Number(whole.total));
  await page.locator('.wf-row', { hasText: 'POST /pay' }).click();
  await page.getByRole('button', { name: 'This span' }).click();
  await page.getByTestId('hint').waitFor();
  assert.match(await page.getByTestId('hint').textContent(), /no samples are linked to it: gateway was profiled .* does not link spans/);

  step('a lens on the span: the same words, evaluated by the server; taken away with it');
  await page.locator('.wf-row', { hasText: 'handle_pay' }).click();
  await page.getByRole('button', { name: /With the 2 below/ }).click();
  await drawn(page, 'the subtree again', (v) => window.__wherefore?.flame?.total === v, Number(whole.total));
  const handler = new URL(page.url()).searchParams.get('span');
  const rest = Number((await api(`traces/${trace}/flame`, { span: handler, subtree: 'true', lens: 'drop:^json::parse_object$' })).total);
  assert.ok(rest > 0 && rest < Number(whole.total), `${rest} of ${whole.total}`);
  await page.locator('.flame-box').focus();
  await page.keyboard.press('End');
  await page.getByRole('button', { name: 'Drop', exact: true }).click();
  await drawn(page, 'the span through the lens', (v) => window.__wherefore?.flame?.total === v, rest);
  await page.reload();
  await drawn(page, 'the lens after a reload', (v) => window.__wherefore?.flame?.total === v, rest);
  const folded = await exported(page, 'link', 'folded stacks');
  assert.equal(folded.trim().split('\n').reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0), rest);
  await page.goBack();
  await drawn(page, 'the subtree without the lens', (v) => window.__wherefore?.flame?.total === v, Number(whole.total));

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

// Presses Tab until what has the focus passes the test.
async function tabTo(page, what, test) {
  for (let i = 0; i < 120; i++) {
    await page.keyboard.press('Tab');
    if (await page.evaluate(test)) return;
  }
  assert.fail('Tab does not reach ' + what);
}

async function keyboardAlone(page) {
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
  await drawn(page, 'the hottest function, selected and not zoomed', () => window.__wherefore.flame.frame === 'json::parse_object' && window.__wherefore.flame.zoom === 'all');
  await tabTo(page, 'its source', () => document.activeElement.textContent === 'Source');
  await page.keyboard.press('Enter');
  await page.locator('.source-line.selected', { hasText: 'if (known == key)' }).waitFor();
}

async function presets(page) {
  step('diff presets: a version change, one label value against another, the day before');
  await page.goto(`${PAGE}/diff?query=${encodeURIComponent('{service.version="v2", service_name="checkout"}')}`);
  await page.getByRole('button', { name: 'Version v1 → v2' }).waitFor();
  await page.goto(`${PAGE}/diff?query=${encodeURIComponent(CHECKOUT)}`);
  const totals = async (before, after) => [Number((await api('top', { ...ALL, query: before })).total), Number((await api('top', { ...ALL, query: after })).total)];
  const withLabel = (label, value) => `{service_name="checkout", ${label}="${value}"}`;
  await page.getByRole('button', { name: 'Version v1 → v2' }).click();
  const [v1, v2] = await totals(withLabel('service.version', 'v1'), withLabel('service.version', 'v2'));
  await drawn(page, 'v2 against v1', (v) => window.__wherefore?.flame?.total === v && Math.abs(window.__wherefore.flame.totalBefore / v - 1) < 1e-9, v2);
  const cells = page.locator('table.top tbody tr').first().locator('td');
  assert.match((await cells.allTextContents()).slice(0, 3).join(' | '), /^[\d.]+ % \| [\d.]+ % \| [+−][\d.]+ points/);
  const summary = await page.getByTestId('summary').textContent();
  const [before, after] = summary.split(' · ')[0].split(' → ');
  assert.notEqual(before, after, 'totals are as they are, not brought to the same scale');
  await page.getByRole('button', { name: 'per second' }).click();
  await page.locator('table.top caption', { hasText: 'per second' }).waitFor();
  assert.match(await cells.first().textContent(), / per s$/);
  await page.goBack();
  await page.getByRole('button', { name: 'Swap A and B' }).click();
  await drawn(page, 'v1 against v2', (v) => window.__wherefore?.flame?.total === v, v1);
  await page.goBack();
  await drawn(page, 'v2 against v1 again', (v) => window.__wherefore?.flame?.total === v, v2);
  await page.goBack();
  await page.getByRole('button', { name: 'One label value against another' }).click();
  const form = page.locator('.presets form');
  await form.locator('select').nth(0).selectOption('host.name');
  await form.locator('select').nth(1).selectOption('h0');
  await form.locator('select').nth(2).selectOption('h1');
  await form.getByRole('button', { name: 'Compare' }).click();
  await page.getByRole('button', { name: 'as they are' }).click();
  await drawn(page, 'h1 against h0', ([a, b]) => window.__wherefore?.flame?.totalBefore === a && window.__wherefore.flame.total === b, await totals(withLabel('host.name', 'h0'), withLabel('host.name', 'h1')));
  await page.getByRole('button', { name: 'Same time yesterday' }).click();
  await page.waitForURL(/base_from=/);
  const asked = new URL(page.url()).searchParams;
  assert.equal(Number(asked.get('from')) - Number(asked.get('base_from')), 86_400_000);
}

async function savedFile(context, page) {
  step('a saved file opens offline, is interactive and asks for nothing');
  await page.goto(PAGE + '/s/checkout');
  await drawn(page, 'the graph', () => window.__wherefore?.flame?.count > 0);
  const { total } = await flame(page);
  await page.locator('.menu summary').click();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: /^HTML of what is shown/ }).click()]);
  const path = join(process.env.TEMP_FOLDER, 'saved.html');
  await download.saveAs(path);
  const other = await context.newPage();
  const asked = [];
  const problems = [];
  other.on('request', (r) => asked.push(r.url()));
  other.on('pageerror', (e) => problems.push(e.message));
  other.on('console', (m) => { if (m.type() === 'error') problems.push(m.text()); });
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

async function budgets(page) {
  step('budgets: what the first page asks for, how large an answer is');
  const scripts = [];
  let requests = 0;
  const onResponse = (r) => { requests++; if (r.url().endsWith('.js')) scripts.push(r.url()); };
  page.on('response', onResponse);
  await page.goto(PAGE + '/');
  await page.locator('table.services tbody tr').first().waitFor();
  await page.waitForLoadState('networkidle');
  page.off('response', onResponse);
  const sizes = await Promise.all(scripts.map(packedBytes));
  const sum = sizes.reduce((a, b) => a + b, 0);
  console.log(`    first page: ${requests} requests, ${sum} bytes of script`);
  assert.ok(sum <= 45_000 && requests <= 6, `${requests} requests, ${sum} bytes of script`);
  const answer = await packedBytes(`${PAGE}/api/v1/flame?query=wide&format=binary`);
  console.log(`    a flame graph of 20,000 nodes: ${answer} bytes`);
  assert.ok(answer <= 250_000, `${answer} bytes`);
}

// Bytes on the wire, as a browser would get them.
const packedBytes = (address) => new Promise((resolve, reject) => {
  get(address, { headers: { 'accept-encoding': 'gzip' } }, (response) => {
    let bytes = 0;
    response.on('data', (chunk) => { bytes += chunk.length; });
    response.on('end', () => resolve(bytes));
  }).on('error', reject);
});

async function statusPage(page) {
  step('status: senders, storage, limits, commands to copy');
  await page.goto(PAGE + '/status');
  const { services } = await api('overview', { since: '1d' });
  await page.locator('table.senders tbody tr').nth(services.length - 1).waitFor();
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

async function heatMap(page) {
  step('heat map: every observation at its place in the second; a drag selects');
  await page.goto(PAGE + '/s/ticker?view=heat&type=samples');
  const heat = await api('heatmap', { ...ALL, query: 'ticker', type: 'samples' });
  const sum = heat.cells.reduce((n, c) => n + c[2], 0);
  assert.equal(sum, 240 * 9);
  await drawn(page, 'all cells', (v) => window.__wherefore?.heat?.sum === v && window.__wherefore.heat.drawn > 0, sum);
  const area = await page.locator('.heat-box').boundingBox();
  const steps = heat.cells.map(([at]) => at).sort((a, b) => a - b);
  const column = (share) => area.x + area.width * (steps[Math.floor(share * (steps.length - 1))] + 0.5) / heat.steps;
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

async function offline(context, page, problems) {
  step('a server that went away is noticed and recovered from');
  await page.goto(PAGE + '/s/checkout');
  await drawn(page, 'the graph', () => window.__wherefore?.flame?.total > 0);
  await context.setOffline(true);
  await page.getByLabel('Type').selectOption('samples');
  await page.getByText('The server does not answer').first().waitFor();
  await page.locator('.stale .flame').waitFor();
  await page.getByText('What is shown is the answer before').first().waitFor();
  await context.setOffline(false);
  await drawn(page, 'the new answer', () => window.__wherefore?.flame?.type === 'samples');
  await page.getByText('The server does not answer').first().waitFor({ state: 'detached' });

  step('so does a page that asks nothing: while it is seen, not while it is hidden');
  const idle = await context.newPage();
  await idle.clock.install();
  await idle.goto(PAGE + '/adhoc');
  await idle.getByRole('heading', { name: 'Files' }).waitFor();
  const asked = [];
  idle.on('request', (r) => asked.push(r.url()));
  const hide = (hidden) => idle.evaluate((h) => { Object.defineProperty(document, 'hidden', { value: h, configurable: true }); document.dispatchEvent(new Event('visibilitychange')); }, hidden);
  await hide(true);
  await idle.clock.fastForward(60_000);
  assert.deepEqual(asked, []);
  await hide(false);
  await context.setOffline(true);
  await idle.clock.fastForward(13_000);
  await idle.getByText('the page goes on by itself').waitFor();
  await context.setOffline(false);
  await idle.clock.fastForward(3_000);
  await idle.getByText('the page goes on by itself').waitFor({ state: 'detached' });
  await idle.close();
  // The browser reports every failed request of that time.
  assert.deepEqual(problems.filter((p) => !p.includes('ERR_INTERNET_DISCONNECTED')), []);
  problems.length = 0;
}

async function searches(page) {
  step('search: a pattern without end does not stop the page, what is no pattern is plain text in every view');
  await page.goto(`${PAGE}/s/${encodeURIComponent('hostile <b>&amp;</b>/service')}?search=${encodeURIComponent('(x+)+y$')}`);
  await drawn(page, 'the graph', () => window.__wherefore?.flame?.count === 10);
  await page.locator('.matched', { hasText: '0 frames' }).waitFor();
  await page.getByLabel('Search').fill('(');
  await page.locator('.matched', { hasText: 'not a regular expression' }).waitFor();
  await page.goto(`${PAGE}/s/checkout?view=table&search=${encodeURIComponent('pay(')}`);
  await page.getByText('not a regular expression').waitFor();
  const rows = await page.locator('table.top tbody th').allTextContents();
  assert.ok(rows.length > 0 && rows.every((name) => name.includes('pay(')), rows.join());
  await page.getByRole('button', { name: 'Call tree' }).click();
  await page.getByText('not a regular expression').waitFor();
  await page.locator('.matched-row', { hasText: 'pay(' }).first().waitFor();
}

async function searchesEverything(page) {
  step('search: a function too small to be drawn or listed is found with its share');
  const one = { ...ALL, query: 'wide', search: 'leaf000000' };
  const expected = await api('top', one);
  assert.equal(expected.search.functions, 1);
  await page.goto(`${PAGE}/s/wide`);
  await drawn(page, 'wide', () => window.__wherefore?.flame?.total > 0);
  const before = await flame(page);
  assert.equal(await box(page, 'leaf000000'), null);
  await page.getByLabel('Search').pressSequentially('LEAF000000', { delay: 20 });
  await drawn(page, 'the share of the whole', (v) => window.__wherefore.flame.matched === v, Number(expected.search.value));
  await drawn(page, 'the frame itself', (v) => window.__wherefore.flame.box('leaf000000')?.total === v, Number(expected.search.value));
  assert.equal((await flame(page)).total, before.total);
  assert.match(await page.locator('.matched').textContent(), /^1 frame, /);
  await page.reload();
  await drawn(page, 'found after a reload', () => window.__wherefore?.flame?.box('leaf000000') !== null);
  await page.getByLabel('Search').fill('leaf0');
  const many = await api('top', { ...one, search: 'leaf0' });
  await drawn(page, 'the share of many', (v) => window.__wherefore.flame.matched === v, Number(many.search.value));
  await page.locator('.matched', { hasText: /^100,000 frames, .* · [\d,]+ drawn$/ }).waitFor();
  await page.getByLabel('Search').fill('leaf[');
  await page.locator('.matched', { hasText: 'not a regular expression' }).waitFor();
  await page.locator('.matched', { hasText: '0 frames, 0' }).waitFor();
  await page.getByLabel('Search').fill('');
  await drawn(page, 'as before', (n) => window.__wherefore.flame.nodes === n, before.nodes);
  await page.getByRole('button', { name: 'Table' }).click();
  await page.locator('table.top tbody tr').first().waitFor();
  await page.getByLabel('Search').fill('leaf000000');
  const row = page.locator('table.top tbody tr', { hasText: 'leaf000000' });
  await row.waitFor();
  assert.equal(await page.locator('table.top tbody tr').count(), 1);
  await page.locator('table.top caption', { hasText: '1 match,' }).waitFor();
  await page.getByLabel('Search').fill('nowhere to be found');
  await page.getByText('No function matches').waitFor();
  await page.locator('table.top caption', { hasText: '0 match,' }).waitFor();
}

async function orders(page) {
  step('traces with a function: another order brings up what was not listed');
  const ask = (sort) => api('function-traces', { ...ALL, query: '{service_name="search"}', function: 'score', sort, limit: 100 });
  await page.goto(`${PAGE}/s/search?view=traces&fn=score`);
  for (const [sort, heading] of [['value', 'In it'], ['duration', 'Trace took'], ['time', 'Start']]) {
    if (sort !== 'value') await page.getByRole('button', { name: heading }).click();
    const { traces, found } = await ask(sort);
    assert.equal(found, 120);
    await page.locator('table.seen tbody tr').nth(99).waitFor();
    await page.locator('table.seen tbody tr').first().locator(`a[href*="${traces[0].trace}"]`).first().waitFor();
    await page.locator('table.seen tbody tr').nth(99).locator(`a[href*="${traces[99].trace}"]`).first().waitFor();
  }
  await page.reload();
  await page.locator('table.seen tbody tr').first().locator(`a[href*="${(await ask('time')).traces[0].trace}"]`).first().waitFor();
}

async function wayBack(page) {
  step('nothing to show: one button takes back whatever narrowed it');
  await page.goto(`${PAGE}/s/checkout?type=nope&q=${encodeURIComponent('host.name="nobody"')}&lens=my-code&from=1000000000000&to=1000000001000`);
  await page.getByRole('button', { name: 'Clear filter, lens, type and time' }).click();
  await drawn(page, 'the graph', () => window.__wherefore?.flame?.total > 0);
  assert.equal(new URL(page.url()).search, '');
}

async function hostile(page) {
  step('hostile names are only text');
  await page.goto(`${PAGE}/s/${encodeURIComponent('hostile <b>&amp;</b>/service')}`);
  await drawn(page, 'the graph', () => window.__wherefore?.flame?.count === 10);
  await page.locator('.flame-box').focus();
  for (const key of ['End', 'ArrowUp', 'Home', 'ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(key);
  await page.getByRole('button', { name: 'Table' }).click();
  await page.locator('table.top tbody tr').first().waitFor();
  assert.equal(await page.evaluate(() => window.__hacked), undefined);
  assert.equal(await page.locator('main script, main img, main b').count(), 0);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'a long name widens the page');
}

// Opens an address three times; `look` says what must be there. No task of the page may block it for more than 200 ms:
// the median of the longest of each time, because the machine has other things to do too.
async function withoutFreeze(page, what, path, look) {
  const longest = [];
  for (let i = 0; i < 3; i++) {
    await page.goto(PAGE + path);
    await look();
    longest.push(await page.evaluate(() => Math.max(0, ...window.__longTasks)));
  }
  const median = longest.sort((a, b) => a - b)[1];
  console.log(`    ${what}: longest task ${median.toFixed(0)} ms`);
  assert.ok(median <= 200, `${what} blocks the page for ${longest.map(Math.round)} ms`);
}

async function extremes(page, problems) {
  await page.addInitScript(() => {
    window.__longTasks = [];
    new PerformanceObserver((list) => window.__longTasks.push(...list.getEntries().map((e) => e.duration))).observe({ type: 'longtask', buffered: true });
  });
  step('10,000 deep: every level is there and can be walked to');
  await withoutFreeze(page, '10,000 deep', '/s/deep', async () => {
    await drawn(page, 'deep', () => window.__wherefore?.flame?.nodes === 10_002);
    await page.locator('.flame-box').focus();
    await page.keyboard.press('End');
    await drawn(page, 'the deepest', () => window.__wherefore.flame.frame === 'level49' && window.__wherefore.flame.drawn.boxes > 20);
    assert.ok(await page.evaluate(() => document.querySelector('.flame-box').scrollTop) > 190_000);
  });
  step('large answers are decoded in a worker, and on the page where there is none');
  const worker = page.waitForEvent('worker');
  await page.goto(PAGE + '/s/wide');
  await drawn(page, 'through the worker', () => window.__wherefore?.flame?.shown < 1);
  assert.match((await worker).url(), /\/assets\/decode\.worker-/);
  const { total: inWorker } = await flame(page);
  await page.route(/decode\.worker/, (route) => route.fulfill({ status: 200, contentType: 'text/javascript', body: 'throw new Error("no worker")' }));
  await page.goto(PAGE + '/s/wide');
  await drawn(page, 'without it', (v) => window.__wherefore?.flame?.total === v, inWorker);
  await page.unroute(/decode\.worker/);
  assert.ok(problems.every((p) => p.includes('no worker')), problems.join());
  problems.length = 0;
  step('100,000 siblings: exact total, the rest folded and counted');
  const wide = await api('top', { ...ALL, query: 'wide', limit: 1 });
  await withoutFreeze(page, '100,000 siblings', '/s/wide', () => drawn(page, 'wide', (v) => window.__wherefore?.flame?.total === v && window.__wherefore.flame.shown < 1, Number(wide.total)));
  assert.equal(wide.functions, 100_002);
  step('one sample says that it is rough, none says so');
  await withoutFreeze(page, 'one sample', '/s/one', async () => {
    await drawn(page, 'one', () => window.__wherefore?.flame?.count === 1);
    await page.getByText('few samples: shares are rough').waitFor();
  });
  await withoutFreeze(page, 'zero samples', '/s/zero', async () => {
    await page.getByText('Nothing to show').waitFor();
    await page.getByRole('link', { name: 'services of the last 30 days' }).waitFor();
    assert.doesNotMatch(await page.locator('main').textContent(), / --[a-z]/);
    assert.doesNotMatch(await page.locator('main').textContent(), /NaN|Infinity|undefined/);
  });
  step('a trace of 100,000 spans opens, scrolls and is walked');
  const opened = Date.now();
  await withoutFreeze(page, '100,000 spans', '/traces/' + '09'.repeat(16), async () => {
    await page.getByText('100,000 spans').waitFor();
    assert.ok(await page.locator('.wf-row').count() < 40, 'only what is in view is an element');
    await page.locator('.wf-box').focus();
    await page.keyboard.press('End');
    await page.locator('.wf-row.selected').waitFor();
    await page.locator('.wf-row').first().waitFor();
    assert.ok(await page.evaluate(() => document.querySelector('.wf-box').scrollTop) > 2_000_000);
  });
  console.log(`    opened three times in ${Date.now() - opened} ms`);
}

async function folds(page, problems) {
  await page.goto(PAGE + '/s/wide');
  await drawn(page, 'wide', () => window.__wherefore?.flame?.total > 0);
  step('the minimap moves the view');
  await page.locator('.flame-box').focus();
  for (let i = 0; i < 4; i++) await page.keyboard.press('+');
  await drawn(page, 'zoomed in', () => window.__wherefore.flame.range[0] > 0);
  const strip = await page.locator('.minimap').boundingBox();
  await page.mouse.click(strip.x + 3, strip.y + 10);
  await drawn(page, 'at the left end', () => window.__wherefore.flame.range[0] === 0);
  await page.locator('.flame-box').focus();
  await page.keyboard.press('0');
  await drawn(page, 'the whole', () => window.__wherefore.flame.range[1] === window.__wherefore.flame.total);

  step('folds open in place and nothing is lost');
  const folded = await flame(page);
  assert.ok(folded.shown < 1);
  await page.locator('.flame-box').focus();
  await page.keyboard.press('Home');
  for (let i = 0; i < 2; i++) await page.keyboard.press('ArrowDown');
  await drawn(page, 'at the fan', () => window.__wherefore?.flame?.frame === 'fan');
  await page.keyboard.press('ArrowDown');
  await page.getByRole('button', { name: 'Open the fold' }).click();
  await drawn(page, 'more is shown', (s) => window.__wherefore?.flame?.shown > s, folded.shown);
  assert.equal((await flame(page)).total, folded.total);
  assert.deepEqual(problems, []);
}

const { context, page, problems } = await open();
try {
  await everyStep(page);
  await walk(page);
  await keyboardAlone(page);
  await heatMap(page);
  await presets(page);
  await savedFile(context, page);
  await says(page, step);
  await lists(page, step);
  await times(page, step);
  await searchedFile(page, step);
  await statusPage(page);
  await budgets(page);
  await files(page);
  assert.deepEqual(problems.filter((p) => !p.includes('400 (Bad Request)')), []);
  problems.length = 0;
  await offline(context, page, problems);
  await searches(page);
  await searchesEverything(page);
  await orders(page);
  await wayBack(page);
  await hostile(page);
  await extremes(page, problems);
  await folds(page, problems);
  step('320 pixels wide: no page scrolls sideways, menus opened');
  await narrow(page);
  await everyPage(page, async (name) => {
    if (await page.locator('.menu summary').count()) await page.locator('.menu summary').first().click();
    await reflows(page, name);
  }, ['light']);
  await page.setViewportSize({ width: 1440, height: 900 });
  step('axe: no violations on any page, light and dark');
  await everyPage(page, (name, theme) => accessible(page, `${name} (${theme})`));
  assert.deepEqual(problems, []);
} finally {
  await context.close();
}
console.log('  all fine');
