// Where the page is. `url` follows the address bar; go() and replace() move it.
import { signal } from '@preact/signals';

export const url = signal(new URL(location.href));

addEventListener('popstate', () => { url.value = new URL(location.href); });

// Steps on one page are a run; how far it goes is kept for the tab, so that a step forth never leads to another page.
interface Step { run: number; step: number }
const kept = (run: number) => 'wherefore.run.' + run;
function here(): Step {
  const state = history.state as Step | null;
  if (state) return state;
  const first = { run: Date.now(), step: 0 };
  history.replaceState(first, '');
  return first;
}
function remember(run: number, furthest: number): void {
  try { sessionStorage.setItem(kept(run), String(furthest)); } catch { /* no storage: no step forth */ }
}

export function go(address: string): void {
  if (address === location.pathname + location.search) return;
  const same = new URL(address, location.href).pathname === location.pathname;
  const { run, step } = here();
  remember(run, same ? step + 1 : step);  // what lay ahead is gone
  history.pushState(same ? { run, step: step + 1 } : null, '', address);
  url.value = new URL(location.href);
}

// For what changes with every key: one step back must not undo one letter.
export function replace(address: string): void {
  if (address === location.pathname + location.search) return;
  history.replaceState(history.state, '', address);
  url.value = new URL(location.href);
}

// Links inside the page do not load it again; with a modifier they open elsewhere, as links do.
addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest?.('a');
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin || link.pathname.startsWith('/api/')) return;
  event.preventDefault();
  go(link.pathname + link.search);
  scrollTo(0, 0);
});

// One step back on this page: a zoom, a lens, a view. The way to the page before is the browser's button.
// False where there was none.
export function undo(): boolean {
  const there = history.state?.step > 0;
  if (there) history.back();
  return there;
}

// And one forth again, where one was taken back on this page.
export function redo(): boolean {
  const { run, step } = here();
  let furthest = 0;
  try { furthest = Number(sessionStorage.getItem(kept(run))); } catch { /* as above */ }
  if (step < furthest) history.forward();
  return step < furthest;
}
