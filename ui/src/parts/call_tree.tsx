// The call tree as a treegrid: the frames of the flame graph in words and numbers. Arrows move, right opens, left
// closes or goes to the caller, * opens the hot path, Enter zooms the graph; letters act as in the graph. A search
// keeps only matches and their callers, opened.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { About } from '../core/about';
import { formatCount, formatError, formatShare } from '../core/format';
import { plain } from '../core/keys';
import { addressOf, nodeAt } from '../core/path';
import { hotChain, matchedRows, opened, openRows } from '../core/rows';
import { functionOf, isFold, nextMatch, ownOf, type Tree } from '../core/tree';
import { shortName } from '../core/names';
import { OWN } from '../core/state';
import { shownName } from '../draw/flame';
import { nameOf, measured } from './describe';
import { act, actionOf, type FrameContext, type FrameLink } from './actions';
import { Inspector, type Details } from './inspector';
import { FrameMenu, type MenuPlace } from './menu';
import { useKeptFunction } from './kept_function';
import { findKey, Matched, searchFor, SearchBox, type Found } from './search_box';
import type { Searched } from './searched';

const ROW = 26;
const HEIGHT = 620;

export interface CallTreeProps {
  tree: Tree;
  about: About;
  frame: string;
  query: string;
  searched?: Searched;
  onQuery: (text: string, typed?: boolean) => void;
  onFrame: (address: string) => void;
  onZoom: (address: string) => void;
  onLens?: (step: string) => void;
  onOpenFold?: (parent: number) => void;
  links?: FrameLink[];
  details?: Details; // what the page knows of the selected function
}

export function CallTree(p: CallTreeProps) {
  const { tree } = p;
  const box = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const [top, setTop] = useState(0);
  const [menu, setMenu] = useState<(MenuPlace & { tree: Tree }) | null>(null);
  const frame = useMemo(() => (p.frame ? nodeAt(tree, p.frame) : -1), [tree, p.frame]);
  const found = useMemo(() => searchFor(tree, p.query), [tree, p.query]);
  const view = useRows(tree, frame, found, box);
  const { rows, at } = view;
  const select = (node: number) => p.onFrame(addressOf(tree, node));
  const step = (by: 1 | -1) => {
    if (found && found.first.length > 0) select(nextMatch(found.first, frame, by));
  };
  const onLens = useKeptFunction({ tree, frame: p.frame, box, onLens: p.onLens, select });
  const context = (node: number) => contextOf(p, node, onLens);
  const showMenu = (node: number, x: number, y: number) => {
    select(node);
    setMenu({ tree, node, x, y });
  };
  // Opened by key: below the row. A row that was just scrolled into view may not be an element yet.
  const openMenu = (node: number) => {
    const area = box.current!.getBoundingClientRect();
    showMenu(node, area.left + 40, area.top + (rows.indexOf(node) + 2) * ROW - box.current!.scrollTop);
  };
  const onKey = (e: KeyboardEvent) => {
    if (findKey(e, input.current) || !plain(e)) return;
    const acts = { ...view, select, step, openMenu, search: () => input.current?.focus() };
    const lens = { i: 'invert', e: OWN }[e.key];
    const change = lens && onLens ? () => onLens(lens, frame) : undefined;
    if (onCallKey(e, { ...acts, p, context, change })) e.preventDefault();
  };
  const first = Math.max(0, Math.floor(top / ROW) - 6);
  const shown = rows.slice(first, first + HEIGHT / ROW + 12);
  return (
    <div class={'flame' + (frame > 0 ? ' inspected' : '')}>
      <div class="flame-main">
        <div class="flame-bar">
          <SearchBox query={p.query} onQuery={p.onQuery} onStep={step} input={input} />
          <Matched tree={tree} found={found} searched={p.searched} frame={frame} />
        </div>
        <div
          ref={box}
          class="calltree"
          role="treegrid"
          tabIndex={0}
          style={{ height: Math.min(HEIGHT, rows.length * ROW) + ROW + 2 }}
          onScroll={(e) => setTop(e.currentTarget.scrollTop)}
          aria-label={
            `Call tree, ${measured(tree, tree.total[0])}. ` +
            'Arrow keys walk, right opens, left closes, star opens the hot path.'
          }
          aria-rowcount={rows.length + 1}
          aria-activedescendant={at >= 0 ? `call-${frame}` : undefined}
          onKeyDown={onKey}
        >
          <Head />
          <div role="rowgroup" class="ct-box" style={{ height: rows.length * ROW }}>
            {shown.map((node, i) => (
              <Row
                key={node}
                tree={tree}
                node={node}
                place={first + i}
                selected={node === frame}
                matched={!!found?.nodes[node]}
                open={view.open.has(node)}
                onSelect={() => select(node)}
                onToggle={() => view.toggle(node)}
                onMenu={(x, y) => showMenu(node, x, y)}
              />
            ))}
          </div>
        </div>
        {found && rows.length === 0 && <p>No frame matches “{p.query}”.</p>}
      </div>
      {menu?.tree === tree && (
        <FrameMenu
          key={menu.node}
          {...context(menu.node)}
          at={menu}
          onClose={(back) => {
            setMenu(null);
            if (back) box.current?.focus({ preventScroll: true });
          }}
        />
      )}
      {frame > 0 && (
        <Inspector
          {...context(frame)}
          onSelect={select}
          details={p.details}
          onClose={() => {
            p.onFrame('');
            box.current?.focus();
          }}
        />
      )}
    </div>
  );
}

