// The call tree as a table that opens: the same frames as the flame graph, in words and numbers. The keyboard is that of
// a treegrid: arrows walk, right opens, left closes or goes to the caller, * opens the hot path, Enter zooms the graph; letters
// act as in the graph. A search leaves what matches, with what leads to it, opened.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { About } from '../core/about';
import { formatCount, formatError, formatShare } from '../core/format';
import { plain } from '../core/keys';
import { addressOf, nodeAt } from '../core/path';
import { hotChain, matchedRows, opened, openRows } from '../core/rows';
import { functionOf, isFold, nextMatch, ownOf, type Tree } from '../core/tree';
import { shortName } from '../core/names';
import { shownName } from '../draw/flame';
import { nameOf, valueOf } from './describe';
import { act, actionOf, type FrameContext, type FrameLink } from './actions';
import { Drawer } from './drawer';
import { FrameMenu, type MenuPlace } from './menu';
import { useKeptFunction } from './kept_function';
import { findKey, Matched, searchFor, SearchBox } from './search_box';
import type { Searched } from './searched';

const ROW = 26;
const HEIGHT = 620;

export interface CallTreeProps {
  tree: Tree; about: About; frame: string; query: string;
  searched?: Searched;
  onQuery: (text: string, typed?: boolean) => void;
  onFrame: (address: string) => void;
  onZoom: (address: string) => void;
  onLens?: (step: string) => void;
  onOpenFold?: (parent: number) => void;
  links?: FrameLink[];
}

