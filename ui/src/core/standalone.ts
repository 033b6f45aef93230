// A flame graph as one HTML file with viewer, style and data; it loads nothing. Pure.
import type { About } from './about';
import type { Measure } from './difference';
import type { FlameColumns } from './flame';

export interface Saved {
  title: string;
  note: string;
  about: About;
  columns: FlameColumns;
  measure?: Measure;
}

const LISTS = ['depth', 'func', 'self', 'count', 'hidden', 'before', 'beforeCount', 'verdict'] as const;

export function savedText(saved: Saved): string {
  const { meta, functions } = saved.columns;
  const lists = Object.fromEntries(LISTS.map((key) => [key, saved.columns[key] && Array.from(saved.columns[key]!)]));
  // Inside a script element only "<" needs escaping.
  return JSON.stringify({
    title: saved.title,
    note: saved.note,
    about: saved.about,
    measure: saved.measure,
    meta,
    functions,
    ...lists,
  })
    .replace(/</g, '\\u003c')
    .replace(/\u2028/g, '\\u2028')
    .replace(/\u2029/g, '\\u2029');
}

export function readSaved(text: string): Saved {
  const {
    title,
    note,
    about,
    measure,
    meta,
    functions,
    depth,
    func,
    self,
    count,
    hidden,
    before,
    beforeCount,
    verdict,
  } = JSON.parse(text);
  return {
    title,
    note,
    about,
    measure,
    columns: {
      meta,
      functions,
      depth: Uint32Array.from(depth),
      func: Uint32Array.from(func),
      self: Float64Array.from(self),
      count: Float64Array.from(count),
      hidden: Uint32Array.from(hidden),
      before: before && Float64Array.from(before),
      beforeCount: beforeCount && Float64Array.from(beforeCount),
      verdict: verdict && Float64Array.from(verdict),
    },
  };
}

const escaped = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;');

// The policy guarantees that the file sends no request.
const POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";

export function standaloneHtml(saved: Saved, script: string, style: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${escaped(saved.title)}</title>
<link rel="icon" href="data:,">
<style>${style.replace(/<\/style/gi, '<\\/style')}</style>
</head>
<body>
<main id="app"></main>
<script type="application/json" id="data">${savedText(saved)}</script>
<script>${script.replace(/<\/script/gi, '<\\/script')}</script>
</body>
</html>
`;
}
