// How the page is built: one entry, hashed names, nothing inlined (the Content-Security-Policy forbids it).
import { defineConfig } from 'vite';

export default defineConfig({
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    emptyOutDir: true,
    reportCompressedSize: false,
  },
  worker: { format: 'es' },
  // `npx vite` while working on the page: `wherefore serve` answers the questions.
  server: { proxy: { '/api': 'http://127.0.0.1:4040' } },
});
