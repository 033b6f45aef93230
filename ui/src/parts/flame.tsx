// The flame graph. Zoom, selection and search belong to the caller (the URL). flame_view.ts keeps the visible part,
// flame_paint.ts draws, flame_pointer.ts and flame_keyboard.ts handle input; this puts them together with tooltip,
// menu, inspector and search.
import type { ComponentProps } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { About } from '../core/about';
import { addressOf } from '../core/path';
import { groupsOf } from '../core/groups';
import { OWN } from '../core/state';
import { isFold, nextMatch, type Tree } from '../core/tree';
import { boxOf, rowTop } from '../draw/flame';
import { announcementOf, samplesOf, wholeOf } from './describe';
import type { FrameContext, FrameLink } from './actions';
import { Inspector, type Details } from './inspector';
import { Minimap } from './minimap';
import { Colours, FlameBar, LostFrame } from './flame_bar';
import { onFlameKey } from './flame_keyboard';
import { KEYS } from './flame_keys';
import { useFlamePaint } from './flame_paint';
import { useFlamePointer, type Hover } from './flame_pointer';
import { broughtIntoView, rangeOf } from './flame_range';
import { Tooltip } from './flame_tip';
import { ROW, useFlameView, type FlameView } from './flame_view';
import { KeyList } from './key_list';
import { useKeptFunction } from './kept_function';
import { FrameMenu, type MenuPlace } from './menu';
import { searchFor, type Found } from './search_box';
import type { Searched } from './searched';
import { useUnused } from './shell';
import { TreeItems } from './tree_items';

export interface FlameProps {
  tree: Tree;
  about: About;
  name?: string; // if a page has several
  zoom: string;
  frame: string;
  query: string;
  flip?: boolean;
  searched?: Searched; // the server's result, if frames are folded
  onZoom: (zoom: string, frame: string) => void;
  onFrame: (address: string) => void;
  onQuery: (text: string, typed?: boolean) => void;
  onFlip?: () => void;
  mark?: string; // the highlighted colour of the legend
  onMark?: (name: string) => void;
  onLens?: (step: string) => void;
  onOpenFold?: (parent: number) => void;
  links?: FrameLink[];
  noLinks?: string; // why there are none
  own?: boolean; // the lens leaves own code only
  details?: Details; // what the page knows of the selected function
  fill?: boolean; // down to the window's bottom
}

const MOST_HEIGHT = 640;
const MINIMAP_FROM = 40; // nodes; smaller graphs need no map

