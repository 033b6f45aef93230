// The call tree as a table that opens: the same frames as the flame graph, in words and numbers. The keyboard is that of
// a treegrid: arrows walk, right opens, left closes or goes to the caller, * opens the hot path, Enter zooms the graph.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { About } from '../core/about';
import { formatCount, formatError, formatShare } from '../core/format';
import { go } from '../core/location';
import { addressOf, nodeAt } from '../core/path';
import { patternOf } from '../core/pattern';
import { hotChain, opened, openRows } from '../core/rows';
import { functionOf, isFold, matching, type Tree } from '../core/tree';
import { shortName } from '../core/names';
import { shownName } from '../draw/flame';
import { nameOf, valueOf } from './describe';
import { Drawer, type FrameLink } from './drawer';
import type { LensOp } from './flame';

const ROW = 26;
const HEIGHT = 620;

export interface CallTreeProps {
  tree: Tree; about: About; frame: string; query: string;
  onFrame: (address: string) => void;
  onZoom: (address: string) => void;
  onLens?: (op: LensOp, name: string) => void;
  onOpenFold?: (parent: number) => void;
  links?: FrameLink[];
}

export function CallTree(p: CallTreeProps) {
  const { tree } = p;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [open, setOpen] = useState<ReadonlySet<number>>(() => new Set(hotChain(tree, 0)));
  const frame = useMemo(() => (p.frame ? nodeAt(tree, p.frame) : -1), [tree, p.frame]);
  useEffect(() => { setOpen(opened(tree, Math.max(frame, 0), new Set(hotChain(tree, 0)))); }, [tree]);
  useEffect(() => { if (frame > 0) setOpen((o) => opened(tree, frame, o)); }, [frame]);
  const rows = useMemo(() => openRows(tree, open), [tree, open]);
  const at = rows.indexOf(frame);
  useEffect(() => {
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
  const onKey = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const node = rows[at];
    const to = e.key === 'ArrowDown' ? rows[at + 1] : e.key === 'ArrowUp' ? rows[at - 1] : e.key === 'Home' ? rows[0] : e.key === 'End' ? rows[rows.length - 1] : undefined;
    const link = p.links?.find((l) => l.key === e.key);
    if (to !== undefined) select(to);
    else if (node === undefined) return;
    else if (e.key === 'ArrowRight' && has(node)) { if (open.has(node)) select(node + 1); else toggle(node); }
    else if (e.key === 'ArrowLeft') { if (open.has(node) && has(node)) toggle(node); else if (tree.parent[node] > 0) select(tree.parent[node]); else return; }
    else if (e.key === '*') { const path = hotChain(tree, node); setOpen(new Set([...open, ...path])); select(path[path.length - 1]); }
    else if (e.key === 'Enter') { if (isFold(tree, node)) p.onOpenFold?.(tree.parent[node]); else p.onZoom(addressOf(tree, node)); }
    else if (link && !isFold(tree, node)) go(link.href(functionOf(tree, node)));
    else return;
    e.preventDefault();
  };
  const first = Math.max(0, Math.floor(top / ROW) - 6);
  const shown = rows.slice(first, first + HEIGHT / ROW + 12);
  const siblings = (node: number) => { let n = 0; let place = 0; const parent = tree.parent[node]; for (let c = parent + 1; c < tree.end[parent]; c = tree.end[c]) { n++; if (c <= node) place++; } return { n, place }; };
  const { matched, problem } = useMemo(() => {
    const pattern = patternOf(p.query);
    return { matched: pattern && matching(tree, pattern), problem: pattern?.problem() ?? '' };
  }, [tree, p.query]);
  return (
    <>
      {problem !== '' && <p class="note error" role="status">The search: {problem}.</p>}
      <div ref={box} class="calltree" role="treegrid" tabIndex={0} style={{ height: Math.min(HEIGHT, rows.length * ROW) + ROW + 2 }} onScroll={(e) => setTop(e.currentTarget.scrollTop)} aria-label={`Call tree, ${valueOf(tree, tree.total[0])}. Arrow keys walk, right opens, left closes, star opens the hot path.`}
        aria-rowcount={rows.length + 1} aria-activedescendant={at >= 0 ? `call-${frame}` : undefined} onKeyDown={onKey}>
        <div role="row" class="ct-row ct-head" style={{ height: ROW }}><span role="columnheader">Function</span><span role="columnheader" class="number">Total</span><span role="columnheader" class="number">Share</span><span role="columnheader" class="number">Self</span><span role="columnheader" class="number">Samples</span></div>
        <div role="rowgroup" class="ct-box" style={{ height: rows.length * ROW }}>
          {shown.map((node, i) => {
            const { n, place } = siblings(node);
            const name = isFold(tree, node) ? nameOf(tree, node) : shownName(shortName(functionOf(tree, node).name));
            return (
              <div key={node} id={`call-${node}`} role="row" class={'ct-row' + (node === frame ? ' selected' : '') + (matched?.[tree.func[node]] ? ' matched-row' : '')} style={{ top: (first + i) * ROW, height: ROW }}
                aria-level={tree.depth[node]} aria-setsize={n} aria-posinset={place} aria-selected={node === frame} aria-expanded={has(node) ? open.has(node) : undefined} aria-rowindex={first + i + 2} onClick={() => select(node)} onDblClick={() => { if (has(node)) toggle(node); }}>
                <span role="rowheader" class="ct-name" style={{ paddingLeft: Math.min(tree.depth[node] - 1, 40) * 14 }}>
                  <span class="fold" aria-hidden="true" onClick={(e) => { if (has(node)) { e.stopPropagation(); toggle(node); } }}>{has(node) ? (open.has(node) ? '▾' : '▸') : ''}</span><bdi>{name}</bdi>
                </span>
                <span role="gridcell" class="number">{valueOf(tree, tree.total[node])}</span>
                <span role="gridcell" class="number">{formatShare(tree.total[node], tree.total[0])} <small>{formatError(tree.totalCount[node], tree.totalCount[0])}</small></span>
                <span role="gridcell" class="number">{isFold(tree, node) || tree.self[node] === 0 ? '' : valueOf(tree, tree.self[node])}</span>
                <span role="gridcell" class="number">{formatCount(tree.totalCount[node])}</span>
              </div>
            );
          })}
        </div>
      </div>
      {frame > 0 && <Drawer tree={tree} node={frame} about={p.about} onZoom={(node) => p.onZoom(addressOf(tree, node))} onClose={() => { p.onFrame(''); box.current?.focus(); }} onLens={p.onLens}
        onOpenFold={p.onOpenFold && ((node) => p.onOpenFold!(tree.parent[node]))} links={p.links} />}
    </>
  );
}
