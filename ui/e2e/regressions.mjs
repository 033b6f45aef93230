// Regressions on generated deployments (tests/ui_regressions_test.py): the timeline with new versions, one row for each
// cause, before and after, to the difference and to a trace, acknowledged and muted by keyboard alone, their marks, and
// the cards of home, which are these records.
import assert from 'node:assert/strict';
import { accessible, api, drawn, open, PAGE, step, tabTo } from './browser.mjs';
import { narrow, reflows } from './reflow.mjs';

const { context, page, problems } = await open();
const rows = page.locator('tr[data-regression]');
const ids = () => rows.evaluateAll((all) => all.map((r) => r.dataset.regression));
const details = page.locator('article.regression');
const culprit = (r) => r.own?.function ?? r.function.name;
const record = async (id) => (await api('regressions')).regressions.find((r) => r.id === id);

async function list() {
  step('regressions: one row for each cause, as the API says; a timeline with the new versions');
  const answer = await api('regressions', { since: '7d' });
  assert.ok(answer.regressions.length > 1, 'there are some');
  await page.goto(PAGE + '/regressions');
  await rows.nth(answer.regressions.length - 1).waitFor();
  assert.deepEqual(
    await ids(),
    answer.regressions.map((r) => r.id),
  );
  await page
    .getByTestId('counts')
    .filter({ hasText: `${answer.open} open` })
    .waitFor();
  assert.equal(await page.locator('.lane-mark').count(), answer.regressions.length);
  const versions = await page.locator('.lane-deploy').allTextContents();
  assert.ok(versions.includes('v2'), versions.join());
  await everywhere('listed');
  await page.goto(`${PAGE}/regressions?from=1500000000000&to=1500000060000&id=${answer.regressions[0].id}`);
  await page.getByText('The regression of this address is not among those of this time.').waitFor();
  await page.getByRole('button', { name: 'Look at all time' }).click();
  await details.getByText(answer.regressions[0].sentence).waitFor();
  return answer.regressions[0];
}

async function open1(first) {
  step('a row opens: before and after, traces of both sides, the difference; in the address');
  await page.goto(PAGE + '/regressions');
  await page.locator(`tr[data-regression="${first.id}"]`).getByRole('button').click();
  await page.waitForURL((u) => u.searchParams.get('id') === first.id);
  await details.getByText(first.sentence).waitFor();
  await page.reload();
  await details.getByText(first.sentence).waitFor();
  assert.equal(await details.locator('.before-after tr').count(), 2);
  const traces = [...first.traces.before, ...first.traces.after];
  assert.equal(await details.locator('.sample-traces a').count(), traces.length);
  await everywhere('opened');
  await details.getByRole('link', { name: 'Diff', exact: true }).click();
  await page.waitForURL(/\/diff\?/);
  await drawn(page, 'the difference', () => window.__wherefore?.flame?.totalBefore > 0);
  await page.locator('.causes li', { hasText: first.function.name }).first().waitFor();
  await page.goBack();
  await details.locator('.sample-traces a').last().click();
  await page.waitForURL((u) => u.pathname === `/traces/${traces.at(-1)}`);
  await page.locator('.wf-box').waitFor();
  await page.goBack();
  await details.waitFor();
}

async function byKeyboard(first) {
  step('acknowledged, muted with a reason and reopened, by keyboard alone');
  const press = async (name) => {
    await tabTo(
      page,
      name,
      `document.activeElement.closest('article.regression') && document.activeElement.textContent === '${name}'`,
    );
    await page.keyboard.press('Enter');
  };
  await page.goto(`${PAGE}/regressions?id=${first.id}`);
  await details.waitFor();
  await press('Acknowledge…');
  await page.waitForURL(/act=acknowledge/);
  await page.getByRole('form', { name: 'Acknowledge' }).waitFor();
  await tabTo(
    page,
    'why',
    () => document.activeElement.closest('form[aria-label=Acknowledge]') && document.activeElement.matches('input'),
  );
  await page.keyboard.type('looking at it');
  await page.keyboard.press('Enter');
  await page.getByTestId('why-state').filter({ hasText: 'acknowledged: looking at it' }).waitFor();
  assert.equal((await record(first.id)).state, 'acknowledged');
  await press('Mute…');
  const form = page.getByRole('form', { name: 'Mute' });
  await form.waitFor();
  assert.ok(await form.getByRole('button', { name: 'Mute' }).isDisabled(), 'not without a reason');
  await tabTo(
    page,
    'why',
    () => document.activeElement.closest('form[aria-label=Mute]') && document.activeElement.matches('input'),
  );
  await page.keyboard.type('known, ticket 12');
  await page.keyboard.press('Enter');
  await page.getByTestId('why-state').filter({ hasText: 'muted: known, ticket 12, until' }).waitFor();
  const muted = await record(first.id);
  assert.deepEqual([muted.state, muted.why], ['muted', 'known, ticket 12']);
  await page.getByRole('button', { name: /^muted 1$/ }).click();
  await page.waitForURL(/show=muted/);
  assert.deepEqual(await ids(), [first.id]);
  await press('Reopen');
  await page.locator(`tr[data-regression="${first.id}"] .state.open`).waitFor();
  assert.equal((await record(first.id)).state, 'open');
}

