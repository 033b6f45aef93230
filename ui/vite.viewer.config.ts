// The viewer that goes into saved files: one script without imports and one style sheet, both put into the file as
// text.
import { defineConfig } from 'vite';

export default defineConfig({
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    modulePreload: false,
    emptyOutDir: true,
    reportCompressedSize: false,
    cssCodeSplit: false,
    rollupOptions: {
      input: 'src/viewer.tsx',
      output: { format: 'iife', entryFileNames: 'viewer.js', assetFileNames: 'viewer[extname]' },
    },
  },
});
