// The address of the page. `url` follows the address bar; go() and replace() change it.
import { signal } from '@preact/signals';

export const url = signal(new URL(location.href));

addEventListener('popstate', () => {
  url.value = new URL(location.href);
});

// Steps on one page form a run. Its length is kept for the tab, so that redo never leads to another page.
interface Step {
  run: number;
  step: number;
}
const kept = (run: number) => 'wherefore.run.' + run;
function here(): Step {
  const state = history.state as Step | null;
  if (state) return state;
  const first = { run: Date.now(), step: 0 };
  history.replaceState(first, '');
  return first;
}
function remember(run: number, furthest: number): void {
  try {
    sessionStorage.setItem(kept(run), String(furthest));
  } catch {
    /* no storage: no step forth */
  }
}

export function go(address: string): void {
  if (address === location.pathname + location.search) return;
  const same = new URL(address, location.href).pathname === location.pathname;
  const { run, step } = here();
  remember(run, same ? step + 1 : step); // steps that could be redone are gone
  history.pushState(same ? { run, step: step + 1 } : null, '', address);
  url.value = new URL(location.href);
}

// For changes with every key press: going back must not undo single letters.
export function replace(address: string): void {
  if (address === location.pathname + location.search) return;
  history.replaceState(history.state, '', address);
  url.value = new URL(location.href);
}

// Links within the page do not reload it; with a modifier key they open a new tab as usual.
addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = (event.target as Element | null)?.closest?.('a');
  if (
    !link ||
    link.target ||
    link.hasAttribute('download') ||
    link.origin !== location.origin ||
    link.pathname.startsWith('/api/')
  )
    return;
  event.preventDefault();
  go(link.pathname + link.search);
  scrollTo(0, 0);
});

// Undoes one step on this page: a zoom, a lens, a view. It never leaves the page. Returns false if there is nothing to
// undo.
export function undo(): boolean {
  const there = history.state?.step > 0;
  if (there) history.back();
  return there;
}

// Redoes a step that was undone on this page.
export function redo(): boolean {
  const { run, step } = here();
  let furthest = 0;
  try {
    furthest = Number(sessionStorage.getItem(kept(run)));
  } catch {
    /* as above */
  }
  if (step < furthest) history.forward();
  return step < furthest;
}
