// The whole story, from "which service?" to "what did this slow request do?": once with the back button and a reload at
// each step (steps.mjs), once with everything else; then files, hostile names, large data, 320 pixels, accessibility in
// both themes.
import assert from 'node:assert/strict';
import { actions } from './actions.mjs';
import { addresses } from './addresses.mjs';
import { accessible, open, step } from './browser.mjs';
import { compared, presets } from './diff.mjs';
import { files } from './files.mjs';
import { focus } from './focus.mjs';
import { functions } from './function.mjs';
import { home } from './home.mjs';
import { keys } from './keys.mjs';
import { latency } from './latency.mjs';
import { lensKeys } from './lens_keys.mjs';
import { extremes, folds, hostile } from './large.mjs';
import { budgets, offline } from './network.mjs';
import { everyPage } from './pages.mjs';
import { narrow, reflows } from './reflow.mjs';
import { lists, searchedFile, times } from './lists.mjs';
import { says } from './said.mjs';
import { gaps, searches, searchesEverything, searchesOverTime } from './search.mjs';
import { service } from './service.mjs';
import { everyStep } from './steps.mjs';
import { keyboardAlone, orders, traces } from './trace.mjs';
import { why } from './why.mjs';
import { heatMap, savedFile, statusPage, wayBack } from './views.mjs';

const { context, page, problems } = await open();
const second = await open(); // for what needs no order; not while anything is timed

async function walk() {
  await everyStep(page);
  const selected = await service(page);
  const hot = await functions(page, selected);
  await compared(page, selected.part, hot);
  await traces(page);
  await keyboardAlone(page);
  await heatMap(page);
  await presets(page);
  await why(page);
  await savedFile(context, page);
  await says(page);
  await lists(page);
  await times(page);
  await searchedFile(page);
  await statusPage(page);
  await budgets(page);
  await files(page);
}

async function beside() {
  await actions(second.page);
  await keys(second.page, second.problems);
  await lensKeys(second.page);
  await focus(second.page);
  await home(second.page);
  await latency(second.page);
  await addresses(second.page, second.problems);
}

try {
  await Promise.all([walk(), beside()]);
  assert.deepEqual(
    problems.filter((p) => !p.includes('400 (Bad Request)')),
    [],
  );
  problems.length = 0;
  await offline(context, page, problems);
  await searches(page);
  await searchesEverything(page);
  await searchesOverTime(page);
  await gaps(page);
  await orders(page);
  await wayBack(page);
  await hostile(page);
  await extremes(page, problems);
  await folds(page, problems);
  step('320 pixels wide: no page scrolls sideways, menus opened');
  await narrow(page);
  await everyPage(
    page,
    async (name) => {
      if (await page.locator('.menu summary').count()) await page.locator('.menu summary').first().click();
      await reflows(page, name);
    },
    ['light'],
  );
  await page.setViewportSize({ width: 1440, height: 900 });
  step('axe: no violations on any page, light and dark');
  await Promise.all(
    [
      [page, 'light'],
      [second.page, 'dark'],
    ].map(([p, theme]) => everyPage(p, (name) => accessible(p, `${name} (${theme})`), [theme])),
  );
  assert.deepEqual([problems, second.problems], [[], []]);
} finally {
  await Promise.all([context.close(), second.context.close()]);
}
console.log('  all fine');