export function CallTree(p: CallTreeProps) {
  const { tree } = p;
  const box = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const [top, setTop] = useState(0);
  const [menu, setMenu] = useState<MenuPlace & { tree: Tree } | null>(null);
  const [open, setOpen] = useState<ReadonlySet<number>>(() => new Set(hotChain(tree, 0)));
  const frame = useMemo(() => (p.frame ? nodeAt(tree, p.frame) : -1), [tree, p.frame]);
  const found = useMemo(() => searchFor(tree, p.query), [tree, p.query]);
  const left = useMemo(() => found && matchedRows(tree, found.first), [found]);
  useEffect(() => { setOpen(opened(tree, Math.max(frame, 0), left?.open ?? new Set(hotChain(tree, 0)))); }, [tree, left]);
  useEffect(() => { if (frame > 0) setOpen((o) => opened(tree, frame, o)); }, [frame]);
  const rows = useMemo(() => openRows(tree, open, left?.kept), [tree, open, left]);
  const at = rows.indexOf(frame);
  useLayoutEffect(() => {
    const b = box.current;
    if (!b || at < 0) return;
    if (at * ROW < b.scrollTop) b.scrollTop = at * ROW;
    if ((at + 2) * ROW > b.scrollTop + b.clientHeight) b.scrollTop = (at + 2) * ROW - b.clientHeight;
  }, [at]);
  const select = (node: number) => p.onFrame(addressOf(tree, node));
  const has = (node: number) => tree.end[node] > node + 1;
  const toggle = (node: number) => {
    const next = new Set(open);
    if (!next.delete(node)) next.add(node);
    setOpen(next);
  };
  const step = (by: 1 | -1) => { if (found && found.first.length > 0) select(nextMatch(found.first, frame, by)); };
  const onLens = useKeptFunction({ tree, frame: p.frame, box, onLens: p.onLens, select });
  const context = (node: number): FrameContext => ({
    tree, node, about: p.about, onZoom: (n) => p.onZoom(addressOf(tree, n)), onQuery: p.onQuery, onLens: onLens && ((step) => onLens(step, node)), onOpenFold: p.onOpenFold && ((n) => p.onOpenFold!(tree.parent[n])), links: p.links,
  });
  const showMenu = (node: number, x: number, y: number) => { select(node); setMenu({ tree, node, x, y }); };
  // By key: below the row. One that was just brought into view may not be an element yet.
  const openMenu = (node: number) => {
    const area = box.current!.getBoundingClientRect();
    showMenu(node, area.left + 40, area.top + (rows.indexOf(node) + 2) * ROW - box.current!.scrollTop);
  };
  const onKey = (e: KeyboardEvent) => {
    if (findKey(e, input.current) || !plain(e)) return;
    const node = rows[at];
    const to = e.key === 'ArrowDown' ? rows[at + 1] : e.key === 'ArrowUp' ? rows[at - 1] : e.key === 'Home' ? rows[0] : e.key === 'End' ? rows[rows.length - 1] : undefined;
    if (to !== undefined) select(to);
    else if (e.key === '/') input.current?.focus();
    else if (e.key === 'n' || e.key === '.') step(1);
    else if (e.key === 'N' || e.key === ',') step(-1);
    else if (e.key === 'i' && onLens) onLens('invert', frame);
    else if (e.key === '*') { const path = hotChain(tree, node ?? 0); setOpen(new Set([...open, ...path])); select(path[path.length - 1] || rows[0]); }
    else if (node === undefined) return;
    else if (e.key === 'ContextMenu' || (e.key === 'F10' && e.shiftKey)) openMenu(node);
    else if (e.key === 'ArrowRight' && has(node)) { if (open.has(node)) select(rows[at + 1] ?? node); else toggle(node); }
    else if (e.key === 'ArrowLeft') { if (open.has(node) && has(node)) toggle(node); else if (tree.parent[node] > 0) select(tree.parent[node]); else return; }
    else if (e.key === 'Enter') { if (isFold(tree, node)) p.onOpenFold?.(tree.parent[node]); else p.onZoom(addressOf(tree, node)); }
    else {
      const action = e.key.length === 1 ? actionOf(e.key, context(node)) : undefined;
      if (!action) return;
      act(action);
    }
    e.preventDefault();
  };
  const first = Math.max(0, Math.floor(top / ROW) - 6);
  const shown = rows.slice(first, first + HEIGHT / ROW + 12);
  const siblings = (node: number) => { let n = 0; let place = 0; const parent = tree.parent[node]; for (let c = parent + 1; c < tree.end[parent]; c = tree.end[c]) { n++; if (c <= node) place++; } return { n, place }; };
  return (
    <>
      <div class="flame-bar"><SearchBox query={p.query} onQuery={p.onQuery} onStep={step} input={input} /><Matched tree={tree} found={found} searched={p.searched} /></div>
      <div ref={box} class="calltree" role="treegrid" tabIndex={0} style={{ height: Math.min(HEIGHT, rows.length * ROW) + ROW + 2 }} onScroll={(e) => setTop(e.currentTarget.scrollTop)} aria-label={`Call tree, ${valueOf(tree, tree.total[0])}. Arrow keys walk, right opens, left closes, star opens the hot path.`}
        aria-rowcount={rows.length + 1} aria-activedescendant={at >= 0 ? `call-${frame}` : undefined} onKeyDown={onKey}>
        <div role="row" class="ct-row ct-head" style={{ height: ROW }}><span role="columnheader">Function</span><span role="columnheader" class="number">Total</span><span role="columnheader" class="number">Share</span><span role="columnheader" class="number">Self</span><span role="columnheader" class="number">Samples</span></div>
        <div role="rowgroup" class="ct-box" style={{ height: rows.length * ROW }}>
          {shown.map((node, i) => {
            const { n, place } = siblings(node);
            const name = isFold(tree, node) ? nameOf(tree, node) : shownName(shortName(functionOf(tree, node).name));
            return (
              <div key={node} id={`call-${node}`} role="row" class={'ct-row' + (node === frame ? ' selected' : '') + (found?.nodes[node] ? ' matched-row' : '')} style={{ top: (first + i) * ROW, height: ROW }}
                aria-level={tree.depth[node]} aria-setsize={n} aria-posinset={place} aria-selected={node === frame} aria-expanded={has(node) ? open.has(node) : undefined} aria-rowindex={first + i + 2} onClick={() => select(node)} onDblClick={() => { if (has(node)) toggle(node); }}
                onContextMenu={(e) => { e.preventDefault(); showMenu(node, e.clientX, e.clientY); }}>
                <span role="rowheader" class="ct-name" style={{ paddingLeft: Math.min(tree.depth[node] - 1, 40) * 14 }}>
                  <span class="fold" aria-hidden="true" onClick={(e) => { if (has(node)) { e.stopPropagation(); toggle(node); } }}>{has(node) ? (open.has(node) ? '▾' : '▸') : ''}</span><bdi>{name}</bdi>
                </span>
                <span role="gridcell" class="number">{valueOf(tree, tree.total[node])}</span>
                <span role="gridcell" class="number">{formatShare(tree.total[node], tree.total[0])} <small>{formatError(tree.totalCount[node], tree.totalCount[0])}</small></span>
                <span role="gridcell" class="number">{isFold(tree, node) || !ownOf(tree, node) ? '' : valueOf(tree, ownOf(tree, node)!)}</span>
                <span role="gridcell" class="number">{formatCount(tree.totalCount[node])}</span>
              </div>
            );
          })}
        </div>
      </div>
      {found && rows.length === 0 && <p>No frame matches “{p.query}”.</p>}
      {menu?.tree === tree && <FrameMenu key={menu.node} {...context(menu.node)} at={menu} onClose={(back) => { setMenu(null); if (back) box.current?.focus({ preventScroll: true }); }} />}
      {frame > 0 && <Drawer {...context(frame)} onClose={() => { p.onFrame(''); box.current?.focus(); }} />}
    </>
  );
}
