// The flame graph as it is drawn now, for image export.
import type { Palette } from '../core/palette';
import type { Tree } from '../core/tree';
import { drawFlame, type View } from '../draw/flame';
import { SvgContext } from '../draw/svg';

interface Picture {
  tree: Tree;
  view: View;
  palette: Palette;
  letter: number;
}

const shown = new WeakMap<HTMLCanvasElement, Picture>();

export const remember = (canvas: HTMLCanvasElement, picture: Picture) => {
  shown.set(canvas, picture);
};

// The first graph on the page, or null.
export const shownCanvas = () => document.querySelector<HTMLCanvasElement>('.flame-view canvas');

export function shownSvg(title: string): string | null {
  const canvas = shownCanvas();
  const p = canvas && shown.get(canvas);
  if (!p) return null;
  const g = new SvgContext();
  drawFlame(g, p.tree, p.view, p.palette, p.letter);
  return g.text(p.view.width, p.view.height, title);
}
