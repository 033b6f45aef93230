// Where the focus is after a key, and what undo and redo do.
import assert from 'node:assert/strict';
import { drawn, PAGE, step } from './browser.mjs';

const shown = (page) => drawn(page, 'a flame graph', () => window.__wherefore?.flame?.count > 0);

async function viewFocus(page) {
  step('after a key that changes the view the focus is in it');
  const at = (what, selector) =>
    page
      .waitForFunction((s) => document.activeElement.matches(s), selector, { timeout: 15_000 })
      .catch(async () =>
        assert.fail(`${what}: ${await page.evaluate(() => document.activeElement.outerHTML.slice(0, 200))}`),
      );
  const hottest = async () => {
    await page.goto(PAGE + '/s/checkout');
    await shown(page);
    await page.locator('.flame-box').first().focus();
    await page.keyboard.press('End');
    await drawn(page, 'the hottest', () => window.__wherefore.flame.frame === 'json::parse_object');
  };
  await hottest();
  const views = {
    2: 'table.top tr.selected th button',
    3: '.calltree',
    4: '.flame-box',
    5: '.heat-box',
    6: '.source',
    7: 'table.seen a',
    1: '.flame-box',
  };
  for (const key of ['2', '3', '4', '5', '6', '7', '1', '3', '1']) {
    await page.keyboard.press(key);
    await at(key, views[key]);
  }
  for (const [key, selector] of [
    ['s', views[4]],
    ['o', views[6]],
    ['t', views[7]],
  ]) {
    await hottest();
    await page.keyboard.press(key);
    await page.waitForURL(/view=/);
    await at(key, selector);
  }
  await page.goBack();
  await at('back', '.flame-box');
  await page.keyboard.press('3');
  await at('3', views[3]);
  await page.keyboard.press('Enter');
  await at('Enter in the call tree', '.flame-box');
  await page.keyboard.press('2');
  await at('2', views[2]);
  await page.keyboard.press('Enter');
  await at('Enter in the table', '.flame-box');
}

async function treeMenu(page) {
  step('call tree: the menu right after *, of the row found');
  await page.goto(PAGE + '/s/deep?view=tree');
  const tree = page.locator('.calltree');
  await tree.waitFor();
  await tree.focus();
  for (const key of ['*', 'Shift+F10']) await page.keyboard.press(key);
  const menu = page.getByRole('menu');
  await menu.waitFor();
  const selected = await page.locator('.inspector h2').textContent();
  assert.ok(
    (await menu.getAttribute('aria-label')).endsWith(selected),
    `${await menu.getAttribute('aria-label')}, ${selected}`,
  );
  await page.keyboard.press('Escape');
}

async function undoKeys(page) {
  step('Ctrl+Z in the empty lens field undoes the lens; a step forth never leads to another page');
  await page.goto(PAGE + '/s/checkout');
  await shown(page);
  const field = page.locator('form.chips input');
  await field.fill('hide:^malloc$');
  await page.keyboard.press('Enter');
  await page.waitForURL(/lens=hide/);
  await field.focus();
  await page.keyboard.type('x');
  await page.keyboard.press('Control+z');
  assert.match(page.url(), /lens=hide/, "while there is text the key is the field's");
  await field.fill('');
  await page.keyboard.press('Control+z');
  await page.waitForURL((u) => !u.searchParams.has('lens'));
  await page.keyboard.press('Control+Shift+z');
  await page.waitForURL(/lens=hide/);
  await page.getByRole('navigation').getByRole('link', { name: 'Status' }).click();
  await page.waitForURL(/\/status/);
  await page.goBack();
  await page.waitForURL(/\/s\/checkout/);
  await shown(page);
  await page.locator('.flame-box').first().focus();
  for (let i = 0; i < 3; i++) await page.keyboard.press('Control+Shift+z');
  await page.keyboard.press('Control+z');
  await page.waitForURL((u) => u.pathname === '/s/checkout' && !u.searchParams.has('lens'));
  await page.reload();
  await shown(page);
  for (let i = 0; i < 3; i++) await page.keyboard.press('Control+Shift+z');
  await page.waitForURL((u) => u.pathname === '/s/checkout' && u.searchParams.has('lens'));
  assert.equal(new URL(page.url()).pathname, '/s/checkout');
}

export async function focus(page) {
  await viewFocus(page);
  await treeMenu(page);
  await undoKeys(page);
}
