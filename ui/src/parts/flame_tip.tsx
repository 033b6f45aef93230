// The tooltip: the numbers of the frame under the pointer, or the sum of a run of frames too narrow to draw.
import { formatMany, formatShare } from '../core/format';
import { isFold, type Tree } from '../core/tree';
import type { Hit } from '../draw/flame';
import { nameOf, numbersOf, selfOf, testedText } from './describe';

export function Tooltip({ tree, hover }: { tree: Tree; hover: { hit: Hit; x: number; y: number } }) {
  const { run, node } = hover.hit;
  const left = Math.min(hover.x + 14, innerWidth - 430);
  const style =
    hover.y > innerHeight - 140 ? { left, bottom: innerHeight - hover.y + 12 } : { left, top: hover.y + 18 };
  const own = selfOf(tree, node);
  const tested = testedText(tree, node);
  const f = tree.functions[tree.func[node]];
  return (
    <div class="tip" role="tooltip" style={style}>
      {run ? (
        <>
          <strong>{formatMany(run.count, 'frame')} too narrow to draw</strong>
          <br />
          {formatShare(run.value, tree.total[0])} together · largest:{' '}
          <bdi>{nameOf(tree, run.largest).slice(0, 200)}</bdi>
          <br />
          click to widen
        </>
      ) : (
        <>
          <strong>
            <bdi>{nameOf(tree, node).slice(0, 400)}</bdi>
          </strong>
          <br />
          {numbersOf(tree, node)}
          <br />
          {tree.parent[node] > 0 && !tree.totalBefore && (
            <>
              {formatShare(tree.total[node], tree.total[tree.parent[node]])} of{' '}
              {tree.meta.inverted ? 'what it called' : 'its caller'} ·{' '}
            </>
          )}
          {!isFold(tree, node) && own !== '' && <>self {own}</>}
          {tested && (
            <>
              <br />
              the function: {tested}
            </>
          )}
          {(f.module || f.file) && (
            <>
              <br />
              {[f.module, f.file].filter(Boolean).join(' · ').slice(0, 200)}
            </>
          )}
        </>
      )}
    </div>
  );
}
