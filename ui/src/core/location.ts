// Where the page is. `url` follows the address bar; go() and replace() move it.
import { signal } from '@preact/signals';

export const url = signal(new URL(location.href));

addEventListener('popstate', () => { url.value = new URL(location.href); });

export function go(address: string): void {
  if (address === location.pathname + location.search) return;
  const same = new URL(address, location.href).pathname === location.pathname;
  history.pushState(same ? { step: (history.state?.step ?? 0) + 1 } : null, '', address);
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
