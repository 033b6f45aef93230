// A flame graph whose folds can be opened in place: asks the server for the frames below a node and joins them into the
// tree. Opened folds stay open during a search and are dropped with a new query.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, getFlame, type Params } from '../core/api';
import type { FlameColumns } from '../core/flame';
import { join } from '../core/join';
import { addressOf, nodeAt } from '../core/path';
import { buildTree, shapeOf, type Order, type Tree } from '../core/tree';
import { announce } from './shell';

interface Part {
  address: string;
  columns: FlameColumns;
}
const NONE: Part[] = [];

function withPart(all: FlameColumns, part: Part): FlameColumns {
  const node = nodeAt({ ...all, ...shapeOf(all.depth) }, part.address);
  return node < 0 ? all : join(all, node, part.columns);
}

// `search`: the search `columns` was asked with, so that an opened fold has its matches too.
export function useOpenedTree(
  columns: FlameColumns | undefined,
  order: Order,
  params: Params,
  search?: string,
): { tree?: Tree; open: (node: number) => void } {
  const key = JSON.stringify([params, columns?.meta.total, columns?.meta.count]);
  const [opened, setOpened] = useState({ key, parts: NONE });
  const parts = opened.key === key ? opened.parts : NONE;
  const request = useRef<AbortController | null>(null);
  useEffect(() => () => request.current?.abort(), [key]);
  const joined = useMemo(() => columns && parts.reduce(withPart, columns), [columns, parts]);
  const tree = useMemo(() => joined && buildTree(joined, order), [joined, order]);
  const open = async (node: number) => {
    if (!tree) return;
    request.current?.abort();
    const own = new AbortController();
    request.current = own;
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
