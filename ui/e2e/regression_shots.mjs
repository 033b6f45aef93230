// Screenshots of the page of regressions, on generated deployments, into SCREENSHOTS (tools/screenshots).
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { api, open, PAGE } from './browser.mjs';
import { smaller } from './png.mjs';

const { context, page } = await open();
try {
  const [{ id }] = (await api('regressions')).regressions;
  await page.goto(`${PAGE}/regressions?id=${id}`);
  await page.locator('article.regression').waitFor();
  for (const theme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    for (const width of [1440, 1024]) {
      await page.setViewportSize({ width, height: 800 });
      await page.waitForTimeout(200);
      const png = smaller(await page.screenshot());
      writeFileSync(join(process.env.SCREENSHOTS, `regressions-${theme}-${width}.png`), png);
    }
  }
} finally {
  await context.close();
}
