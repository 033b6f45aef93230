// Opens a browser on the page, and what every test needs of it. Its files are in TEMP_FOLDER; it is closed at the end.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const require = createRequire(import.meta.url);
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const PAGE = process.env.PAGE;
export const ALL = { since: '1h' };
export const CHECKOUT = '{service_name="checkout"}';
export const step = (text) => console.log('  ' + text);
export const api = async (path, params = {}) => {
  const response = await fetch(`${PAGE}/api/v1/${path}?${new URLSearchParams(params)}`);
  assert.equal(response.status, 200, path);
  return response.json();
};

// Pending requests of each page.
const asked = new WeakMap();
const waitingOf = (page) => asked.get(page) ?? asked.set(page, new Set()).get(page);

export async function open(options = {}) {
  const context = await chromium.launchPersistentContext(
    join(process.env.TEMP_FOLDER, 'browser-' + Math.random().toString(36).slice(2)),
    {
      executablePath: process.env.CHROMIUM,
      headless: true,
      args: FLAGS,
      viewport: { width: 1440, height: 900 },
      timezoneId: 'UTC',
      bypassCSP: false,
      ...options,
    },
  );
  const page = context.pages()[0];
  const problems = [];
  const waiting = waitingOf(page);
  page.on('request', (r) => waiting.add(r.url()));
  for (const end of ['requestfinished', 'requestfailed']) page.on(end, (r) => waiting.delete(r.url()));
  page.on('pageerror', (e) => problems.push('error: ' + e.message));
  page.on('console', (m) => {
    if (m.type() === 'error') problems.push(`console: ${m.text()} ${m.location().url}`);
  });
  page.on('request', (r) => {
    if (!r.url().startsWith(PAGE) && !/^(data|blob):/.test(r.url())) problems.push('left the origin: ' + r.url());
  });
  return { context, page, problems };
}

export const flame = (page) =>
  page.evaluate(() => {
    const f = window.__wherefore?.flame;
    return f && { ...f, box: undefined, sure: undefined };
  });
export const box = (page, name) => page.evaluate((n) => window.__wherefore.flame.box(n), name);

// Waits until the drawn graph passes the test; on failure it reports what was drawn.
export async function drawn(page, what, test, argument) {
  try {
    await page.waitForFunction(test, argument, { timeout: 15_000 });
  } catch {
    const text = await page
      .locator('#app')
      .innerText()
      .catch(() => 'no page');
    assert.fail(
      `${what}; drawn: ${JSON.stringify(await flame(page))} at ${page.url()}; ` +
        `unanswered: ${[...waitingOf(page)].join(' ')}; the page says: ${text.slice(0, 600)}`,
    );
  }
}

// The position of an element once it has stopped moving; it may be redrawn in the meantime.
export async function settled(page, selector) {
  await page.waitForLoadState('networkidle');
  for (;;) {
    await page
      .locator(selector)
      .first()
      .hover({ position: { x: 1, y: 1 } }); // waits until it does not move, 30 s at most
    const area = await page.locator(selector).first().boundingBox();
    if (area) return area;
  }
}

export async function clickBox(page, name, options) {
  const area = await settled(page, '.flame-view');
  const b = await box(page, name);
  assert.ok(b, 'no box ' + name);
  await page.mouse.click(area.x + Math.max(b.x, 0) + Math.min(b.w / 2, 40), area.y + b.y + 10, options);
}

// The end of a service's newest profile, ms. The data gets older while the tests run.
export const newest = async (service) =>
  Date.parse((await api('services', ALL)).services.find((s) => s.name === service).last);

// Drags over part of the timeline, given as shares of its width.
export async function dragTimeline(page, first, last) {
  const plot = await settled(page, '.plot-over');
  await page.mouse.move(plot.x + plot.width * first, plot.y + 20);
  await page.mouse.down();
  await page.mouse.move(plot.x + plot.width * last, plot.y + 24, { steps: 5 });
  await page.mouse.up();
}

// The selected part of the timeline, from the address.
export async function selection(page) {
  await page.waitForURL(/sel=/);
  return new URL(page.url()).searchParams.get('sel').split('-');
}

// Presses Tab until the focused element passes the test.
export async function tabTo(page, what, test) {
  for (let i = 0; i < 120; i++) {
    await page.keyboard.press('Tab');
    if (await page.evaluate(test)) return;
  }
  assert.fail('Tab does not reach ' + what);
}

// No serious accessibility problems in either theme. The page's policy allows no inline script, so axe runs through
// page.evaluate.
export async function accessible(page, where) {
  await page.evaluate(AXE);
  const found = await page.evaluate(async () =>
    (await window.axe.run(document, { resultTypes: ['violations'] })).violations.map(
      (v) =>
        `${v.impact} ${v.id}: ${v.nodes
          .map((n) => n.target.join(' ') + ' ' + (n.any[0]?.message ?? ''))
          .slice(0, 3)
          .join(' | ')}`,
    ),
  );
  assert.deepEqual(found, [], 'axe at ' + where);
}
