// An alert through its states, on real data: pending, firing, silenced by keyboard alone, told again, resolved; its
// marks on the timeline and on home; a dry run. The test beside it (tests/ui_alerts_test.py) sends the load, and lowers
// it when the file CALM is there.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { accessible, api, drawn, open, PAGE, step, tabTo } from './browser.mjs';
import { narrow, reflows } from './reflow.mjs';

const { context, page, problems } = await open();
const card = (state) => page.locator(`article.alert[data-state=${state}]`);
const find = async (state) => (await api('alerts')).alerts.find((a) => a.service === 'shop' && a.state === state);

async function untilApi(what, test) {
  for (let i = 0; i < 90; i++) {
    const found = await test();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 500));
  }
  assert.fail(what);
}

async function states() {
  step('an alert is pending, then it fires: the page follows, as the API says');
  await page.goto(PAGE + '/alerts');
  await untilApi('it is pending', () => find('pending'));
  await card('pending').waitFor();
  await card('firing').waitFor({ timeout: 60_000 });
  const firing = await find('firing');
  assert.equal(await card('firing').getAttribute('aria-label'), `${firing.alert}, ${firing.service}`);
  await card('firing').getByText(firing.when, { exact: true }).waitFor();
  await card('firing').getByText('severity=page').waitFor();
  assert.equal(await page.getByTestId('counts').textContent(), '1 firing · 0 pending · 1 rule · 0 receivers');
  const rule = page.locator('tr[data-rule=Hot]');
  await rule.getByText('1 firing').waitFor();
  await rule.getByText('share of cpu in ^hot$ over 10s above 30%, for 8s').waitFor();

  step('its history: a strip over the range, each time by itself, in the address');
  await page.locator('.strip .firing').waitFor();
  await card('firing').getByRole('button', { name: 'History' }).click();
  await page.waitForURL((u) => u.searchParams.get('alert') === 'Hot' && u.searchParams.get('service') === 'shop');
  const times = page.locator('table.alert-times tbody tr');
  await times.nth(1).waitFor();
  assert.deepEqual(await times.evaluateAll((all) => all.map((r) => r.dataset.state)), ['firing', 'pending']);
  await page.reload();
  await times.nth(1).waitFor();
  const { events } = await api('alerts/history', { since: '1h', service: 'shop' });
  const began = await times.first().locator('time').getAttribute('datetime');
  assert.equal(Date.parse(began), Date.parse(events.find((e) => e.state === 'firing').startsAt));
  await page.goBack();
  await page.waitForURL((u) => !u.searchParams.has('alert'));
}

async function marks() {
  step('it is marked on the timeline of its service and on home, and leads back');
  await page.locator('article.alert').getByRole('link', { name: 'Graph' }).click();
  await page.waitForURL(/\/s\/shop\?.*search=/);
  await drawn(page, 'the function is found', () => window.__wherefore?.flame?.matched > 0);
  await page.goto(PAGE + '/s/shop?since=15m');
  await page.locator('.marks [data-mark=alert] a').first().waitFor();
  await accessible(page, 'a service with marks');
  await page.getByRole('link', { name: '! 1 alert fires' }).click();
  await page.waitForURL((u) => u.pathname === '/alerts' && u.searchParams.get('service') === 'shop');
  await card('firing').waitFor();
  await page.goto(PAGE + '/');
  await page.getByRole('link', { name: 'alerts of shop' }).waitFor();
  await accessible(page, 'home with marks');
  await page.getByRole('link', { name: 'alerts of shop' }).click();
  await page.waitForURL((u) => u.pathname === '/alerts' && u.searchParams.get('service') === 'shop');
  await card('firing').waitFor();
}

async function kept() {
  step('the window it fires in is kept, with the alert as the reason');
  await page.goto(PAGE + '/alerts');
  await card('firing').getByRole('button', { name: 'Keep this window…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Keep this window' });
  assert.match(await dialog.getByLabel('Why').inputValue(), /^alert Hot: /);
  await dialog.getByRole('button', { name: 'Keep', exact: true }).click();
  await dialog.locator('tr[data-pin]').waitFor();
  const [pin] = (await api('pins')).pins;
  assert.deepEqual([pin.service, Date.parse(pin.from)], ['shop', Date.parse((await find('firing')).activeAt)]);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
}

