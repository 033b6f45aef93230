// The keys of a flame graph. Pure: the key and the current frame give the next move. Letters act only while the graph
// has the focus, and not if the reader switched them off. Keys that act on a frame are in actions.ts.
import { childrenOf, heaviestLeaf, type Tree } from '../core/tree';

export type Move =
  | { select: number }
  | { zoom: number }
  | { scale: number }
  | { act: 'search' | 'back' | 'flip' | 'invert' | 'own' | 'help' }
  | { step: 1 | -1 };

export function moveOf(tree: Tree, frame: number, key: string, flip: boolean): Move | null {
  const up = () => (tree.parent[frame] >= 0 ? { select: tree.parent[frame] } : null);
  const down = () => {
    const children = childrenOf(tree, frame);
    if (children.length === 0) return null;
    return { select: children.reduce((best, c) => (tree.width[c] > tree.width[best] ? c : best)) };
  };
  switch (key) {
    case 'ArrowUp':
      return flip ? down() : up();
    case 'ArrowDown':
      return flip ? up() : down();
    case 'ArrowLeft':
      return sibling(tree, frame, -1);
    case 'ArrowRight':
      return sibling(tree, frame, 1);
    case 'Home':
      return { select: 0 };
    case 'End':
      return { select: heaviestLeaf(tree, frame) };
    case 'Enter':
    case ' ':
      return { zoom: frame };
    case 'Backspace':
      return { act: 'back' };
    case 'Escape':
    case '0':
      return { zoom: 0 };
    case '+':
    case '=':
      return { scale: 0.7 };
    case '-':
      return { scale: 1 / 0.7 };
    case 'n':
    case '.':
      return { step: 1 };
    case 'N':
    case ',':
      return { step: -1 };
    case '/':
      return { act: 'search' };
    case 'i':
      return { act: 'invert' };
    case 'e':
      return { act: 'own' };
    case 'u':
      return { act: 'flip' };
    case '?':
      return { act: 'help' };
    default:
      return null;
  }
}

function sibling(tree: Tree, frame: number, by: 1 | -1): Move | null {
  if (tree.parent[frame] < 0) return null;
  const all = childrenOf(tree, tree.parent[frame]);
  const to = all[all.indexOf(frame) + by];
  return to === undefined ? null : { select: to };
}

// The list of keys for the reader. `needs`: what a page must offer for the key to work.
export type Needs = 'lens' | 'path' | 'links' | 'flip';
export const KEYS: [string, string, Needs?][] = [
  ['Arrows', 'caller, callee, neighbours'],
  ['Home, End', 'root, end of the hot path'],
  ['Enter', 'zoom to the frame, open a fold'],
  ['Backspace', 'zoom back'],
  ['Esc, 0', 'whole graph'],
  ['+ −', 'zoom in and out'],
  ['Menu, Shift F10', 'everything that can be done with the frame'],
  ['/, Ctrl F', 'search'],
  ['n, N or . ,', 'next, previous match'],
  ['*', "search the frame's name"],
  ['f h m c d', 'focus, hide, merge, collapse, drop the function', 'lens'],
  ['F, M', 'focus, merge this one frame', 'path'],
  ['r', "collapse the function's recursion", 'lens'],
  ['i', 'invert: what did the work on top, its callers below', 'path'],
  ['e', 'own code, or everything', 'path'],
  ['C', 'neighbouring calls inside its module become one', 'lens'],
  ['s, o, t', 'callers and callees, source, traces of the function', 'links'],
  ['y', 'copy the stack'],
  ['u', 'turn the graph upside down', 'flip'],
  ['Right click', 'the menu of a frame'],
  ['Ctrl + wheel', 'zoom at the pointer'],
  ['Drag, Shift + wheel', 'move the graph'],
];
export const TREE_KEYS: [string, string][] = [
  ['Arrows', 'walk; right opens, left closes or goes to the caller'],
  ['*', 'open the hot path'],
  ['Enter', 'zoom the graph to it'],
  ['Menu, Shift F10', 'everything that can be done with it'],
  ['/, Ctrl F', 'search'],
  ['n, N or . ,', 'next, previous match'],
  ['f h m c d r C F M i, s o t, y', 'what they do in a graph'],
];
