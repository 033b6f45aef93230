// How wide the window is, for what is arranged differently on phones and at 200 %.
import { useEffect, useState } from 'preact/hooks';

export const WIDE = 1280; // everything in one bar
export const PHONE = 760; // below it: sheets and menus

export function useAtLeast(pixels: number): boolean {
  const query = `(min-width: ${pixels}px)`;
  const [fits, setFits] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const watched = matchMedia(query);
    const follow = () => setFits(watched.matches);
    follow();
    watched.addEventListener('change', follow);
    return () => watched.removeEventListener('change', follow);
  }, [query]);
  return fits;
}
