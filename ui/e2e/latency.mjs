// The heat map of durations: a box of it, by pointer and by keyboard, lists its traces and is compared with all others.
import assert from 'node:assert/strict';
import { accessible, ALL, api, drawn, PAGE, settled, step } from './browser.mjs';

const ENDPOINT = { service: 'search', name: 'find' };

// The selected box, as parameters of the API.
function boxIn(page) {
  const [from, to, least, most] = new URL(page.url()).searchParams.get('box').split('-');
  return {
    inside: { from, to, max_duration: `${most}ns`, ...(least > 0 && { min_duration: `${least}ns` }) },
    box: { box_from: from, box_to: to, box_min: `${least}ns`, box_max: `${most}ns` },
  };
}

async function equalsTheApi(page) {
  const { inside, box } = boxIn(page);
  const { traces } = await api('traces', { ...ENDPOINT, ...inside, limit: 200, matched: 0 });
  await page.locator('table.traces caption', { hasText: new RegExp(`^${traces.length} traces?,`) }).waitFor();
  const found = await api('slow', { ...ALL, ...ENDPOINT, ...box });
  const counts = new RegExp(`${found.slow} selected and ${found.typical} others of ${found.requests} requests`);
  await page.getByTestId('gap').filter({ hasText: counts }).waitFor();
  return found;
}

export async function latency(page) {
  step('durations of all requests, not of a list: a box of them against the rest');
  const map = await api('latency', { ...ALL, ...ENDPOINT });
  await page.goto(`${PAGE}/traces?${new URLSearchParams(ENDPOINT)}`);
  await drawn(page, 'every span', (n) => window.__wherefore?.latency?.count === n, map.spans);
  await drawn(page, 'every cell', (n) => window.__wherefore.latency.drawn === n, map.cells.length);
  // The upper rows, over the whole time.
  const area = await settled(page, '.heat-box');
  const rows = map.bounds_ns.length - 1;
  const counts = Array.from({ length: rows }, (_, row) =>
    map.cells.filter((c) => c[1] >= row).reduce((sum, c) => sum + c[2], 0),
  );
  const least = Math.max(
    counts.findLastIndex((n) => n >= 20),
    1,
  );
  await page.mouse.move(area.x + 3, area.y + 3);
  await page.mouse.down();
  const bottom = area.y + area.height * (1 - (least + 0.5) / rows);
  await page.mouse.move(area.x + area.width - 3, bottom, { steps: 4 });
  await page.mouse.up();
  await page.waitForURL(/box=/);
  const found = await equalsTheApi(page);
  assert.equal(found.slow, counts[least], 'as many as the cells of the box say');
  await page.locator('table[aria-label=Parts]').waitFor();
  await page.reload();
  await equalsTheApi(page);
  await accessible(page, 'a selected box');
  await page.goBack();
  await page.getByRole('region', { name: 'Selection' }).waitFor({ state: 'detached' });

  step('a box by keyboard; Escape clears it');
  await page.locator('.heat-box').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('Shift+ArrowUp');
  await page.keyboard.press('Enter');
  await page.waitForURL(/box=/);
  await equalsTheApi(page);
  await page.locator('.heat-box').focus();
  await page.keyboard.press('Escape');
  await page.waitForURL((u) => !u.searchParams.has('box'));
}