export function FlameGraph(p: FlameProps) {
  const { tree } = p;
  const name = p.name ?? 'flame';
  const view = useFlameView(tree, p);
  const { scroller, zoomedTo, zoom, frame, range, setRange, flip } = view;
  const input = useRef<HTMLInputElement>(null);
  const { hover, setHover } = useHover();
  const [focused, setFocused] = useState(false);
  const [help, setHelp] = useState(false);
  const found = useMemo(() => searchFor(tree, p.query), [tree, p.query]);
  const { groups, marked, matches } = useColours(p, found);
  const over = { matches, hover: hover ? hover.hit.node : -1, focused };
  const { overlay, palette } = useFlamePaint(view, over, name, p.searched?.found?.value ?? found?.value ?? 0);
  useFocusGoesOn(scroller);
  const { select, activate, step } = movesOf(p, view, found);
  const onLens = useKeptFunction({ tree, frame: p.frame, box: scroller, onLens: p.onLens, select });
  const context = (node: number) => contextOf(p, node, activate, onLens);
  const { menu, setMenu, showMenu, openMenu } = useMenu(view, setHover, select);
  const pointer = useFlamePointer(view, setHover, activate, (node, x, y) => {
    p.onFrame(addressOf(tree, node));
    showMenu(node, x, y);
  });
  const acts = {
    search: () => input.current?.focus(),
    flip: () => p.onFlip?.(),
    invert: () => !p.name && onLens?.('invert', frame),
    own: () => !p.name && onLens?.(OWN, frame),
    help: () => setHelp(!help),
  };
  const onKeyDown = (e: KeyboardEvent) =>
    onFlameKey(e, { view, input: input.current, context, hasLens: !!p.onLens, select, activate, step, openMenu, acts });
  // If a page has several graphs, each has its own frames, so a frame in the address may belong to another one.
  const lost = !p.name && (zoomedTo < 0 || (p.frame !== '' && frame < 0));
  const zoomed = zoom !== 0 || range[0] > 0 || range[1] < tree.width[0];
  const reset = () => {
    setRange(rangeOf(tree, 0));
    p.onZoom('', '');
  };
  return (
    <div class={'flame' + (p.fill ? ' fill' : '') + (frame >= 0 ? ' inspected' : '')}>
      <div class="flame-main">
        {lost && <LostFrame onClear={() => p.onZoom(zoomedTo < 0 ? '' : p.zoom, frame < 0 ? '' : p.frame)} />}
        {tree.func.length > MINIMAP_FROM && (
          <Minimap tree={tree} node={hover ? hover.hit.node : frame} range={range} onRange={setRange} flip={flip} />
        )}
        <FlameBox
          view={view}
          name={p.name}
          fill={p.fill}
          overlay={overlay}
          onKeyDown={onKeyDown}
          onFocus={() => setFocused(true)}
          onBlur={() => setFocused(false)}
          {...pointer}
        />
        <FlameBar
          {...p}
          frame={frame}
          found={found}
          input={input}
          onStep={step}
          onReset={zoomed ? reset : undefined}
          flip={flip}
          help={help}
          onHelp={acts.help}
        />
        {help && <KeyList keys={keysOf(p)} />}
        {groups.length > 1 && (
          <Colours tree={tree} groups={groups} marked={marked} palette={palette} onMark={p.onMark} />
        )}
      </div>
      <p class="hidden" role="status" aria-live="polite">
        {focused && frame >= 0 ? announcementOf(tree, frame) : ''}
      </p>
      {hover && <Tooltip tree={tree} hover={hover} />}
      {menu?.tree === tree && (
        <FrameMenu
          key={menu.node}
          {...context(menu.node)}
          at={menu}
          onClose={(back) => {
            setMenu(null);
            if (back) scroller.current?.focus({ preventScroll: true });
          }}
        />
      )}
      {frame >= 0 && (
        <Inspector
          {...context(frame)}
          onSelect={select}
          details={p.details}
          onClose={() => {
            p.onFrame('');
            scroller.current?.focus();
          }}
        />
      )}
    </div>
  );
}

type FlameBoxProps = Omit<ComponentProps<'div'>, 'name'> & {
  view: FlameView;
  name?: string;
  fill?: boolean;
  overlay: { current: HTMLCanvasElement | null };
};

function FlameBox({ view, name, fill, overlay, ...events }: FlameBoxProps) {
  const { tree, scroller, base, size, setTop } = view;
  const frame = Math.max(view.frame, 0);
  const of = `Flame graph${name ? ` of ${name}` : ''}, ${wholeOf(tree)}, ${samplesOf(tree)}`;
  return (
    <div
      ref={scroller}
      class="flame-box"
      style={fill ? undefined : { height: Math.min(Math.max(tree.rows * ROW, ROW * 4), MOST_HEIGHT) + 2 }}
      role="tree"
      tabIndex={0}
      aria-label={`${of}. Arrow keys walk, Enter zooms.`}
      aria-activedescendant={`${name ?? 'flame'}-${frame}`}
      onScroll={(e) => setTop(e.currentTarget.scrollTop)}
      {...events}
    >
      <TreeItems name={name ?? 'flame'} tree={tree} node={frame} />
      <div class="flame-rows" role="presentation" style={{ height: tree.rows * ROW }}>
        <div class="flame-view" style={{ height: size.height }}>
          <canvas ref={base} aria-hidden="true" />
          <canvas ref={overlay} aria-hidden="true" />
        </div>
      </div>
    </div>
  );
}

// The hovered frame; Escape hides its tooltip.
function useHover() {
  const [hover, setHover] = useState<Hover | null>(null);
  useEffect(() => {
    if (!hover) return;
    const dismiss = (e: KeyboardEvent) => {
      if (e.key === 'Escape') setHover(null);
    };
    addEventListener('keydown', dismiss);
    return () => removeEventListener('keydown', dismiss);
  }, [hover !== null]);
  return { hover, setHover };
}

