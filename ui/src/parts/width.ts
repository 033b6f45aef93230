// The width of an element, updated when it changes.
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

// `first`: the width until it is known.
export function useWidth<T extends HTMLElement>(first = 0): { box: RefObject<T>; width: number } {
  const box = useRef<T>(null);
  const [width, setWidth] = useState(first);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setWidth(box.current?.clientWidth || first));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  return { box, width };
}
