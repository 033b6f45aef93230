// Screenshots of every page, light and dark, at two widths, into SCREENSHOTS (tools/screenshots). At most 100 kB each.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open } from './browser.mjs';
import { everyPage } from './pages.mjs';
import { smaller } from './png.mjs';

const { context, page } = await open();
try {
  await everyPage(page, async (name, theme) => {
    if (name === 'regressions') return; // regression_shots.mjs has some
    for (const width of [1440, 1024]) {
      await page.setViewportSize({ width, height: 800 });
      await page.waitForTimeout(200);
      const png = smaller(await page.screenshot());
      assert.ok(png.length <= 100_000, `${name}: ${png.length} bytes`);
      writeFileSync(join(process.env.SCREENSHOTS, `${name}-${theme}-${width}.png`), png);
    }
  });
} finally {
  await context.close();
}
