// How long decoding blocks the page and how long a frame takes: a synthetic flame graph of a million nodes, decoded
// here and in the worker, then 180 frames of zooming and panning, drawn by the page's own code in Chromium without a
// GPU. `CHROMIUM=/usr/bin/chromium TEMP_FOLDER=/tmp tools/ui node e2e/bench.mjs [nodes]`
import { build } from 'vite';
import { open } from './browser.mjs';

const nodes = Number(process.argv[2] ?? 1_000_000);
const entry = `
import { buildTree } from '/src/core/tree.ts';
import { DARK } from '/src/core/palette.ts';
import { drawFlame } from '/src/draw/flame.ts';
import { decode } from '/src/core/decoder.ts';
import { decodeFlame } from '/src/core/flame.ts';
import { encodeFlame, randomTree } from '/test/sample.ts';
const tasks = [];
const observed = new PerformanceObserver((list) => tasks.push(...list.getEntries().map((e) => e.duration)));
const VIEW = { top: 0, width: 1900, height: 1000, row: 20, minWidth: 0.5, flip: false, zoom: 0 };
observed.observe({ type: 'longtask' });
// How long it took, and the longest time the page was blocked.
const measured = async (work) => {
  await new Promise((r) => setTimeout(r, 300));
  tasks.length = 0;
  const began = performance.now();
  await work();
  const ms = performance.now() - began;
  await new Promise((r) => setTimeout(r, 300));
  return { ms, longest_task: Math.max(0, ...tasks) };
};
const soon = (work) => () => new Promise((r) => setTimeout(() => { work(); r(); }));
window.bench = async (nodes) => {
  const columns = randomTree(nodes);
  const bytes = encodeFlame(columns);
  const here = await measured(soon(() => buildTree(decodeFlame(bytes))));
  await decode(bytes.slice());  // the worker has started
  const worker = await measured(async () => buildTree(await decode(bytes.slice())));
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
    const view = { ...VIEW, from, to: from + span };
    boxes.push(drawFlame(g, tree, view, DARK, 7).boxes);
    js.push(performance.now() - start);
  }
  const at = (list, q) => [...list].sort((a, b) => a - b)[Math.floor(q * (list.length - 1))];
  const mean = (list) => list.reduce((a, b) => a + b) / list.length;
  return {
    nodes, bytes: bytes.length, decode_and_layout: { here, worker }, layout,
    js: { mean: mean(js), p95: at(js, 0.95), max: at(js, 1) },
    frame: { mean: mean(gaps), p95: at(gaps, 0.95) },
    boxes: { mean: mean(boxes), max: at(boxes, 1) },
  };
};`;
const built = await build({
  root: new URL('..', import.meta.url).pathname,
  configFile: false,
  logLevel: 'error',
  worker: { format: 'es' },
  plugins: [
    {
      name: 'bench',
      resolveId: (id) => (id === 'bench-entry' ? '\0bench' : undefined),
      load: (id) => (id === '\0bench' ? entry : undefined),
    },
  ],
  build: {
    write: false,
    modulePreload: { polyfill: false },
    rollupOptions: { input: 'bench-entry', output: { format: 'es' } },
  },
});
const HOST = 'http://bench.test/';
const main = built.output.find((o) => o.type === 'chunk' && o.isEntry).fileName;
process.env.PAGE ??= HOST;
const { context, page } = await open({ viewport: { width: 1920, height: 1080 } });
await page.route(HOST + '**', (route) => {
  const file = built.output.find((o) => HOST + o.fileName === route.request().url());
  if (file) return route.fulfill({ contentType: 'text/javascript', body: file.code ?? file.source });
  return route.fulfill({
    contentType: 'text/html',
    body: `<!doctype html><script type="module" src="/${main}"></script>`,
  });
});
try {
  await page.goto(HOST);
  await page.waitForFunction(() => window.bench);
  console.log(
    JSON.stringify(
      await page.evaluate((n) => window.bench(n), nodes),
      (_, v) => (typeof v === 'number' ? Math.round(v * 10) / 10 : v),
      1,
    ),
  );
} finally {
  await context.close();
}
