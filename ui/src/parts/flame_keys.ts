// The flame graph by keyboard (facts: arrows, Home, End, Enter, Backspace, + - 0, n N, /). Pure: a key and where one
// is give where one goes. Letters act only while the graph has the focus.
import { childrenOf, heaviestLeaf, type Tree } from '../core/tree';

export type Move = { select: number } | { zoom: number } | { scale: number } | { act: 'search' | 'back' | 'copy' | 'flip' | 'help' } | { step: 1 | -1 } | { lens: string };

export function moveOf(tree: Tree, frame: number, key: string, flip: boolean): Move | null {
  const up = () => (tree.parent[frame] >= 0 ? { select: tree.parent[frame] } : null);
  const down = () => {
    const children = childrenOf(tree, frame);
    if (children.length === 0) return null;
    return { select: children.reduce((best, c) => (tree.width[c] > tree.width[best] ? c : best)) };
  };
  switch (key) {
    case 'ArrowUp': return flip ? down() : up();
    case 'ArrowDown': return flip ? up() : down();
    case 'ArrowLeft': return sibling(tree, frame, -1);
    case 'ArrowRight': return sibling(tree, frame, 1);
    case 'Home': return { select: 0 };
    case 'End': return { select: heaviestLeaf(tree, frame) };
    case 'Enter': case ' ': return { zoom: frame };
    case 'Backspace': return { act: 'back' };
    case 'Escape': case '0': return { zoom: 0 };
    case '+': case '=': return { scale: 0.7 };
    case '-': return { scale: 1 / 0.7 };
    case 'n': return { step: 1 };
    case 'N': return { step: -1 };
    case '/': return { act: 'search' };
    case 'y': return { act: 'copy' };
    case 'i': return { act: 'flip' };
    case '?': return { act: 'help' };
    case 'f': return { lens: 'focus' };
    case 'h': return { lens: 'hide' };
    case 'm': return { lens: 'merge' };
    case 'c': return { lens: 'collapse' };
    case 'd': return { lens: 'drop' };
    default: return null;
  }
}

function sibling(tree: Tree, frame: number, by: 1 | -1): Move | null {
  if (tree.parent[frame] < 0) return null;
  const all = childrenOf(tree, tree.parent[frame]);
  const to = all[all.indexOf(frame) + by];
  return to === undefined ? null : { select: to };
}

export const LINK_KEYS = ['s', 'o', 't'];
export const KEYS: [string, string][] = [
  ['Arrows', 'caller, callee, neighbours'], ['Home, End', 'root, end of the hot path'], ['Enter', 'zoom to the frame'],
  ['Backspace', 'zoom back'], ['Esc, 0', 'whole graph'], ['+ −', 'zoom in and out'], ['/', 'search'], ['n, N', 'next, previous match'],
  ['f h m c d', 'focus, hide, merge, collapse, drop the function'], ['s, o, t', 'callers and callees, source, traces of the function'], ['y', 'copy the stack'], ['i', 'turn the graph upside down'],
  ['Ctrl + wheel', 'zoom at the pointer'], ['Shift + wheel', 'move sideways'],
];
