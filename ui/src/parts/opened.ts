// A flame graph whose folds can be opened in place: asks the server for what lies below a frame and puts it there.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, getFlame, type Params } from '../core/api';
import type { FlameColumns } from '../core/flame';
import { addressOf } from '../core/path';
import { buildTree, graft, type Order, type Tree } from '../core/tree';
import { announce } from './shell';

export function useOpenedTree(columns: FlameColumns | undefined, order: Order, params: Params): { tree?: Tree; open: (node: number) => void } {
  const [opened, setOpened] = useState<FlameColumns | undefined>(columns);
  const request = useRef<AbortController | null>(null);
  useEffect(() => { setOpened(columns); return () => request.current?.abort(); }, [columns]);
  const current = opened && columns && opened.meta.total === columns.meta.total ? opened : columns;
  const tree = useMemo(() => current && buildTree(current, order), [current, order]);
  const open = async (node: number) => {
    if (!tree) return;
    request.current?.abort();
    const own = request.current = new AbortController();
    try {
      const most = Math.max(20_000, 4 * (tree.end[node] - node));
      const part = await getFlame('flame', { ...params, root: addressOf(tree, node), max_nodes: String(most) }, own.signal);
      const sorted: FlameColumns = tree;  // grafted in the order that is shown; building sorts again
      setOpened(graft(sorted, node, tree.end[node], part));
      announce('Opened.');
    } catch (e) {
      if (!own.signal.aborted) announce(e instanceof ApiError ? e.message : String(e));
    }
  };
  return { tree, open: (node) => void open(node) };
}