async function silenced() {
  step('silenced and told again by keyboard alone');
  await page.goto(PAGE + '/alerts');
  await card('firing').waitFor();
  await tabTo(
    page,
    'Silence',
    () => document.activeElement.closest('article.alert') && /^Silence/.test(document.activeElement.textContent),
  );
  await page.keyboard.press('Enter');
  await page.waitForURL((u) => u.searchParams.get('silence') === 'alertname=Hot, service=shop');
  const form = page.getByRole('form', { name: 'Silence alerts' });
  await form.waitFor();
  await page.reload(); // the form is in the address
  await form.waitFor();
  await tabTo(page, 'the matchers', () => document.activeElement.value === 'alertname=Hot, service=shop');
  await page.keyboard.press('End');
  await page.keyboard.type(', oops');
  await form.getByText('is not name=value').waitFor();
  for (let i = 0; i < ', oops'.length; i++) await page.keyboard.press('Backspace');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.type('known, ticket 12');
  await page.keyboard.press('Enter');
  await page.locator('article.alert.silenced').waitFor();
  const [silence] = (await api('silences')).silences;
  assert.deepEqual(
    silence.matchers.map((m) => [m.name, m.value, m.isEqual, m.isRegex]),
    [
      ['alertname', 'Hot', true, false],
      ['service', 'shop', true, false],
    ],
  );
  assert.deepEqual([silence.comment, silence.status.state], ['known, ticket 12', 'active']);
  assert.deepEqual((await find('firing')).silencedBy, [silence.id]);
  const row = page.locator(`tr[data-silence="${silence.id}"]`);
  await row.getByText('known, ticket 12').waitFor();
  await everywhere('with a silence');
  await tabTo(page, 'End', () => document.activeElement.textContent === 'End');
  await page.keyboard.press('Enter');
  await row.getByText('expired').waitFor();
  await page.locator('article.alert.firing').waitFor();
  assert.equal((await api('silences')).silences[0].status.state, 'expired');
}

async function dryRun() {
  step('a dry run of a rule says when it would have fired; a mistake is named with its line');
  await page.goto(PAGE + '/alerts?since=15m');
  await page.getByRole('button', { name: 'Dry run of Hot' }).click();
  await page.waitForURL((u) => u.searchParams.get('test') === 'Hot');
  const rules = page.locator('#dry-run-rules');
  const text = await rules.inputValue();
  assert.match(text, /alert: "Hot"[\s\S]*when: "above 30%"/);
  // Its windows end a quarter of a minute before now (the default delay), so it fires later than it really did.
  const outcome = page.getByTestId('dry-run');
  await untilApi('it would have fired', async () => {
    await page.getByRole('button', { name: 'Try', exact: true }).click();
    await outcome.waitFor();
    return (await outcome.textContent()).startsWith('Would have fired 1 time');
  });
  await page.locator('section[aria-label="Dry run"] .strip .firing').waitFor();
  const answer = await (await fetch(`${PAGE}/api/v1/alerts/test?since=15m`, { method: 'POST', body: text })).json();
  const shown = page.locator('section[aria-label="Dry run"] table.alert-times tbody tr');
  assert.equal(await shown.count(), answer.times.length);
  await everywhere('with a dry run');
  await rules.fill(text.replace('above 30%', 'above nonsense'));
  await page.getByRole('button', { name: 'Try', exact: true }).click();
  await page
    .getByRole('alert')
    .filter({ hasText: /line \d+|:\d+:\d+/ })
    .waitFor();
}

async function resolved() {
  step('what ends is gone from the page, and stays in the history');
  await page.goto(PAGE + '/alerts');
  writeFileSync(process.env.CALM, '');
  await page.getByText('Nothing fires, nothing is pending.').waitFor({ timeout: 60_000 });
  const strip = page.getByRole('img', { name: /^Hot of shop: fired 1 time, / });
  await strip.waitFor();
  await page.locator('tr[data-rule=Hot]').getByText('quiet').waitFor();
}

// Both themes, and as narrow as a phone.
async function everywhere(what) {
  for (const theme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await accessible(page, `alerts ${what} (${theme})`);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/alerts ${what} ${theme}.png` });
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await narrow(page);
  await reflows(page, `alerts ${what}`);
  await page.setViewportSize({ width: 1440, height: 900 });
}

try {
  await states();
  await marks();
  await kept();
  await silenced();
  await dryRun();
  await resolved();
  assert.deepEqual(
    problems.filter((p) => !p.includes('400 (Bad Request)')),
    [],
  );
} finally {
  await context.close();
}
console.log('  all fine');
