// What a saved file needs of @preact/signals, in its place there (vite.viewer.config.ts): the library would be a sixth of the
// file. Whatever reads a value inside an effect runs again when it changes; rendering is such an effect (viewer.tsx).
let running: (() => void) | null = null;

export function signal<T>(first: T): { value: T } {
  let now = first;
  const followers = new Set<() => void>();
  return {
    get value() { if (running) followers.add(running); return now; },
    set value(next) {
      if (next === now) return;
      now = next;
      for (const follow of [...followers]) follow();
    },
  };
}

export function effect(run: () => void): void {
  const again = () => {
    const outer = running;
    running = again;
    try { run(); } finally { running = outer; }
  };
  again();
}

export const computed = <T>(of: () => T): { readonly value: T } => ({ get value() { return of(); } });
