// Text on every colour has a contrast of at least 4.5:1 (WCAG).
import { expect, test } from 'vitest';
import { colourIndex, diffFills, diffIndex, LIGHT, PALETTES } from '../src/core/palette';

function luminance(hex: string): number {
  const part = (i: number) => {
    const c = parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2);
}
function contrast(a: string, b: string): number {
  const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
}

test('labels can be read on every box of both themes', () => {
  for (const p of Object.values(PALETTES).flatMap((both) => Object.values(both))) {
    for (const fill of [...p.boxes, ...p.less, ...p.more, p.same, p.root, p.fold])
      expect(contrast(fill, p.text), fill).toBeGreaterThanOrEqual(4.5);
    expect(contrast(p.focus, p.background)).toBeGreaterThanOrEqual(3);
  }
});

const diffColour = (p: typeof LIGHT, before: number, after: number) => diffFills(p)[diffIndex(before, after)];

test('a colour belongs to its module', () => {
  expect(colourIndex('a', 'libc.so.6')).toBe(colourIndex('b', 'libc.so.6'));
  expect(diffColour(LIGHT, 10, 20)).toBe(LIGHT.more[1]);
  expect(diffColour(LIGHT, 10, 0)).toBe(LIGHT.less[2]);
  expect(diffColour(LIGHT, 1000, 1001)).toBe(LIGHT.same);
});
