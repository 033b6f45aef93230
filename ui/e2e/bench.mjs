// How long a frame takes: a synthetic flame graph of a million nodes, 180 frames of zooming and panning, drawn by the page's
// own code in Chromium without a GPU. `CHROMIUM=/usr/bin/chromium TEMP_FOLDER=/tmp tools/ui node e2e/bench.mjs [nodes]`
import { build } from 'vite';
import { open } from './browser.mjs';

const nodes = Number(process.argv[2] ?? 1_000_000);
const entry = `
import { buildTree } from '/src/core/tree.ts';
import { DARK } from '/src/core/palette.ts';
import { drawFlame } from '/src/draw/flame.ts';
import { randomTree } from '/test/sample.ts';
window.bench = async (nodes) => {
  const columns = randomTree(nodes);
  const began = performance.now();
  const tree = buildTree(columns, 'weight');
  const layout = performance.now() - began;
  const canvas = document.body.appendChild(document.createElement('canvas'));
  canvas.width = 1900; canvas.height = 1000;
  const g = canvas.getContext('2d');
  const js = [], gaps = [], boxes = [];
  let last = 0;
  for (let i = 0; i < 180; i++) {
    const now = await new Promise(requestAnimationFrame);
    if (i > 1) gaps.push(now - last);
    last = now;
    const span = tree.width[0] * Math.pow(0.97, i < 90 ? i : 180 - i);
    const from = (tree.width[0] - span) * (0.5 + 0.5 * Math.sin(i / 20));
    const start = performance.now();
    boxes.push(drawFlame(g, tree, { from, to: from + span, top: 0, width: 1900, height: 1000, row: 20, minWidth: 0.5, flip: false, zoom: 0 }, DARK, 7).boxes);
    js.push(performance.now() - start);
  }
  const at = (list, q) => [...list].sort((a, b) => a - b)[Math.floor(q * (list.length - 1))];
  const mean = (list) => list.reduce((a, b) => a + b) / list.length;
  return { nodes, layout, js: { mean: mean(js), p95: at(js, 0.95), max: at(js, 1) }, frame: { mean: mean(gaps), p95: at(gaps, 0.95) }, boxes: { mean: mean(boxes), max: at(boxes, 1) } };
};`;
const built = await build({
  root: new URL('..', import.meta.url).pathname, configFile: false, logLevel: 'error',
  plugins: [{ name: 'bench', resolveId: (id) => (id === 'bench-entry' ? '\0bench' : undefined), load: (id) => (id === '\0bench' ? entry : undefined) }],
  build: { write: false, rollupOptions: { input: 'bench-entry', output: { format: 'iife' } } },
});
const code = built.output.find((o) => o.type === 'chunk').code;
process.env.PAGE ??= 'about:';
const { context, page } = await open({ viewport: { width: 1920, height: 1080 } });
try {
  await page.evaluate(code);
  console.log(JSON.stringify(await page.evaluate((n) => window.bench(n), nodes), (_, v) => (typeof v === 'number' ? Math.round(v * 10) / 10 : v), 1));
} finally {
  await context.close();
}
