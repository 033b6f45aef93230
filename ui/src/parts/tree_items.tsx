// The current frame, its caller, its neighbours and its first callee as real elements for screen readers, since the
// graph itself is a canvas. Updated with every move.
import { childrenOf, type Tree } from '../core/tree';
import { announcementOf } from './describe';

export function TreeItems({ name, tree, node }: { name: string; tree: Tree; node: number }) {
  const parent = tree.parent[node];
  const siblings = parent >= 0 ? childrenOf(tree, parent) : [node];
  const at = siblings.indexOf(node);
  const first = tree.end[node] > node + 1 ? node + 1 : -1;
  const around = [parent, siblings[at - 1], node, siblings[at + 1], first].filter(
    (n): n is number => n !== undefined && n >= 0,
  );
  return (
    <div class="hidden" role="presentation">
      {around.map((n) => (
        <div
          key={n}
          id={`${name}-${n}`}
          role="treeitem"
          aria-level={tree.depth[n] + 1}
          aria-selected={n === node}
          aria-expanded={tree.end[n] > n + 1 ? true : undefined}
          {...(tree.parent[n] === parent
            ? { 'aria-setsize': siblings.length, 'aria-posinset': siblings.indexOf(n) + 1 }
            : {})}
        >
          {announcementOf(tree, n)}
        </div>
      ))}
    </div>
  );
}
