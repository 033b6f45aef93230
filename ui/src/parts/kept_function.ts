// A lens changes the tree and with it the address of every frame. The selected function stays selected, by its heaviest
// frame in the new tree; if it is gone, the page says so.
import { useEffect, useRef } from 'preact/hooks';
import { functionOf, heaviestOf, isFold, type Tree } from '../core/tree';
import { shownName } from '../draw/flame';
import { announce } from './shell';

export interface KeptFunctionProps {
  tree: Tree;
  frame: string; // the address of the selected frame; '' = none
  box: { current: HTMLElement | null }; // gets the focus, because the pressed button may disappear
  onLens?: (step: string) => void;
  select: (node: number) => void;
}

// Returns onLens with the node it acts on, so that its function can be found again; undefined without a lens.
export function useKeptFunction(p: KeptFunctionProps): ((step: string, node: number) => void) | undefined {
  const kept = useRef<{ tree: Tree; name: string; module: string } | null>(null);
  useEffect(() => {
    const wanted = kept.current;
    if (!wanted || wanted.tree === p.tree) return;
    kept.current = null;
    if (p.frame !== '') return;
    const node = heaviestOf(p.tree, wanted);
    if (node > 0) p.select(node);
    else announce(`${shownName(wanted.name, 60)} is no longer in the graph: nothing is selected.`);
  }, [p.tree]);
  return (
    p.onLens &&
    ((step, node) => {
      kept.current = node > 0 && !isFold(p.tree, node) ? { tree: p.tree, ...functionOf(p.tree, node) } : null;
      const box = p.box.current!;
      if (!box.contains(document.activeElement)) box.focus({ preventScroll: true });
      p.onLens!(step);
    })
  );
}
