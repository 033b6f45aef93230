// Colours of boxes: by package or module, or by name if there is neither. They are stable across views and sessions.
// Lightness alternates, so that neighbours differ for colour-blind people too. Text on every colour has a contrast of
// at least 4.5:1 (ui/test/palette.test.ts). Pure.
import { groupOf } from './names';

export interface Palette {
  boxes: string[];
  text: string;
  fold: string;
  root: string;
  less: string[];
  more: string[];
  same: string;
  background: string;
  edge: string;
  match: string;
  focus: string;
}

const HUES = [28, 205, 48, 255, 75, 180, 330, 228, 95, 300, 15, 160];

const boxes = (light: number[], chroma: number) => HUES.flatMap((hue) => light.map((l) => hsl(hue, chroma, l)));

export const LIGHT: Palette = {
  boxes: boxes([82, 74], 62),
  text: '#16181d',
  fold: '#d5d8de',
  root: '#e4e7ec',
  less: ['#d9e8f8', '#a9cdf0', '#78b1e6'],
  more: ['#fce4cf', '#f8c08d', '#f19c4e'],
  same: '#e4e7ec',
  background: '#ffffff',
  edge: '#ffffff',
  match: '#7a2bd0',
  focus: '#0b57d0',
};
export const DARK: Palette = {
  boxes: boxes([26, 32], 38),
  text: '#f2f4f8',
  fold: '#3a3f47',
  root: '#333841',
  less: ['#22384f', '#1f4a74', '#1d5b98'],
  more: ['#4d3419', '#6d430f', '#8a4f06'],
  same: '#333841',
  background: '#15181d',
  edge: '#15181d',
  match: '#d3a6ff',
  focus: '#8ab4ff',
};

// Red and green for those who want them. Many people cannot tell them apart, so they are not the default.
const RED_GREEN = {
  light: { less: ['#dcefd9', '#a9d8a2', '#74bd6b'], more: ['#fbdcd9', '#f4aaa3', '#ea7a70'] },
  dark: { less: ['#1f3a26', '#1f5230', '#1f6b3a'], more: ['#4a2424', '#6f2a29', '#8f322f'] },
};
export const PALETTES = {
  orange: { light: LIGHT, dark: DARK },
  red: { light: { ...LIGHT, ...RED_GREEN.light }, dark: { ...DARK, ...RED_GREEN.dark } },
};

export function colourIndex(name: string, module: string): number {
  let hash = 0x811c9dc5;
  for (const c of (groupOf(name, module) || name).slice(0, 200)) hash = Math.imul(hash ^ c.codePointAt(0)!, 0x01000193);
  return ((hash ^ (hash >>> 13)) >>> 0) % (HUES.length * 2);
}

// Blue (green) for less, orange (red) for more; stronger for a larger change relative to the larger side.
export const diffFills = (p: Palette) => [p.same, ...p.less, ...p.more];
export function diffIndex(before: number, after: number): number {
  const larger = Math.max(before, after);
  const change = larger > 0 ? (after - before) / larger : 0;
  if (Math.abs(change) < 0.02) return 0;
  const strength = Math.abs(change) < 0.2 ? 0 : Math.abs(change) < 0.6 ? 1 : 2;
  return (change < 0 ? 1 : 4) + strength;
}

export function hsl(h: number, s: number, l: number): string {
  const a = (s / 100) * Math.min(l / 100, 1 - l / 100);
  const part = (n: number) => {
    const k = (n + h / 30) % 12;
    const v = l / 100 - a * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(255 * v)
      .toString(16)
      .padStart(2, '0');
  };
  return `#${part(0)}${part(8)}${part(4)}`;
}
