// One function from all its call sites together: who calls it on top, what it calls below. Added up by the server from the
// whole tree, never from the pruned one.
import { useMemo, useState } from 'preact/hooks';
import { getFlame } from '../core/api';
import { buildTree, functionOf } from '../core/tree';
import { nodeAt } from '../core/path';
import { safe } from '../draw/flame';
import { FlameGraph } from './flame';
import { Lines } from './lines';
import { QueryState, useQuery } from './query';

type Asked = Record<string, string>;

export function Sandwich({ asked, fn, onPick }: { asked: Asked; fn: string; onPick: (fn: string) => void }) {
  if (fn === '') return <p class="note">Choose a function: in the table, or a frame's “Callers and callees”.</p>;
  return (
    <>
      <h2 class="sandwich-name">Function <bdi><code>{safe(fn).slice(0, 300)}</code></bdi></h2>
      <Side asked={asked} fn={fn} side="callers" onPick={onPick} />
      <Side asked={asked} fn={fn} side="callees" onPick={onPick} />
      <Lines asked={asked} fn={fn} />
    </>
  );
}

function Side({ asked, fn, side, onPick }: { asked: Asked; fn: string; side: 'callers' | 'callees'; onPick: (fn: string) => void }) {
  const [zoom, setZoom] = useState('');
  const [frame, setFrame] = useState('');
  const [query, setQuery] = useState('');
  const flame = useQuery(JSON.stringify([side, fn, asked]), (s) => getFlame('flame', { ...asked, function: fn, side }, s));
  const tree = useMemo(() => flame.data && buildTree(flame.data), [flame.data]);
  const picked = () => {
    const node = tree && frame ? nodeAt(tree, frame) : -1;
    return node > 0 ? functionOf(tree!, node).name : '';
  };
  return (
    <section aria-label={side === 'callers' ? 'Callers' : 'Callees'}>
      <div class="toolbar"><h3>{side === 'callers' ? 'Who calls it' : 'What it calls'}</h3>
        {picked() !== '' && picked() !== fn && <button type="button" onClick={() => onPick(picked())}>Sandwich of <bdi>{safe(picked()).slice(0, 60)}</bdi></button>}
      </div>
      <QueryState query={flame} what={side} />
      {flame.data?.meta.hint && <p class="note">{flame.data.meta.hint}</p>}
      {tree && !flame.data?.meta.hint && (
        <FlameGraph name={side} tree={tree} title={`${side} of ${fn}`} zoom={zoom} frame={frame} query={query} flip={side === 'callers'}
          onZoom={(z, f) => { setZoom(z); setFrame(f); }} onFrame={setFrame} onQuery={setQuery} />
      )}
    </section>
  );
}
