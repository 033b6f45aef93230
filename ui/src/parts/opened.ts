// A flame graph whose folds can be opened in place: asks the server for what lies below a frame and lays it over what is
// there. What was opened stays open while a search draws other frames, and goes when the question is another.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, getFlame, type Params } from '../core/api';
import type { FlameColumns } from '../core/flame';
import { join } from '../core/join';
import { addressOf, nodeAt } from '../core/path';
import { buildTree, shapeOf, type Order, type Tree } from '../core/tree';
import { announce } from './shell';

interface Part { address: string; columns: FlameColumns }
const NONE: Part[] = [];

// `search`: what was searched for in `columns`, so that an opened fold has its matches too.
export function useOpenedTree(columns: FlameColumns | undefined, order: Order, params: Params, search?: string): { tree?: Tree; open: (node: number) => void } {
  const key = JSON.stringify([params, columns?.meta.total, columns?.meta.count]);
  const [opened, setOpened] = useState({ key, parts: NONE });
  const parts = opened.key === key ? opened.parts : NONE;
  const request = useRef<AbortController | null>(null);
  useEffect(() => () => request.current?.abort(), [key]);
  const joined = useMemo(() => parts.reduce((all, p) => {
    const node = all ? nodeAt({ ...all, ...shapeOf(all.depth) }, p.address) : -1;
    return node < 0 ? all : join(all!, node, p.columns);
  }, columns), [columns, parts]);
  const tree = useMemo(() => joined && buildTree(joined, order), [joined, order]);
  const open = async (node: number) => {
    if (!tree) return;
    request.current?.abort();
    const own = request.current = new AbortController();
    try {
      const most = Math.max(20_000, 4 * (tree.end[node] - node));
      const address = addressOf(tree, node);
      const part = await getFlame('flame', { ...params, search, root: address, max_nodes: String(most) }, own.signal);
      setOpened({ key, parts: [...parts, { address, columns: part }] });
      announce('Opened.');
    } catch (e) {
      if (!own.signal.aborted) announce(e instanceof ApiError ? e.message : String(e));
    }
  };
  return { tree, open: (node) => void open(node) };
}
