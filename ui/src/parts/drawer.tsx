// The drawer: everything about the selected frame, and what can be done with it. Each action is a plain button, so
// that a mouse, a keyboard and a screen reader find the same ones.
import type { About } from '../core/about';
import type { FlameFunction } from '../core/flame';
import { formatMany, formatShare } from '../core/format';
import { childrenOf, functionOf, isFold, type Tree } from '../core/tree';
import { changeOf, incidentText, nameOf, numbersOf, selfOf, stackText } from './describe';
import { copyText } from './shell';
import type { LensOp } from './flame';

// Where one can go from a frame; `key` does the same while the graph has the focus.
export interface FrameLink { text: string; key: string; href: (f: FlameFunction) => string }

export interface DrawerProps {
  tree: Tree; node: number; about: About;
  onZoom: (node: number) => void; onClose: () => void;
  onLens?: (op: LensOp, name: string) => void;
  onOpenFold?: (node: number) => void;
  links?: FrameLink[];
  noLinks?: string;
}

const LENSES: [LensOp, string, string][] = [
  ['focus', 'Focus', 'only stacks with this function; it becomes the top'],
  ['hide', 'Hide', 'take it out; its callers get what it did'],
  ['merge', 'Merge', 'neighbouring calls of it become one'],
  ['collapse', 'Collapse', 'it swallows everything it called'],
  ['drop', 'Drop', 'leave out every stack with it'],
];

export function Drawer(p: DrawerProps) {
  const { tree, node } = p;
  const f = functionOf(tree, node);
  const parent = tree.parent[node];
  const fold = isFold(tree, node);
  const name = nameOf(tree, node);
  const calls = childrenOf(tree, node).length;
  return (
    <section class="drawer" aria-label="Selected frame">
      <div class="drawer-head">
        <h2><bdi>{name.length > 400 ? name.slice(0, 400) + '…' : name}</bdi></h2>
        <button type="button" onClick={p.onClose} aria-label="Close details">✕</button>
      </div>
      <p class="where">
        {f.module && <><span>{f.module}</span> · </>}
        {f.file ? <span>{f.file}{f.line > 0 ? `:${f.line}` : ''}</span> : fold ? <span>folded, because each is small</span> : <span>no source file known</span>}
        {f.kind === 2 && ' · inlined'}{f.kind === 1 && ' · kernel'}
      </p>
      <dl>
        <div><dt>Total</dt><dd>{tree.totalBefore ? changeOf(tree, node) : numbersOf(tree, node)}</dd></div>
        <div><dt>Self</dt><dd>{selfOf(tree, node)}</dd></div>
        {parent > 0 && <div><dt>Of its caller</dt><dd>{formatShare(tree.total[node], tree.total[parent])}</dd></div>}
        <div><dt>Calls</dt><dd>{formatMany(calls, 'function')}</dd></div>
      </dl>
      <p class="actions">
        {node !== 0 && !fold && <button type="button" onClick={() => p.onZoom(node)}>Zoom</button>}
        {fold && p.onOpenFold && <button type="button" onClick={() => p.onOpenFold!(node)}>Open the fold</button>}
        {node !== 0 && !fold && p.onLens && LENSES.map(([op, text, help]) => <button key={op} type="button" title={help} onClick={() => p.onLens!(op, f.name)}>{text}</button>)}
        <button type="button" onClick={() => copyText(f.name)}>Copy name</button>
        <button type="button" onClick={() => copyText(stackText(tree, node))}>Copy stack</button>
        <button type="button" onClick={() => copyText(incidentText(tree, node, p.about))}>Copy for incident</button>
        {node !== 0 && !fold && p.links?.map((l) => <a key={l.text} class="button" href={l.href(f)}>{l.text}</a>)}
        {node !== 0 && !fold && p.noLinks && <small>Callers, source, traces: {p.noLinks}</small>}
      </p>
    </section>
  );
}
