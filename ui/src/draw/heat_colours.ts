// Colours of heat maps, light and dark: from few to many, and for a part that matters (matches, errors) from none to
// all.
import { SHADES, SHARES, type HeatColours } from './heat';

type Rgb = number[];
const between = (from: Rgb, to: Rgb, share: number) => from.map((f, k) => f + (to[k] - f) * share);
const mix = (from: Rgb, to: Rgb) =>
  Array.from(
    { length: SHADES },
    (_, i) =>
      `rgb(${between(from, to, (i + 1) / SHADES)
        .map(Math.round)
        .join(' ')})`,
  );
// Even a small share is visible.
const mixes = (none: [Rgb, Rgb], all: [Rgb, Rgb]) =>
  Array.from({ length: SHARES }, (_, i) => {
    const share = i === 0 ? 0 : 0.4 + (0.6 * i) / (SHARES - 1);
    return mix(between(none[0], all[0], share), between(none[1], all[1], share));
  });

const LIGHT_COUNT: [Rgb, Rgb] = [
  [214, 228, 250],
  [8, 48, 107],
];
const DARK_COUNT: [Rgb, Rgb] = [
  [30, 52, 84],
  [190, 220, 255],
];
const LIGHT_GREY: [Rgb, Rgb] = [
  [222, 225, 230],
  [110, 116, 126],
];
const DARK_GREY: [Rgb, Rgb] = [
  [44, 49, 58],
  [140, 147, 158],
];

const ofCounts = (background: string, counts: [Rgb, Rgb], none: [Rgb, Rgb], all: [Rgb, Rgb]): HeatColours => ({
  background,
  shades: mix(...counts),
  matched: mixes(none, all),
});

// What a search finds: grey is nothing.
export const SEARCHED = {
  light: ofCounts('#f5f6f8', LIGHT_COUNT, LIGHT_GREY, [
    [230, 212, 250],
    [84, 18, 160],
  ]),
  dark: ofCounts('#1d2128', DARK_COUNT, DARK_GREY, [
    [70, 44, 104],
    [222, 186, 255],
  ]),
};
// Errors among requests.
export const FAILED = {
  light: ofCounts('#f5f6f8', LIGHT_COUNT, LIGHT_COUNT, [
    [250, 205, 195],
    [160, 20, 10],
  ]),
  dark: ofCounts('#1d2128', DARK_COUNT, DARK_COUNT, [
    [96, 36, 30],
    [255, 150, 130],
  ]),
};