// A single graph that is not a difference has a legend of its colours. If one is marked, its frames are highlighted
// instead of the search's matches.
function useColours({ tree, name, mark }: FlameProps, found: Found) {
  const groups = useMemo(() => (name || tree.before ? [] : groupsOf(tree)), [tree]);
  const marked = groups.find((g) => g.name === mark);
  useUnused(
    mark && !marked
      ? `“mark” in this page's address, ${mark.slice(0, 40)}, is not a colour of this graph. Nothing is marked.`
      : '',
  );
  const matches = useMemo(
    () => (marked ? Uint8Array.from(tree.func, (f) => Number(marked.functions.has(f))) : found?.nodes),
    [marked, found],
  );
  return { groups, marked, matches };
}

// If the graph goes away while it has the focus, the focus moves to the main part of the page, and Tab continues from
// there.
function useFocusGoesOn(box: { current: HTMLElement | null }): void {
  useEffect(
    () => () => {
      if (box.current !== document.activeElement) return;
      queueMicrotask(() => {
        if (document.activeElement === document.body) document.getElementById('main')?.focus({ preventScroll: true });
      });
    },
    [],
  );
}

// What clicks, keys and buttons do to the graph.
function movesOf(p: FlameProps, v: FlameView, found: Found) {
  const { tree, scroller, view, size, zoom, frame, range, setRange } = v;
  const select = (node: number) => {
    p.onFrame(addressOf(tree, node));
    const y = rowTop(tree, { ...view, top: 0 }, tree.depth[node]);
    const box = scroller.current!;
    if (y < box.scrollTop) box.scrollTop = y;
    if (y + ROW > box.scrollTop + box.clientHeight) box.scrollTop = y + ROW - box.clientHeight;
  };
  const activate = (node: number) => {
    if (isFold(tree, node)) {
      if (p.onOpenFold) p.onOpenFold(tree.parent[node]);
      else select(node);
      return;
    }
    const address = addressOf(tree, node);
    // Already zoomed to it, but moved away since.
    if (node === zoom) setRange(rangeOf(tree, node));
    p.onZoom(node === 0 ? '' : address, address);
  };
  const step = (by: 1 | -1) => {
    if (!found || found.first.length === 0) return;
    const next = nextMatch(found.first, frame, by);
    select(next);
    setRange(broughtIntoView(tree, range, next, size.width));
  };
  return { select, activate, step };
}

// What can be done with a frame.
function contextOf(
  p: FlameProps,
  node: number,
  onZoom: (node: number) => void,
  onLens?: (step: string, node: number) => void,
): FrameContext {
  return {
    tree: p.tree,
    node,
    about: p.about,
    onZoom,
    onQuery: p.onQuery,
    onLens: onLens && ((change) => onLens(change, node)),
    part: p.name !== undefined,
    onOpenFold: p.onOpenFold && ((n) => p.onOpenFold!(p.tree.parent[n])),
    links: p.links,
    noLinks: p.noLinks,
  };
}

// The menu of a frame. It closes when the tree changes.
function useMenu(
  { tree, scroller, base, size, view }: FlameView,
  setHover: (h: null) => void,
  select: (node: number) => void,
) {
  const [menu, setMenu] = useState<(MenuPlace & { tree: Tree }) | null>(null);
  const showMenu = (node: number, x: number, y: number) => {
    setHover(null);
    setMenu({ tree, node, x, y });
  };
  // Opened by key: scroll to the frame and open the menu below it.
  const openMenu = (node: number) => {
    select(node);
    const area = base.current!.getBoundingClientRect();
    const at = boxOf(tree, { ...view, top: scroller.current!.scrollTop }, node);
    const x = Math.max(0, Math.min(at.x + Math.min(Math.max(at.w, 0) / 2, 40), size.width));
    showMenu(node, area.left + x, area.top + at.y + ROW);
  };
  return { menu, setMenu, showMenu, openMenu };
}

// The keys that work in this graph.
function keysOf(p: FlameProps) {
  const has = { lens: p.onLens, path: !p.name && p.onLens, links: p.links ?? p.noLinks, flip: p.onFlip };
  return KEYS.filter(([, , needs]) => !needs || has[needs]);
}
