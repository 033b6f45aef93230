// Asking again from time to time: a number that grows while the page is seen. An answer that did not change costs
// a 304.
import { useEffect, useState } from 'preact/hooks';

export function useTick(on: boolean, every = 5000): number {
  const [tick, setTick] = useState(0);
  useEffect(() => {
    if (!on) return;
    const id = setInterval(() => {
      if (!document.hidden) setTick((t) => t + 1);
    }, every);
    return () => clearInterval(id);
  }, [on]);
  return tick;
}
