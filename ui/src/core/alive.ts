// Whether the server is there, on a page that asks it nothing else: a small question now and then while the page is seen,
// none while it is hidden. Questions of the page's parts notice and recover for themselves (parts/query.tsx).
import { signal } from '@preact/signals';

export const gone = signal(false);
// What the server has lost of the time that is looked at, in its own words; '' for nothing.
export const incomplete = signal('');
// Questions that say so themselves, the first of them for all.
export const unanswered = signal<object[]>([]);

const EVERY_MS = 12_000;
const AGAIN_MS = 2_000;
const NOT_OURS = [502, 504];  // a proxy whose server went away; our own "not ready" is an answer

export function watchServer(): void {
  let timer = 0;
  const ask = async () => {
    try {
      const response = await fetch('/ready', { cache: 'no-store', signal: AbortSignal.timeout(EVERY_MS) });
      gone.value = NOT_OURS.includes(response.status);
    } catch {
      gone.value = true;
    }
    follow(gone.value ? AGAIN_MS : EVERY_MS);
  };
  const follow = (ms: number) => {
    clearTimeout(timer);
    if (!document.hidden) timer = window.setTimeout(() => void ask(), ms);
  };
  document.addEventListener('visibilitychange', () => follow(0));
  follow(EVERY_MS);
}
