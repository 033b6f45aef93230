// The flame graph: canvases of the viewport's size inside a scrolling box, tooltip, keyboard, screen reader, search.
// What is zoomed, selected and searched for belongs to the caller (the URL); the view in between is kept here.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { About } from '../core/about';
import { coloursNow } from '../core/colours';
import { formatShare } from '../core/format';
import { addressOf, nodeAt } from '../core/path';
import { groupsOf } from '../core/groups';
import { plain } from '../core/keys';
import { undo } from '../core/location';
import { isFold, nextMatch, shownShare, type Tree } from '../core/tree';
import { boxOf, drawFlame, drawOverlay, FONT, hitFlame, rowTop, shownName, type Drawn, type Hit, type View } from '../draw/flame';
import { announcementOf, fewSamples, nameOf, samplesOf, wholeOf } from './describe';
import { act, actionOf, type FrameContext, type FrameLink } from './actions';
import { Drawer } from './drawer';
import { prepare } from './canvas';
import { Minimap } from './minimap';
import { KEYS, moveOf } from './flame_keys';
import { scaled, useAnimatedRange } from './flame_range';
import { Tooltip } from './flame_tip';
import { KeyList } from './key_list';
import { useKeptFunction } from './kept_function';
import { FrameMenu, type MenuPlace } from './menu';
import { remember } from './picture';
import { findKey, Matched, searchFor, SearchBox } from './search_box';
import type { Searched } from './searched';
import { announce, useUnused } from './shell';
import { TreeItems } from './tree_items';

export interface FlameProps {
  tree: Tree; about: About;
  name?: string;  // where there are several on a page
  zoom: string; frame: string; query: string; flip?: boolean;
  searched?: Searched;  // where something is folded: what the server finds in all of it
  onZoom: (zoom: string, frame: string) => void;
  onFrame: (address: string) => void;
  onQuery: (text: string, typed?: boolean) => void;
  onFlip?: () => void;
  mark?: string;  // a colour of the legend: the others are dimmed
  onMark?: (name: string) => void;
  onLens?: (step: string) => void;
  onOpenFold?: (parent: number) => void;
  links?: FrameLink[];
  noLinks?: string;  // why there are none
}

const ROW = 20;
const MOST_HEIGHT = 640;
const MINIMAP_FROM = 40;  // nodes; a smaller graph is its own map

