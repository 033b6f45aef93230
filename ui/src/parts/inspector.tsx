// Everything about the selected frame, to the right of the picture: numbers, callers and callees, what the page knows
// of the function, actions with their keys. Its width can be changed; on phones it is a sheet at the bottom.
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { formatMany, formatShare } from '../core/format';
import { inspectorWidth } from '../core/settings';
import type { FlameFunction } from '../core/flame';
import { childrenOf, functionOf, isFold, type Tree } from '../core/tree';
import { fitName } from '../core/names';
import { safe } from '../draw/flame';
import { actionsOf, type Action, type FrameContext } from './actions';
import { changeOf, nameOf, numbersOf, selfOf, testedText } from './describe';

// What a page knows of a function beside the picture.
export type Details = (f: FlameFunction) => ComponentChildren;

export interface InspectorProps extends FrameContext {
  onClose: () => void;
  onSelect?: (node: number) => void;
  details?: Details;
}

export function Inspector(p: InspectorProps) {
  const { tree, node } = p;
  const name = nameOf(tree, node);
  const box = useRef<HTMLElement>(null);
  const f = functionOf(tree, node);
  return (
    <>
      <Divider box={box} />
      <aside
        ref={box}
        class="inspector"
        aria-label="Selected frame"
        style={{ '--inspector': `${inspectorWidth.value}px` }}
      >
        <div class="inspector-head">
          <h2>
            <bdi>{name.length > 400 ? name.slice(0, 400) + '…' : name}</bdi>
          </h2>
          <button type="button" class="quiet" onClick={p.onClose} aria-label="Close details">
            ✕
          </button>
        </div>
        <Where tree={tree} node={node} />
        <Numbers tree={tree} node={node} />
        {node > 0 && !isFold(tree, node) && p.details?.(f)}
        <Neighbours {...p} />
        <Actions context={p} />
      </aside>
    </>
  );
}

const [LEAST, MOST] = [240, 900];

// Between picture and inspector: drag it, or move it by the arrow keys.
function Divider({ box }: { box: { current: HTMLElement | null } }) {
  const set = (width: number) => {
    inspectorWidth.value = Math.round(Math.max(LEAST, Math.min(width, MOST, innerWidth * 0.7)));
  };
  return (
    <div
      class="divider"
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the details"
      aria-valuenow={inspectorWidth.value}
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      tabIndex={0}
      onKeyDown={(e) => {
        const by = e.key === 'ArrowLeft' ? 24 : e.key === 'ArrowRight' ? -24 : 0;
        if (by === 0) return;
        e.preventDefault();
        set(inspectorWidth.value + by);
      }}
      onPointerDown={(e) => e.currentTarget.setPointerCapture(e.pointerId)}
      onPointerMove={(e) => {
        if (e.buttons === 1) set(box.current!.getBoundingClientRect().right - e.clientX);
      }}
    />
  );
}

// These as buttons, the others behind one.
const USUAL = [
  'Open the fold',
  'Focus',
  'Hide',
  'Drop',
  'Callers and callees',
  'Source',
  'Traces with it',
  'Open in diff',
  'Copy for incident',
];

function Actions({ context }: { context: FrameContext }) {
  const all = actionsOf(context);
  const usual = all.filter((a) => USUAL.includes(a.text));
  const others = all.filter((a) => !usual.includes(a));
  return (
    <>
      <p class="actions">{usual.map(actionOf)}</p>
      {others.length > 0 && (
        <details class="more-actions">
          <summary>More actions</summary>
          <p class="actions">{others.map(actionOf)}</p>
        </details>
      )}
    </>
  );
}

function actionOf(a: Action) {
  const key = a.key && a.key !== 'Enter' && <kbd aria-hidden="true">{a.key}</kbd>;
  if (a.why)
    return (
      <small key={a.text}>
        {a.text}: {a.why}
      </small>
    );
  if (a.href)
    return (
      <a key={a.text} class="button" href={a.href}>
        {a.text}
        {key}
      </a>
    );
  return (
    <button key={a.text} type="button" title={a.help} onClick={a.run}>
      {a.text}
      {key}
    </button>
  );
}

interface FrameProps {
  tree: Tree;
  node: number;
}

// Module, file and line.
function Where({ tree, node }: FrameProps) {
  const f = functionOf(tree, node);
  return (
    <p class="where">
      {f.module && (
        <>
          <span>{f.module}</span> ·{' '}
        </>
      )}
      {f.file ? (
        <span>
          {f.file}
          {f.line > 0 ? `:${f.line}` : ''}
        </span>
      ) : isFold(tree, node) ? (
        <span>folded, because each is small</span>
      ) : (
        <span>no source file known</span>
      )}
      {f.kind === 2 && ' · inlined'}
      {f.kind === 1 && ' · kernel'}
    </p>
  );
}

function Numbers({ tree, node }: FrameProps) {
  const parent = tree.parent[node];
  const own = selfOf(tree, node);
  const { inverted } = tree.meta;
  const calls = childrenOf(tree, node).length;
  const tested = testedText(tree, node);
  return (
    <dl>
      <div>
        <dt>Total</dt>
        <dd>{tree.totalBefore ? changeOf(tree, node) : numbersOf(tree, node)}</dd>
      </div>
      {own !== '' && (
        <div>
          <dt>Self</dt>
          <dd>{own}</dd>
        </div>
      )}
      {tested !== '' && (
        <div>
          <dt>Change of the function</dt>
          <dd>{tested}</dd>
        </div>
      )}
      {parent > 0 && (
        <div>
          <dt>{inverted ? 'Of what it called' : 'Of its caller'}</dt>
          <dd>{formatShare(tree.total[node], tree.total[parent])}</dd>
        </div>
      )}
      <div>
        <dt>{inverted ? 'Called by' : 'Calls'}</dt>
        <dd>{formatMany(calls, 'function')}</dd>
      </div>
    </dl>
  );
}

const CALLEES = 4;

// The caller and the largest callees in the picture; a click selects them.
function Neighbours({ tree, node, onSelect }: InspectorProps) {
  const parent = tree.parent[node];
  const below = childrenOf(tree, node)
    .filter((c) => !isFold(tree, c))
    .sort((a, b) => tree.width[b] - tree.width[a])
    .slice(0, CALLEES);
  if (!onSelect || (parent <= 0 && below.length === 0)) return null;
  const line = (n: number, sign: string) => (
    <li key={n}>
      <button type="button" class="link" onClick={() => onSelect(n)}>
        {sign} <bdi>{safe(fitName(nameOf(tree, n), 38))}</bdi>
      </button>{' '}
      <small class="figures">{formatShare(tree.total[n], tree.total[0])}</small>
    </li>
  );
  const { inverted } = tree.meta;
  return (
    <section aria-label="Callers and callees">
      <ul class="neighbours">
        {parent > 0 && line(parent, inverted ? '↓' : '↑')}
        {below.map((n) => line(n, inverted ? '↑' : '↓'))}
      </ul>
    </section>
  );
}
