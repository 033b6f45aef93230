// The flame graph as it is drawn now, for image export: with its title, what its numbers are about, its legend and
// its address, and without any controls.
import type { About } from '../core/about';
import { groupsOf } from '../core/groups';
import type { Palette } from '../core/palette';
import type { Tree } from '../core/tree';
import { drawFlame, FONT, shownName, type View } from '../draw/flame';
import { SvgContext } from '../draw/svg';
import { samplesOf, wholeOf } from './describe';

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
const shownCanvas = () => document.querySelector<HTMLCanvasElement>('.flame-view canvas');

export function shownSvg(title: string): string | null {
  const canvas = shownCanvas();
  const p = canvas && shown.get(canvas);
  if (!p) return null;
  const g = new SvgContext();
  drawFlame(g, p.tree, p.view, p.palette, p.letter);
  return g.text(p.view.width, p.view.height, title);
}

const [MARGIN, LINE, TITLE] = [16, 18, 26];
const FACE = FONT.replace(/^\S+ /, '');

// What stands above the graph.
export function captionOf(tree: Tree, about: About): string[] {
  const facts = about.facts.map(([name, text]) => `${name}: ${text}`);
  return [`${wholeOf(tree)} · ${samplesOf(tree)}`, ...facts];
}

// The names of its colours, with the colours.
export function legendOf(tree: Tree, palette: Palette): [string, string][] {
  if (tree.before)
    return [
      [palette.less[2], 'less'],
      [palette.more[2], 'more'],
      [palette.same, 'the same, or may be chance'],
    ];
  return groupsOf(tree).map((g): [string, string] => [palette.boxes[g.fill], shownName(g.name, 60)]);
}

// Draws all of it; null while there is no graph.
export function shownPicture(about: About): HTMLCanvasElement | null {
  const base = shownCanvas();
  const p = base && shown.get(base);
  if (!p) return null;
  const { width, height } = p.view;
  const caption = captionOf(p.tree, about);
  const top = MARGIN + TITLE + caption.length * LINE + 6;
  const out = document.createElement('canvas');
  const ratio = devicePixelRatio || 1;
  const g = out.getContext('2d')!;
  const legend = legendLines(g, legendOf(p.tree, p.palette), width);
  const full = { width: width + 2 * MARGIN, height: top + height + 10 + (legend.length + 1) * LINE + MARGIN };
  out.width = Math.round(full.width * ratio);
  out.height = Math.round(full.height * ratio);
  g.scale(ratio, ratio);
  g.fillStyle = p.palette.background;
  g.fillRect(0, 0, full.width, full.height);
  const write = (text: string, x: number, y: number, font = `12px ${FACE}`) => {
    g.font = font;
    g.textBaseline = 'middle';
    g.fillStyle = p.palette.text;
    g.fillText(text, x, y, full.width - x - MARGIN);
  };
  write(about.title, MARGIN, MARGIN + TITLE / 2, `bold 16px ${FACE}`);
  for (const [i, line] of caption.entries()) write(line, MARGIN, MARGIN + TITLE + (i + 0.5) * LINE);
  g.save();
  g.translate(MARGIN, top);
  g.beginPath();
  g.rect(0, 0, width, height);
  g.clip();
  drawFlame(g, p.tree, p.view, p.palette, p.letter);
  g.restore();
  legend.forEach((line, i) => {
    const y = top + height + 10 + (i + 0.5) * LINE;
    for (const { x, colour, text } of line) {
      g.fillStyle = colour;
      g.fillRect(MARGIN + x, y - 6, 12, 12);
      write(text, MARGIN + x + 18, y);
    }
  });
  write(about.address, MARGIN, top + height + 10 + (legend.length + 0.5) * LINE);
  return out;
}

type LegendItem = { x: number; colour: string; text: string };

function legendLines(g: CanvasRenderingContext2D, items: [string, string][], width: number): LegendItem[][] {
  g.font = `12px ${FACE}`;
  const lines: LegendItem[][] = [[]];
  let x = 0;
  for (const [colour, text] of items) {
    const wide = 18 + g.measureText(text).width + 20;
    if (x > 0 && x + wide > width) {
      lines.push([]);
      x = 0;
    }
    lines[lines.length - 1].push({ x, colour, text });
    x += wide;
  }
  return lines;
}