async function kept(first) {
  step('what was compared is kept: the reason is offered, and both sides are its window');
  await page.goto(`${PAGE}/regressions?id=${first.id}`);
  await details.getByRole('button', { name: 'Keep this window…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Keep this window' });
  assert.equal(await dialog.getByLabel('Why').inputValue(), `regression ${first.id}: ${culprit(first)}`);
  await dialog.getByRole('button', { name: 'Keep', exact: true }).click();
  await dialog.locator('tr[data-pin]').waitFor();
  const [pin] = (await api('pins')).pins;
  const { base_from_ms: from, to_ms: to } = first.sides;
  assert.deepEqual([pin.service, Date.parse(pin.from), Date.parse(pin.to)], [first.service, Number(from), Number(to)]);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
}

async function home() {
  step('home: the cards are what the API says got worse; each leads to its record, by keyboard too');
  const { worse } = await api('worse', { limit: '12' });
  assert.ok(worse.length > 1, 'cards');
  await page.goto(PAGE + '/');
  const cards = page.locator('.worse-card');
  await cards.nth(worse.length - 1).waitFor();
  const shown = await cards.evaluateAll((all) => all.map((c) => c.getAttribute('aria-label')));
  assert.deepEqual(
    shown,
    worse.map((e) => e.service),
  );
  const { regressions } = await api('regressions');
  for (const [i, { service, regressions: ids }] of worse.entries()) {
    const mine = regressions.filter((r) => r.service === service && r.state === 'open').map((r) => r.id);
    assert.deepEqual([...ids].sort(), mine.sort(), `the card of ${service} is its open records`);
    const to = await cards.nth(i).getByRole('link', { name: 'Regression' }).getAttribute('href');
    assert.equal(new URL(to, PAGE).searchParams.get('id'), ids[0]);
    await page.getByRole('link', { name: `▲ regressions of ${service}` }).waitFor();
  }
  await accessible(page, 'home with regressions');
  await tabTo(page, 'the record', () => document.activeElement.matches('.worse-card a[href^="/regressions"]'));
  await page.keyboard.press('Enter');
  const [id] = worse[0].regressions;
  await page.waitForURL((u) => u.pathname === '/regressions' && u.searchParams.get('id') === id);
  await details.getByText(regressions.find((r) => r.id === id).sentence).waitFor();
  await page.goBack();
  await page.getByRole('link', { name: `▲ regressions of ${worse[1].service}` }).click();
  await page.waitForURL((u) => u.searchParams.get('id') === worse[1].regressions[0]);
  await details.waitFor();

  step('a card leads to the difference with its cause, and to traces with it');
  await page.goto(PAGE + '/');
  await cards.first().getByRole('link', { name: 'Diff' }).click();
  await page.waitForURL(/\/diff\?/);
  await page.locator('.causes li', { hasText: worse[0].causes[0].function }).first().waitFor();
  await page.goBack();
  await cards.first().getByRole('link', { name: 'Traces' }).click();
  await page.locator('table.seen tbody a').first().waitFor();
}

async function marks(first) {
  step('marked on the timeline of its service and counted below it; both lead here');
  await page.goto(`${PAGE}/s/${first.service}?since=2d`);
  await drawn(page, 'the graph', () => window.__wherefore?.flame?.total > 0);
  await page.locator('.marks [data-mark=regression] a').first().click();
  await page.waitForURL((u) => u.pathname === '/regressions' && u.searchParams.get('service') === first.service);
  await details.getByText(first.sentence).waitFor();
  await page.goBack();
  await page.getByRole('link', { name: '▲ 1 open regression' }).click();
  await page.waitForURL((u) => u.pathname === '/regressions' && u.searchParams.get('service') === first.service);
  await rows.first().waitFor();
  assert.deepEqual(await ids(), [first.id]);
}

async function everywhere(what) {
  for (const theme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await accessible(page, `regressions ${what} (${theme})`);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/regressions ${what} ${theme}.png` });
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await narrow(page);
  await reflows(page, `regressions ${what}`);
  await page.setViewportSize({ width: 1440, height: 900 });
}

try {
  const first = await list();
  await open1(first);
  await byKeyboard(first);
  await marks(first);
  await kept(first);
  await home();
  assert.deepEqual(problems, []);
} finally {
  await context.close();
}
console.log('  all fine');
