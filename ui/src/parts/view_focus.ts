// Moves the focus into a new view as soon as it is there, since the element that had it is gone. Until then the main
// part of the page holds it. If the reader moves the focus meanwhile, it stays there.
import { useEffect, useRef } from 'preact/hooks';

// `selectors`: the first one found gets the focus. Call `byKey()` when a key changes the view: then the focus moves
// from wherever it was.
export function useViewFocus(view: string, selectors: string[]): { byKey: () => void } {
  const before = useRef(view);
  const key = useRef(false);
  useEffect(() => {
    if (before.current === view) return;
    before.current = view;
    const main = document.getElementById('main')!;
    const lost = () =>
      document.activeElement === null || document.activeElement === document.body || document.activeElement === main;
    const follows = key.current || lost();
    key.current = false;
    if (!follows) return;
    main.focus({ preventScroll: true });
    const arrive = () => {
      const found = selectors.map((s) => main.querySelector<HTMLElement>(s)).find((e) => e);
      if (lost()) found?.focus({ preventScroll: true });
      if (found || !lost()) observer.disconnect();
    };
    const observer = new MutationObserver(arrive);
    observer.observe(main, { childList: true, subtree: true });
    arrive();
    return () => observer.disconnect();
  }, [view]);
  return {
    byKey: () => {
      key.current = true;
    },
  };
}
