// At a width of 320 CSS pixels, as at 400 % zoom (WCAG 2.2, 1.4.10), no page scrolls sideways. Wide parts (tables,
// pictures) scroll in boxes of their own that take the focus.
import assert from 'node:assert/strict';

const WIDTH = 320;

// Elements wider than the page, and boxes that scroll sideways but cannot take the focus.
const problems = (width) => {
  const wide = [];
  const name = (e) =>
    `${e.tagName.toLowerCase()}.${String(e.className?.baseVal ?? e.className)
      .trim()
      .replace(/\s+/g, '.')}`;
  const scrolls = (e) => /auto|scroll/.test(getComputedStyle(e).overflowX);
  const clips = (e) => getComputedStyle(e).overflowX !== 'visible';
  for (const e of document.querySelectorAll('body *')) {
    if (scrolls(e) && e.scrollWidth > e.clientWidth + 1 && !e.matches('[tabindex="0"], input, select, textarea'))
      wide.push(`${name(e)} scrolls, but the keyboard does not reach it`);
    const box = e.getBoundingClientRect();
    if (box.width === 0 || box.right <= width + 0.5 || e.closest('.hidden, .skip')) continue;
    let inside = false;
    for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) inside ||= clips(p);
    if (!inside) wide.push(`${name(e)} reaches ${Math.round(box.right)}: ${e.textContent.slice(0, 40)}`);
  }
  if (document.documentElement.scrollWidth > width)
    wide.push(`the page is ${document.documentElement.scrollWidth} wide`);
  return [...new Set(wide)].slice(0, 8);
};

export const narrow = (page) => page.setViewportSize({ width: WIDTH, height: 640 });

export async function reflows(page, where) {
  await page.waitForTimeout(50); // the graph follows the window's width in the next frame
  assert.deepEqual(await page.evaluate(problems, WIDTH), [], `${where} at ${WIDTH} px`);
}
