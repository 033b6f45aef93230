// Values that belong to the whole page: where it is, what the reader chose. Whatever reads one inside an effect runs again
// when it changes, and the page is drawn again, once for several changes at a time. No component follows them by itself: there
// are few of them, most of the page hangs on each, and a library for it would be a sixth of a saved file.
let running: (() => void) | null = null;
let draw = () => {};
let waiting = false;

function drawSoon(): void {
  if (waiting) return;
  waiting = true;
  queueMicrotask(() => { waiting = false; draw(); });
}

// Draws now, and after every change.
export function drawWith(own: () => void): void {
  draw = own;
  draw();
}

export function signal<T>(first: T): { value: T } {
  let now = first;
  const followers = new Set<() => void>();
  return {
    get value() { if (running) followers.add(running); return now; },
    set value(next) {
      if (next === now) return;
      now = next;
      for (const follow of [...followers]) follow();
      drawSoon();
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
