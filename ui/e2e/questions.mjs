// Ten first-time questions on the demo, each answered from "/" in at most three clicks or keys that act, without a step
// that needs the docs: once by pointer, once by keyboard alone.
import assert from 'node:assert/strict';
import { api, drawn, PAGE, step } from './browser.mjs';

const MOST_CLICKS = 3;
const MOST_TABS = 120;
const PARSER = /ParseString/;
const LINE = 'out = out + text_[at_]';
const THEIRS = 'orders'; // the service that is asked about: its parser allocates for every character since v2

// Moves the focus there by Tab and presses Enter: what somebody without a pointer does.
async function byKeyboard(page, locator) {
  await locator.evaluate((e) => {
    e.dataset.wanted = '1';
  });
  for (let i = 0; i < MOST_TABS; i++) {
    await page.keyboard.press('Tab');
    if (await page.evaluate(() => document.activeElement?.dataset.wanted === '1')) {
      await page.keyboard.press('Enter');
      return;
    }
  }
  assert.fail(`Tab does not reach ${locator}`);
}

// The server looks at one service after the other in the background.
async function worse() {
  for (let i = 0; i < 60; i++) {
    const answer = await api('worse', { limit: '12' });
    if (!answer.looking && answer.looked_at === answer.services) return answer;
    await new Promise((done) => setTimeout(done, 1000));
  }
  assert.fail('the server does not find out what got worse');
}

// The critical path of a trace whose root span is there. The newest one may be on its way: then the page is loaded
// again, as a reader would.
async function arrived(page, trace) {
  for (let i = 0; i < 60; i++) {
    const path = await api(`traces/${trace}/critical-path`);
    if (path.root !== '') {
      if (i > 0 || (await page.getByTestId('rootless').count())) await page.reload();
      return path;
    }
    await new Promise((done) => setTimeout(done, 500));
  }
  assert.fail(`the root span of ${trace} does not arrive`);
}

const QUESTIONS = {
  'which service?': async ({ page }) => {
    const answer = await worse();
    assert.ok(
      answer.worse.some((e) => e.service === THEIRS),
      answer.others.map((e) => e.sentence).join('; '),
    );
    const cards = () => page.locator('.worse-card').evaluateAll((all) => all.map((c) => c.getAttribute('aria-label')));
    await page
      .getByTestId('worse')
      .filter({ hasText: `${answer.worse_in_all} of ${answer.looked_at}` })
      .waitFor();
    assert.deepEqual(
      await cards(),
      answer.worse.map((e) => e.service),
      'the cards are what the server found',
    );
  },
  'since when?': async ({ page, card, act, link }) => {
    await card.getByText('since v2').waitFor();
    await act(link(THEIRS));
    await page.getByRole('link', { name: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ?: v1 → v2, compare$/ }).waitFor();
  },
  'what changed?': async ({ page, card, act }) => {
    await card.getByText(PARSER).first().waitFor();
    await act(card.getByRole('link', { name: 'Diff' }));
    await page.locator('.causes li', { hasText: PARSER }).first().waitFor();
    await drawn(page, 'the difference', () => window.__wherefore?.flame?.totalBefore !== undefined);
    const grew = page.getByTestId('culprit').locator('tr', { hasText: LINE });
    await grew.waitFor();
    const [before, after] = (await grew.locator('td.number').allTextContents()).map((t) => parseFloat(t) || 0);
    assert.ok(after > before, `its line had ${before} %, now ${after} %`);
  },
  'which line?': async ({ page, card, act }) => {
    await card.getByText(LINE).first().waitFor();
    await act(card.getByRole('link', { name: 'Line' }));
    await page.locator('.source-line.selected', { hasText: LINE }).waitFor();
  },
  'which requests?': async ({ page, card, act }) => {
    await act(card.getByRole('link', { name: 'Traces' }));
    await page.locator('table.seen tbody a').first().waitFor();
    await page.getByText(PARSER).first().waitFor();
  },
  'what do they wait for?': async ({ page, row, act }) => {
    await row.locator('.account-bar').waitFor(); // in short; of one of them:
    await act(row.locator('a[href^="/traces"]'));
    await act(page.locator('table.traces tbody a').first());
    const trace = page.url().match(/traces\/([0-9a-f]{32})/)[1];
    await page.locator('section.whole .account-bar').waitFor();
    const { duration_ns: lasts } = await arrived(page, trace);
    const { total } = await api(`traces/${trace}/flame`, { path: 'critical' });
    assert.equal(Number(total), Number(lasts), 'the bar is the whole trace');
    await drawn(page, 'what it waited for', (v) => window.__wherefore?.flame?.total === v, Number(total));
  },
  'is it certain?': async ({ page, card, act }) => {
    await card.getByText(/certain \(q /).waitFor();
    await act(card.getByRole('link', { name: 'Diff' }));
    await page.getByTestId('detectable').filter({ hasText: '(95 %)' }).waitFor();
    const cause = page.locator('.causes li').first();
    assert.match(await cause.textContent(), /\(\+?[−\d.]+ % to \+?[−\d.]+ %\)/);
  },
  'how do I show a colleague?': async ({ page, card, act }) => {
    await act(card.getByRole('button', { name: 'Copy' }));
    await page.getByText('Copied.').waitFor();
  },
  'can I watch it live?': async ({ page, act, link }) => {
    await act(link(THEIRS));
    await act(page.getByRole('button', { name: 'Live' }));
    await page.waitForURL(/live=1/);
  },
  // The release without it plays the part of the fix: what a reader would see of one, and how sure it is.
  'is it gone after a fix?': async ({ page, card, act }) => {
    await act(card.getByRole('link', { name: 'Diff' }));
    await drawn(page, 'the difference', () => window.__wherefore?.flame?.totalBefore !== undefined);
    await act(page.getByRole('button', { name: 'Swap A and B' }));
    const gone = page.locator('.causes li[data-kind=less], .causes li[data-kind=gone]', { hasText: PARSER });
    await gone.first().waitFor();
    await page.getByTestId('detectable').filter({ hasText: '(95 %)' }).waitFor();
  },
};

async function ask(page, how) {
  const link = (name) => page.getByRole('link', { name, exact: true });
  for (const [text, answer] of Object.entries(QUESTIONS)) {
    await page.goto(PAGE + '/');
    const row = page.locator('table.services tbody tr', { has: link(THEIRS) });
    const card = page.locator(`.worse-card[aria-label="${THEIRS}"]`);
    await row.waitFor();
    await card.waitFor();
    let acts = 0;
    const act = async (locator) => {
      acts++;
      await locator.waitFor();
      if (how === 'pointer') await locator.click();
      else await byKeyboard(page, locator);
    };
    await answer({ page, row, card, act, link });
    assert.ok(acts <= MOST_CLICKS, `${text} ${acts} clicks`);
    step(`asked by ${how}: ${text} ${acts}`);
  }
}

export async function questions(page) {
  assert.equal(Object.keys(QUESTIONS).length, 10);
  await worse();
  await ask(page, 'pointer');
  await ask(page, 'keyboard');
}
