// useQuery: an answer for a key. A new key cancels the old request; the old answer stays until the new one arrives.
// Loading is shown after 300 ms, with a button to stop. If the server is unreachable, it is asked again.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { unanswered } from '../core/alive';
import { now } from '../core/clock';
import { ApiError } from '../core/api';
import { said } from '../core/settings';

// `at`: when the current answer was requested, ms.
export interface Query<T> {
  data?: T;
  at: number;
  error?: ApiError;
  loading: boolean;
  slow: boolean;
  cancel: () => void;
  retry: () => void;
}

const SLOW_MS = 300;
const AGAIN_MS = 2000;

export function useQuery<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>): Query<T> {
  const [state, set] = useState<{ data?: T; at: number; error?: ApiError; loading: boolean; slow: boolean }>({
    at: 0,
    loading: key !== null,
    slow: false,
  });
  const [round, setRound] = useState(0);
  const controller = useRef<AbortController | null>(null);
  useEffect(() => {
    if (key === null) {
      set({ at: 0, loading: false, slow: false });
      return;
    }
    const own = new AbortController();
    controller.current = own;
    const at = now();
    let again = 0;
    set((s) => ({ ...s, loading: true, slow: false }));
    const slow = window.setTimeout(() => set((s) => ({ ...s, slow: true })), SLOW_MS);
    load(own.signal)
      .then(
        (data) => {
          if (!own.signal.aborted) set({ data, at, loading: false, slow: false });
        },
        (e) => {
          if (own.signal.aborted) return;
          const error = e instanceof ApiError ? e : new ApiError(String(e instanceof Error ? e.message : e), 0);
          set((s) => ({ ...s, error, loading: false, slow: false }));
          if (error.offline) again = window.setTimeout(() => setRound((r) => r + 1), AGAIN_MS);
        },
      )
      .finally(() => clearTimeout(slow));
    return () => {
      own.abort();
      clearTimeout(slow);
      clearTimeout(again);
    };
  }, [key, round]);
  return {
    ...state,
    cancel: () => {
      controller.current?.abort();
      set((s) => ({ ...s, loading: false, slow: false, error: new ApiError('Stopped.', 0) }));
    },
    retry: () => setRound((r) => r + 1),
  };
}

// The state of a request: loading or failed. `shown`: the previous answer is still visible. `instead`: a link to a
// request that works, if this one cannot.
export function QueryState({
  query,
  what,
  shown = query.data !== undefined,
  instead,
}: {
  query: Query<unknown>;
  what: string;
  shown?: boolean;
  instead?: { text: string; href: string };
}) {
  const self = useRef({}).current;
  const offline = query.error?.offline ?? false;
  useEffect(() => {
    if (!offline) return;
    unanswered.value = [...unanswered.value, self];
    return () => {
      unanswered.value = unanswered.value.filter((q) => q !== self);
    };
  }, [offline]);
  if (offline && unanswered.value[0] !== self) return null; // one message for the whole page
  if (query.slow && query.loading) {
    return (
      <p class="note" role="status">
        <span class="spinner" aria-hidden="true" /> Loading {what}…{' '}
        <button type="button" onClick={query.cancel}>
          Stop
        </button>
      </p>
    );
  }
  if (query.error) {
    return (
      <p class="note error" role="alert">
        {query.error.offline
          ? 'The server does not answer; trying again every 2 s. Is wherefore serve running?'
          : `${what}: ${said(query.error.message)}`}
        {shown && ' This is the previous answer.'}{' '}
        {instead && query.error.status === 400 ? (
          <a href={instead.href}>{instead.text}</a>
        ) : (
          <button type="button" onClick={query.retry}>
            Try again
          </button>
        )}{' '}
        <a href="/">All services</a>
      </p>
    );
  }
  return null;
}

// An answer that may belong to an earlier request: dimmed until the new one arrives, or if it failed.
export function Answer({ query, children }: { query: Query<unknown>; children: ComponentChildren }) {
  return (
    <div class={query.loading || query.error ? 'stale' : undefined} aria-busy={query.loading}>
      {children}
    </div>
  );
}
