// The rows of a long table that are drawn: those in the window and some around it. The others are two empty rows of
// their height, so that the page scrolls as if all were there.
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { windowOf } from '../core/many';

const AROUND = 20; // rows drawn above and below the window
const FEW = 60; // fewer are all drawn
const HEIGHT = 40; // of a row, until it is known

export interface Windowed {
  body: RefObject<HTMLTableSectionElement>;
  first: number;
  end: number;
  above: number; // pixels
  below: number;
}

export function useWindowed(rows: number): Windowed {
  const body = useRef<HTMLTableSectionElement>(null);
  const height = useRef(HEIGHT);
  const [at, setAt] = useState({ top: 0, height: innerHeight });
  useLayoutEffect(() => {
    const drawn = [...(body.current?.querySelectorAll('tr:not(.gap)') ?? [])];
    const all = drawn.reduce((sum, tr) => sum + tr.getBoundingClientRect().height, 0);
    if (drawn.length > AROUND) height.current = all / drawn.length;
  }, [rows > FEW]);
  useLayoutEffect(() => {
    if (rows <= FEW) return;
    const follow = () => setAt({ top: -(body.current?.getBoundingClientRect().top ?? 0), height: innerHeight });
    follow();
    addEventListener('scroll', follow, { passive: true });
    addEventListener('resize', follow);
    return () => {
      removeEventListener('scroll', follow);
      removeEventListener('resize', follow);
    };
  }, [rows > FEW]);
  const [first, end] = rows <= FEW ? [0, rows] : windowOf(rows, height.current, at.top, at.height, AROUND);
  return { body, first, end, above: first * height.current, below: (rows - end) * height.current };
}