const has = (tree: Tree, node: number) => tree.end[node] > node + 1;

// The rows, which of them are open, and the place of the selected one, which is scrolled into view.
function useRows(tree: Tree, frame: number, found: Found, box: { current: HTMLElement | null }) {
  const [open, setOpen] = useState<ReadonlySet<number>>(() => new Set(hotChain(tree, 0)));
  const left = useMemo(() => found && matchedRows(tree, found.first), [found]);
  useEffect(() => {
    setOpen(opened(tree, Math.max(frame, 0), left?.open ?? new Set(hotChain(tree, 0))));
  }, [tree, left]);
  useEffect(() => {
    if (frame > 0) setOpen((o) => opened(tree, frame, o));
  }, [frame]);
  const rows = useMemo(() => openRows(tree, open, left?.kept), [tree, open, left]);
  const at = rows.indexOf(frame);
  useLayoutEffect(() => {
    const b = box.current;
    if (!b || at < 0) return;
    if (at * ROW < b.scrollTop) b.scrollTop = at * ROW;
    if ((at + 2) * ROW > b.scrollTop + b.clientHeight) b.scrollTop = (at + 2) * ROW - b.clientHeight;
  }, [at]);
  const toggle = (node: number) => {
    const next = new Set(open);
    if (!next.delete(node)) next.add(node);
    setOpen(next);
  };
  return { rows, at, open, setOpen, toggle };
}

// What can be done with a frame.
function contextOf(p: CallTreeProps, node: number, onLens?: (step: string, node: number) => void): FrameContext {
  return {
    tree: p.tree,
    node,
    about: p.about,
    onZoom: (n) => p.onZoom(addressOf(p.tree, n)),
    onQuery: p.onQuery,
    onLens: onLens && ((step) => onLens(step, node)),
    onOpenFold: p.onOpenFold && ((n) => p.onOpenFold!(p.tree.parent[n])),
    links: p.links,
  };
}

interface CallKeyProps extends ReturnType<typeof useRows> {
  p: CallTreeProps;
  context: (node: number) => FrameContext;
  select: (node: number) => void;
  step: (by: 1 | -1) => void;
  openMenu: (node: number) => void;
  search: () => void;
  change?: () => void; // what the key does to the lens
}

// Returns false if the key is not one of the tree's.
function onCallKey(e: KeyboardEvent, k: CallKeyProps): boolean {
  const { rows, at } = k;
  const walk: Record<string, number> = {
    ArrowDown: rows[at + 1],
    ArrowUp: rows[at - 1],
    Home: rows[0],
    End: rows[rows.length - 1],
  };
  if (walk[e.key] !== undefined) k.select(walk[e.key]);
  else if (e.key === '/') k.search();
  else if (e.key === 'n' || e.key === '.') k.step(1);
  else if (e.key === 'N' || e.key === ',') k.step(-1);
  else if (k.change) k.change();
  else if (e.key === '*') {
    const path = hotChain(k.p.tree, rows[at] ?? 0);
    k.setOpen(new Set([...k.open, ...path]));
    k.select(path[path.length - 1] || rows[0]);
  } else return rows[at] !== undefined && onRowKey(e, rows[at], k);
  return true;
}

