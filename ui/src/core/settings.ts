// The reader's settings for this browser: theme, time zone, keys, colours. Kept in localStorage if there is one.
import { effect, signal } from '@preact/signals';
import { withTimes } from './format';

function stored<T extends string>(key: string, choices: readonly T[]) {
  let value: string | null = null;
  try {
    value = localStorage.getItem('wherefore.' + key);
  } catch {
    /* no storage: for this visit only */
  }
  const s = signal<T>(choices.includes(value as T) ? (value as T) : choices[0]);
  effect(() => {
    try {
      localStorage.setItem('wherefore.' + key, s.value);
    } catch {
      /* as above */
    }
  });
  return s;
}

export const theme = stored('theme', ['system', 'light', 'dark'] as const);
export const zone = stored('zone', ['local', 'utc'] as const);
export const diffColours = stored('diff', ['orange', 'red'] as const);
export const letters = stored('letters', ['on', 'off'] as const);

// The width of the details beside a picture, pixels.
export const inspectorWidth = signal(readWidth());
function readWidth(): number {
  try {
    return Number(localStorage.getItem('wherefore.inspector')) || 340;
  } catch {
    return 340;
  }
}
effect(() => {
  try {
    localStorage.setItem('wherefore.inspector', String(inspectorWidth.value));
  } catch {
    /* as above */
  }
});

// Whether this is a single-character key and those are switched off (WCAG 2.1.4).
export const muted = (e: KeyboardEvent) => letters.value === 'off' && e.key.length === 1 && e.key !== ' ';

// A message of the server, with its times in the page's time zone.
export const said = (text: string) => withTimes(text, zone.value === 'utc');

const systemDark = matchMedia('(prefers-color-scheme: dark)');
const printing = matchMedia('print'); // paper is light
export const dark = signal(false);
const follow = () => {
  dark.value = !printing.matches && (theme.value === 'dark' || (theme.value === 'system' && systemDark.matches));
};
systemDark.addEventListener('change', follow);
printing.addEventListener('change', follow);
effect(follow);
effect(() => {
  document.documentElement.dataset.theme = dark.value ? 'dark' : 'light';
});
