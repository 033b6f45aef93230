// Colours of boxes: own code by package or module (or by name if there is neither), the standard library, the C library
// and the kernel in neutral tones, so that what one can change stands out. They are stable across views and sessions.
// Lightness alternates, so that neighbours differ for colour-blind people too. Text on every colour has a contrast of
// at least 4.5:1 (ui/test/palette.test.ts). Orange and blue are left to differences. Pure.
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

const HUES = [145, 305, 95, 190, 340, 120, 280, 170, 5, 210, 325, 225];

const boxes = (lights: [number, number], neutrals: [number, number, number], chroma: number) => [
  ...HUES.flatMap((hue) => lights.map((l) => oklch(l, chroma, hue))),
  ...neutrals.map((l) => oklch(l, 0.012, 265)),
];

// Places in `boxes` after the hues.
const [STD, LIBC, KERNEL] = [24, 25, 26];

export const LIGHT: Palette = {
  boxes: boxes([0.85, 0.79], [0.9, 0.85, 0.8], 0.1),
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
  boxes: boxes([0.4, 0.46], [0.33, 0.3, 0.37], 0.09),
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

const IS_KERNEL = 1; // kind of a frame
const STD_GROUP = /^(std|__gnu_cxx|core|alloc|runtime|java|javax|jdk|sun)(\.|$)|^libstdc\+\+|^libc\+\+/;
const LIBC_MODULE =
  /^(libc|libm|libpthread|libdl|librt|libgcc_s|ld-linux[\w-]*|ld-musl[\w-]*|linux-vdso)[.-]|^libwherefore/;

// What the lens `own` makes of frames that are not own.
const FOLDED_CHAIN = /^\[\d+\+? (\w+) frames?\]$/;
const NO_OWN_CODE = '[no own code]';

export function colourIndex(name: string, module: string, kind = 0): number {
  const [, chain] = FOLDED_CHAIN.exec(name) ?? [];
  if (kind === IS_KERNEL || chain === 'kernel') return KERNEL;
  if (chain === 'libc' || chain === 'profiler') return LIBC;
  if (chain || name === NO_OWN_CODE) return STD;
  const group = groupOf(name, module) || name;
  if (STD_GROUP.test(group)) return STD;
  if (LIBC_MODULE.test(module) || name.startsWith('[wherefore')) return LIBC;
  let hash = 0x811c9dc5;
  for (const c of group.slice(0, 200)) hash = Math.imul(hash ^ c.codePointAt(0)!, 0x01000193);
  return ((hash ^ (hash >>> 13)) >>> 0) % (HUES.length * 2);
}

// Whether a colour is that of own code.
export const isOwn = (fill: number) => fill < STD;

// Blue (green) for less, orange (red) for more; stronger for a larger change relative to the larger side.
export const diffFills = (p: Palette) => [p.same, ...p.less, ...p.more];
export function diffIndex(before: number, after: number): number {
  const larger = Math.max(before, after);
  const change = larger > 0 ? (after - before) / larger : 0;
  if (Math.abs(change) < 0.02) return 0;
  const strength = Math.abs(change) < 0.2 ? 0 : Math.abs(change) < 0.6 ? 1 : 2;
  return (change < 0 ? 1 : 4) + strength;
}

// OKLCH as sRGB hex, clipped (https://bottosson.github.io/posts/oklab).
export function oklch(l: number, c: number, h: number): string {
  const [a, b] = [c * Math.cos((h * Math.PI) / 180), c * Math.sin((h * Math.PI) / 180)];
  const [x, y, z] = [
    (l + 0.3963377774 * a + 0.2158037573 * b) ** 3,
    (l - 0.1055613458 * a - 0.0638541728 * b) ** 3,
    (l - 0.0894841775 * a - 1.291485548 * b) ** 3,
  ];
  const part = (v: number) => {
    const u = Math.max(0, Math.min(v, 1));
    const s = u <= 0.0031308 ? 12.92 * u : 1.055 * u ** (1 / 2.4) - 0.055;
    return Math.round(255 * s)
      .toString(16)
      .padStart(2, '0');
  };
  return `#${part(4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z)}${part(
    -1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z,
  )}${part(-0.0041960863 * x - 0.7034186147 * y + 1.707614701 * z)}`;
}