// Keys that act on the selected row.
function onRowKey(e: KeyboardEvent, node: number, k: CallKeyProps): boolean {
  const { tree, onOpenFold, onZoom } = k.p;
  const isOpen = k.open.has(node) && has(tree, node);
  if (e.key === 'ContextMenu' || (e.key === 'F10' && e.shiftKey)) k.openMenu(node);
  else if (e.key === 'ArrowRight' && has(tree, node)) {
    if (isOpen) k.select(k.rows[k.at + 1] ?? node);
    else k.toggle(node);
  } else if (e.key === 'ArrowLeft') {
    if (isOpen) k.toggle(node);
    else if (tree.parent[node] > 0) k.select(tree.parent[node]);
    else return false;
  } else if (e.key === 'Enter') {
    if (isFold(tree, node)) onOpenFold?.(tree.parent[node]);
    else onZoom(addressOf(tree, node));
  } else {
    const action = e.key.length === 1 ? actionOf(e.key, k.context(node)) : undefined;
    if (!action) return false;
    act(action);
  }
  return true;
}

const Head = () => (
  <div role="row" class="ct-row ct-head" style={{ height: ROW }}>
    <span role="columnheader">Function</span>
    {['Total', 'Share', 'Self', 'Samples'].map((text) => (
      <span key={text} role="columnheader" class="number">
        {text}
      </span>
    ))}
  </div>
);

interface RowProps {
  tree: Tree;
  node: number;
  place: number; // among all rows
  selected: boolean;
  matched: boolean;
  open: boolean;
  onSelect: () => void;
  onToggle: () => void;
  onMenu: (x: number, y: number) => void;
}

function Row({ tree, node, ...p }: RowProps) {
  const { n, place } = siblings(tree, node);
  const opens = has(tree, node);
  const name = isFold(tree, node) ? nameOf(tree, node) : shownName(shortName(functionOf(tree, node).name));
  return (
    <div
      id={`call-${node}`}
      role="row"
      class={'ct-row' + (p.selected ? ' selected' : '') + (p.matched ? ' matched-row' : '')}
      style={{ top: p.place * ROW, height: ROW }}
      aria-level={tree.depth[node]}
      aria-setsize={n}
      aria-posinset={place}
      aria-selected={p.selected}
      aria-expanded={opens ? p.open : undefined}
      aria-rowindex={p.place + 2}
      onClick={p.onSelect}
      onDblClick={() => {
        if (opens) p.onToggle();
      }}
      onContextMenu={(e) => {
        e.preventDefault();
        p.onMenu(e.clientX, e.clientY);
      }}
    >
      <span role="rowheader" class="ct-name" style={{ paddingLeft: Math.min(tree.depth[node] - 1, 40) * 14 }}>
        <span
          class="fold"
          aria-hidden="true"
          onClick={(e) => {
            if (!opens) return;
            e.stopPropagation();
            p.onToggle();
          }}
        >
          {opens ? (p.open ? '▾' : '▸') : ''}
        </span>
        <bdi>{name}</bdi>
      </span>
      <Numbers tree={tree} node={node} />
    </div>
  );
}

function Numbers({ tree, node }: { tree: Tree; node: number }) {
  const own = isFold(tree, node) ? 0 : ownOf(tree, node);
  return (
    <>
      <span role="gridcell" class="number">
        {measured(tree, tree.total[node])}
      </span>
      <span role="gridcell" class="number">
        {formatShare(tree.total[node], tree.total[0])}{' '}
        <small>{formatError(tree.totalCount[node], tree.totalCount[0])}</small>
      </span>
      <span role="gridcell" class="number">
        {own ? measured(tree, own) : ''}
      </span>
      <span role="gridcell" class="number">
        {formatCount(tree.totalCount[node])}
      </span>
    </>
  );
}

// The number of siblings of a node and its position among them.
function siblings(tree: Tree, node: number) {
  let n = 0;
  let place = 0;
  const parent = tree.parent[node];
  for (let c = parent + 1; c < tree.end[parent]; c = tree.end[c]) {
    n++;
    if (c <= node) place++;
  }
  return { n, place };
}
