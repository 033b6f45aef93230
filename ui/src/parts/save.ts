// Saves files on the reader's machine.
import { headingOf, type About } from '../core/about';
import { formatTime } from '../core/format';
import { standaloneHtml } from '../core/standalone';
import type { Tree } from '../core/tree';
import { announce } from './shell';

export function save(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function part(path: string): Promise<string> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.text();
}

// Saves what is shown, with opened folds and the lens, as one HTML file that works offline.
export async function saveHtml(tree: Tree, about: About): Promise<void> {
  try {
    const [script, style] = await Promise.all([part('/viewer/viewer.js'), part('/viewer/viewer.css')]);
    const note = `Saved ${formatTime(Date.now(), true)} from ${location.host}`;
    save(
      new Blob(
        [standaloneHtml({ title: headingOf(about), note, about, columns: tree, measure: tree.measure }, script, style)],
        { type: 'text/html' },
      ),
      'flame.html',
    );
  } catch (e) {
    announce(e instanceof Error ? e.message : String(e));
  }
}
