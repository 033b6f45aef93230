// A lens changes the tree, and with it every address of a frame. The function that was selected is selected in the new tree as
// well, by its heaviest frame, or it is said that it is not there any more.
import { useEffect, useRef } from 'preact/hooks';
import { functionOf, heaviestOf, isFold, type Tree } from '../core/tree';
import { shownName } from '../draw/flame';
import { announce } from './shell';

export interface KeptFunctionProps {
  tree: Tree;
  frame: string;  // the address of what is selected; '' = nothing
  box: { current: HTMLElement | null };  // takes the focus: a button that was pressed may go
  onLens?: (step: string) => void;
  select: (node: number) => void;
}

// onLens of these, which remembers the node it was for; undefined where there is no lens.
export function useKeptFunction(p: KeptFunctionProps): ((step: string, node: number) => void) | undefined {
  const kept = useRef<{ tree: Tree; name: string; module: string } | null>(null);
  useEffect(() => {
    const wanted = kept.current;
    if (!wanted || wanted.tree === p.tree) return;
    kept.current = null;
    if (p.frame !== '') return;
    const node = heaviestOf(p.tree, wanted);
    if (node > 0) p.select(node); else announce(`${shownName(wanted.name, 60)} is not in the graph any more: nothing is selected.`);
  }, [p.tree]);
  return p.onLens && ((step, node) => {
    kept.current = node > 0 && !isFold(p.tree, node) ? { tree: p.tree, ...functionOf(p.tree, node) } : null;
    const box = p.box.current!;
    if (!box.contains(document.activeElement)) box.focus({ preventScroll: true });
    p.onLens!(step);
  });
}
