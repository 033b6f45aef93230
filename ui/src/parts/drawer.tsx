// The drawer: everything about the selected frame, and its actions as buttons.
import { formatMany, formatShare } from '../core/format';
import { childrenOf, functionOf, isFold, type Tree } from '../core/tree';
import { actionsOf, type FrameContext } from './actions';
import { changeOf, nameOf, numbersOf, selfOf } from './describe';

export function Drawer(p: FrameContext & { onClose: () => void }) {
  const { tree, node } = p;
  const name = nameOf(tree, node);
  return (
    <section class="drawer" aria-label="Selected frame">
      <div class="drawer-head">
        <h2>
          <bdi>{name.length > 400 ? name.slice(0, 400) + '…' : name}</bdi>
        </h2>
        <button type="button" onClick={p.onClose} aria-label="Close details">
          ✕
        </button>
      </div>
      <Where tree={tree} node={node} />
      <Numbers tree={tree} node={node} />
      <p class="actions">
        {actionsOf(p).map((a) =>
          a.why ? (
            <small key={a.text}>
              {a.text}: {a.why}
            </small>
          ) : a.href ? (
            <a key={a.text} class="button" href={a.href}>
              {a.text}
            </a>
          ) : (
            <button key={a.text} type="button" title={a.help} onClick={a.run}>
              {a.text}
            </button>
          ),
        )}
      </p>
    </section>
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
