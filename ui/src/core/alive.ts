// Whether the server is reachable, on a page that sends no other requests: a small request now and then while the page
// is visible. Other requests notice a failure and recover by themselves (parts/query.tsx).
import { signal } from '@preact/signals';

export const gone = signal(false);
// What the server has lost of the selected time, in its own words; '' for nothing.
export const incomplete = signal('');
// Failed requests on the page; the first one shows the message for all.
export const unanswered = signal<object[]>([]);

const EVERY_MS = 12_000;
const AGAIN_MS = 2_000;
const NOT_OURS = [502, 504]; // from a proxy whose server is gone; our own "not ready" is an answer

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