export function FlameGraph(p: FlameProps) {
  const { tree } = p;
  const scroller = useRef<HTMLDivElement>(null);
  const base = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [top, setTop] = useState(0);
  const [hover, setHover] = useState<{ hit: Hit; x: number; y: number } | null>(null);
  const [focused, setFocused] = useState(false);
  const [help, setHelp] = useState(false);
  const [menu, setMenu] = useState<MenuPlace & { tree: Tree } | null>(null);
  const zoomedTo = useMemo(() => (p.zoom ? nodeAt(tree, p.zoom) : 0), [tree, p.zoom]);
  const zoom = Math.max(0, zoomedTo);
  const frame = useMemo(() => (p.frame ? nodeAt(tree, p.frame) : -1), [tree, p.frame]);
  const found = useMemo(() => searchFor(tree, p.query), [tree, p.query]);
  // Colours have a legend where there is one graph and it is no difference; one of them can be marked.
  const groups = useMemo(() => (p.name || tree.before ? [] : groupsOf(tree)), [tree]);
  const group = groups.find((g) => g.name === p.mark);
  useUnused(p.mark && !group ? `“mark” in this page's address, ${p.mark.slice(0, 40)}, is none of the colours of this graph. Nothing is marked.` : '');
  const matches = useMemo(() => (group ? Uint8Array.from(tree.func, (f) => Number(group.functions.has(f))) : found?.nodes), [group, found]);
  const [range, setRange] = useState<[number, number]>([tree.start[zoom], tree.start[zoom] + tree.width[zoom]]);
  const flip = p.flip ?? false;
  const letter = useMemo(letterWidth, []);
  const palette = coloursNow();
  const height = Math.min(Math.max(tree.rows * ROW, ROW * 4), MOST_HEIGHT);
  const view: View = { from: range[0], to: range[1], top, width: size.width, height: size.height, row: ROW, minWidth: 0.5, flip, zoom };
  const drawn = useRef<Drawn & { ms: number }>({ boxes: 0, blocks: 0, visited: 0, ms: 0 });

  useAnimatedRange(tree, zoom, p.zoom, range, setRange);
  useEffect(() => {
    const box = scroller.current!;
    const observer = new ResizeObserver(() => setSize({ width: box.clientWidth, height: box.clientHeight }));
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  useEffect(() => { if (flip && scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight; }, [flip, tree, size.height]);
  useLayoutEffect(() => {
    const g = prepare(base.current, size);
    if (!g) return;
    const began = performance.now();
    drawn.current = { ...drawFlame(g, tree, view, palette, letter), ms: performance.now() - began };
    remember(base.current!, { tree, view, palette, letter });
  }, [tree, range, top, size, palette, flip]);
  useLayoutEffect(() => {
    const g = prepare(overlay.current, size);
    if (g) drawOverlay(g, tree, view, palette, { matches, hover: hover ? hover.hit.node : -1, frame, focused });
  }, [tree, range, top, size, palette, flip, matches, hover, frame, focused]);
  useEffect(() => {
    if (!hover) return;
    const dismiss = (e: KeyboardEvent) => { if (e.key === 'Escape') setHover(null); };
    addEventListener('keydown', dismiss);
    return () => removeEventListener('keydown', dismiss);
  }, [hover !== null]);
  expose(p, view, drawn.current, zoom, frame, p.searched?.found?.value ?? found?.value ?? 0);

  useEffect(() => () => {
    delete (window as unknown as { __wherefore: Record<string, unknown> }).__wherefore[p.name ?? 'flame'];
    // A graph that goes (nothing is left of it) leaves the focus to the page's main part, from where Tab goes on.
    if (scroller.current === document.activeElement) queueMicrotask(() => { if (document.activeElement === document.body) document.getElementById('main')?.focus({ preventScroll: true }); });
  }, []);

  const select = (node: number) => {
    p.onFrame(addressOf(tree, node));
    const y = rowTop(tree, { ...view, top: 0 }, tree.depth[node]);
    const box = scroller.current!;
    if (y < box.scrollTop) box.scrollTop = y;
    if (y + ROW > box.scrollTop + box.clientHeight) box.scrollTop = y + ROW - box.clientHeight;
  };
  const activate = (node: number) => {
    if (isFold(tree, node)) { if (p.onOpenFold) p.onOpenFold(tree.parent[node]); else select(node); return; }
    const address = addressOf(tree, node);
    // Zoomed to it already, but moved away from it since.
    if (node === zoom) setRange([tree.start[node], tree.start[node] + tree.width[node]]);
    p.onZoom(node === 0 ? '' : address, address);
  };
  const click = (hit: Hit) => {
    if (hit.run) setRange([hit.run.from, hit.run.to]); else activate(hit.node);
  };
  const step = (by: 1 | -1) => { if (found && found.first.length > 0) select(nextMatch(found.first, frame, by)); };
  const onLens = useKeptFunction({ tree, frame: p.frame, box: scroller, onLens: p.onLens, select });
  const context = (node: number): FrameContext => ({
    tree, node, about: p.about, onZoom: activate, onQuery: p.onQuery, onLens: onLens && ((change) => onLens(change, node)), part: p.name !== undefined, onOpenFold: p.onOpenFold && ((n) => p.onOpenFold!(tree.parent[n])), links: p.links, noLinks: p.noLinks,
  });
  const showMenu = (node: number, x: number, y: number) => { setHover(null); setMenu({ tree, node, x, y }); };
  // By key: below the frame, which is brought into view.
  const openMenu = (node: number) => {
    select(node);
    const area = base.current!.getBoundingClientRect();
    const at = boxOf(tree, { ...view, top: scroller.current!.scrollTop }, node);
    showMenu(node, area.left + Math.max(0, Math.min(at.x + Math.min(Math.max(at.w, 0) / 2, 40), size.width)), area.top + at.y + ROW);
  };
  const onKey = (e: KeyboardEvent) => {
    if (findKey(e, input.current) || !plain(e)) return;
    const action = e.key.length === 1 ? actionOf(e.key, context(Math.max(frame, 0))) : undefined;
    if (e.key === 'ContextMenu' || (e.key === 'F10' && e.shiftKey)) { e.preventDefault(); openMenu(Math.max(frame, 0)); return; }
    if (action) { e.preventDefault(); act(action); return; }
    if (p.onLens && frame <= 0 && 'fhmcdrCFM'.includes(e.key)) { e.preventDefault(); announce('Select a frame first: the arrow keys walk.'); return; }
    const move = moveOf(tree, Math.max(frame, 0), e.key, flip);
    if (!move) return;
    e.preventDefault();
    if ('select' in move) select(move.select);
    else if ('zoom' in move) activate(move.zoom);
    else if ('scale' in move) setRange(scaled(tree, range, move.scale, frame >= 0 ? tree.start[frame] + tree.width[frame] / 2 : (range[0] + range[1]) / 2));
    else if ('step' in move) step(move.step);
    else if (move.act === 'search') input.current?.focus();
    else if (move.act === 'flip') p.onFlip?.();
    else if (move.act === 'invert') { if (!p.name) onLens?.('invert', frame); }
    else if (move.act === 'help') setHelp(!help);
    else if (!undo() && zoom !== 0) activate(0);
  };
  const at = (e: MouseEvent) => {
    const box = base.current!.getBoundingClientRect();
    return hitFlame(tree, view, e.clientX - box.left, e.clientY - box.top);
  };
  const span = range[1] - range[0];
  const pan = (pixels: number) => {
    const by = Math.max(-range[0], Math.min(pixels / size.width * span, tree.width[0] - range[1]));
    setRange([range[0] + by, range[1] + by]);
  };
  const wheel = (e: WheelEvent) => {
    const box = base.current!.getBoundingClientRect();
    if (e.ctrlKey || e.metaKey) {
      e.preventDefault();
      setRange(scaled(tree, range, Math.exp(e.deltaY / 400), range[0] + (e.clientX - box.left) / size.width * span));
    } else if (e.shiftKey) {
      e.preventDefault();
      pan(e.deltaX || e.deltaY);
    }
  };
  // Held and moved: the graph goes along, and the click that follows is none.
  const held = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  const drag = (e: MouseEvent): boolean => {
    const from = held.current;
    if (!from || e.buttons !== 1) { held.current = null; return false; }
    if (!from.moved && Math.hypot(e.clientX - from.x, e.clientY - from.y) < 5) return false;
    pan(from.x - e.clientX);
    scroller.current!.scrollTop += from.y - e.clientY;
    held.current = { x: e.clientX, y: e.clientY, moved: true };
    setHover(null);
    return true;
  };
  useEffect(() => {
    const box = scroller.current!;
    box.addEventListener('wheel', wheel, { passive: false });
    return () => box.removeEventListener('wheel', wheel);
  });

  const shown = shownShare(tree);
  // Of several graphs on a page each has frames of its own; what another view left in the address is no matter there.
  const lost = !p.name && (zoomedTo < 0 || (p.frame !== '' && frame < 0));
  const zoomed = zoom !== 0 || range[0] > 0 || range[1] < tree.width[0];
  return (
    <div class="flame">
      <div class="flame-bar">
        <p class="summary" data-testid="summary">
          <strong>{wholeOf(tree)}</strong>{tree.meta.averaged ? ' on average' : ''}
          {' · '}{samplesOf(tree)} · {(shown * 100).toFixed(shown > 0.9995 ? 0 : 1)} % shown
          {tree.meta.overflow && <span class="warn"> · overflow: more than 64 bits hold, these numbers are not right</span>}
          {fewSamples(tree) && <span class="warn"> · few samples: shares are rough</span>}
        </p>
        <span class="grow" />
        <Matched tree={tree} found={found} searched={p.searched} />
        {zoomed && <button type="button" onClick={() => { setRange([0, tree.width[0]]); p.onZoom('', ''); }}>Reset zoom</button>}
        {p.onFlip && <button type="button" aria-pressed={flip} onClick={p.onFlip}>Root at bottom</button>}
        <button type="button" aria-expanded={help} onClick={() => setHelp(!help)}>Keys</button>
        <SearchBox query={p.query} onQuery={p.onQuery} onStep={step} input={input} />
      </div>
      {lost && <p class="note lost" role="status">The frame in the address is not drawn here: too small, or gone. <button type="button" onClick={() => p.onZoom(zoomedTo < 0 ? '' : p.zoom, frame < 0 ? '' : p.frame)}>Take it out of the address</button></p>}
      {help && <KeyList keys={KEYS.filter(([, , needs]) => !needs || { lens: p.onLens, path: !p.name && p.onLens, links: p.links ?? p.noLinks, flip: p.onFlip }[needs])} />}
      {tree.func.length > MINIMAP_FROM && <Minimap tree={tree} node={hover ? hover.hit.node : frame} range={range} onRange={setRange} flip={flip} />}
      <div ref={scroller} class="flame-box" style={{ height: height + 2 }} role="tree" tabIndex={0}
        aria-label={`Flame graph${p.name ? ` of ${p.name}` : ''}, ${wholeOf(tree)}, ${samplesOf(tree)}. Arrow keys walk, Enter zooms.`}
        aria-activedescendant={`${p.name ?? 'flame'}-${Math.max(frame, 0)}`} onKeyDown={onKey} onFocus={() => setFocused(true)} onBlur={() => setFocused(false)}
        onScroll={(e) => setTop(e.currentTarget.scrollTop)}
        onMouseDown={(e) => { held.current = e.button === 0 ? { x: e.clientX, y: e.clientY, moved: false } : null; }}
        onMouseMove={(e) => { if (drag(e)) return; const hit = at(e); setHover(hit && { hit, x: e.clientX, y: e.clientY }); }}
        onMouseLeave={() => setHover(null)}
        onClick={(e) => { const hit = held.current?.moved ? null : at(e); held.current = null; if (hit) click(hit); }}
        onContextMenu={(e) => { const hit = at(e); if (hit && !hit.run) { e.preventDefault(); p.onFrame(addressOf(tree, hit.node)); showMenu(hit.node, e.clientX, e.clientY); } }}>
        <TreeItems name={p.name ?? 'flame'} tree={tree} node={Math.max(frame, 0)} />
        <div class="flame-rows" role="presentation" style={{ height: tree.rows * ROW }}>
          <div class="flame-view" style={{ height: size.height }}><canvas ref={base} aria-hidden="true" /><canvas ref={overlay} aria-hidden="true" /></div>
        </div>
      </div>
      {groups.length > 1 && (
        <p class="legend" role="group" aria-label="Colours">{groups.map((g) => (
          <button key={g.name} type="button" aria-pressed={g === group} onClick={() => p.onMark?.(g === group ? '' : g.name)}><i style={{ background: palette.boxes[g.fill] }} /><bdi>{shownName(g.name, 60)}</bdi>&nbsp;<small>{formatShare(g.self, tree.total[0])} self</small></button>
        ))}</p>
      )}
      <p class="hidden" role="status" aria-live="polite">{focused && frame >= 0 ? announcementOf(tree, frame) : ''}</p>
      {hover && <Tooltip tree={tree} hover={hover} />}
      {menu?.tree === tree && <FrameMenu key={menu.node} {...context(menu.node)} at={menu} onClose={(back) => { setMenu(null); if (back) scroller.current?.focus({ preventScroll: true }); }} />}
      {frame >= 0 && <Drawer {...context(frame)} onClose={() => { p.onFrame(''); scroller.current?.focus(); }} />}
    </div>
  );
}

function letterWidth(): number {
  const g = document.createElement('canvas').getContext('2d')!;
  g.font = FONT;
  return g.measureText('mmmmmmmmmm').width / 10;
}

// What is drawn, for tests and for scripts that drive the page.
function expose(p: FlameProps, view: View, drawn: Drawn & { ms: number }, zoom: number, frame: number, matched: number): void {
  const page = window as unknown as { __wherefore?: object };
  page.__wherefore = {
    ...page.__wherefore,
    [p.name ?? 'flame']: {
      total: p.tree.total[0], count: p.tree.totalCount[0], nodes: p.tree.func.length, unit: p.tree.meta.unit, type: p.tree.meta.type,
      zoom: nameOf(p.tree, zoom), frame: frame >= 0 ? nameOf(p.tree, frame) : '', matched, range: [view.from, view.to],
      shown: shownShare(p.tree), drawn, totalBefore: p.tree.totalBefore?.[0],
      box: (name: string) => {
        for (let i = 0; i < p.tree.func.length; i++) {
          if (nameOf(p.tree, i) !== name) continue;
          const scale = view.width / (view.to - view.from || 1);
          return { node: i, x: (p.tree.start[i] - view.from) * scale, y: rowTop(p.tree, view, p.tree.depth[i]), w: p.tree.width[i] * scale, total: p.tree.total[i], self: p.tree.self[i] };
        }
        return null;
      },
    },
  };
}
