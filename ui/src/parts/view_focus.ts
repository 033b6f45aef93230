// The focus after a step to another view: what had it is gone, so it goes into the new one as soon as that is there. Until
// then the page's main part holds it; somebody who moves it meanwhile keeps it where it is.
import { useEffect, useRef } from 'preact/hooks';

// `selectors`: what is focused, the first that is there. `byKey()` says that a key changes the view now: then the focus goes
// along from wherever it was.
export function useViewFocus(view: string, selectors: string[]): { byKey: () => void } {
  const before = useRef(view);
  const key = useRef(false);
  useEffect(() => {
    if (before.current === view) return;
    before.current = view;
    const main = document.getElementById('main')!;
    const lost = () => document.activeElement === null || document.activeElement === document.body || document.activeElement === main;
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
  return { byKey: () => { key.current = true; } };
}
