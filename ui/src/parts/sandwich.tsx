// One function from all its call sites together: who calls it on top, what it calls below. Added up by the server from the
// whole tree, never from the pruned one.
import { useMemo } from 'preact/hooks';
import type { About } from '../core/about';
import { getFlame } from '../core/api';
import type { FlameFunction } from '../core/flame';
import { buildTree, functionOf, isFold } from '../core/tree';
import { nodeAt } from '../core/path';
import { safe } from '../draw/flame';
import { FlameGraph } from './flame';
import { functionHeading } from './heading';
import { Lines } from './lines';
import { Answer, QueryState, useQuery } from './query';
import { said } from '../core/settings';
import { useSearchedFlame } from './searched';

type Asked = Record<string, string>;
interface SideState { zoom: string; frame: string }

export interface SandwichProps {
  asked: Asked; about: About; fn: string; mod: string | null; search: string;
  up: SideState; down: SideState;
  onUp: (s: SideState, zoomed: boolean) => void; onDown: (s: SideState, zoomed: boolean) => void;
  onSearch: (text: string) => void; onPick: (f: FlameFunction) => void;
}

export function Sandwich(p: SandwichProps) {
  if (p.fn === '') return <p class="note">Choose a function: in the table, or a frame's “Callers and callees”.</p>;
  return (
    <>
      {functionHeading(p.fn, p.mod)}
      <Side asked={p.asked} about={p.about} fn={p.fn} mod={p.mod} side="callers" state={p.up} onState={p.onUp} search={p.search} onSearch={p.onSearch} onPick={p.onPick} />
      <Side asked={p.asked} about={p.about} fn={p.fn} mod={p.mod} side="callees" state={p.down} onState={p.onDown} search={p.search} onSearch={p.onSearch} onPick={p.onPick} />
      <Lines asked={p.asked} fn={p.fn} mod={p.mod} />
    </>
  );
}

interface SideProps {
  asked: Asked; about: About; fn: string; mod: string | null; side: 'callers' | 'callees'; state: SideState; search: string;
  onState: (s: SideState, zoomed: boolean) => void; onSearch: (text: string) => void; onPick: (f: FlameFunction) => void;
}

function Side({ asked, about, fn, mod, side, state, search, onState, onSearch, onPick }: SideProps) {
  const { zoom, frame } = state;
  const flame = useQuery(JSON.stringify([side, fn, mod, asked]), (s) => getFlame('flame', { ...asked, function: fn, module: mod ?? undefined, side }, s));
  const { columns, searched } = useSearchedFlame(flame.data, 'flame', { ...asked, function: fn, module: mod ?? undefined, side }, search);
  const tree = useMemo(() => columns && buildTree(columns), [columns]);
  const node = tree && frame ? nodeAt(tree, frame) : -1;
  const picked = node > 0 && !isFold(tree!, node) ? functionOf(tree!, node) : null;
  return (
    <section aria-label={side === 'callers' ? 'Callers' : 'Callees'}>
      <div class="toolbar"><h3>{side === 'callers' ? 'Who calls it' : 'What it calls'}</h3>
        {picked && (picked.name !== fn || (mod !== null && picked.module !== mod)) && <button type="button" onClick={() => onPick(picked)}>Sandwich of <bdi>{safe(picked.name).slice(0, 60)}</bdi></button>}
      </div>
      <QueryState query={flame} what={side} />
      {flame.data?.meta.hint && <p class="note">{said(flame.data.meta.hint)}</p>}
      {tree && !flame.data?.meta.hint && (
        <Answer query={flame}><FlameGraph name={side} tree={tree} about={{ ...about, title: `${about.title}: ${side} of ${fn}` }} zoom={zoom} frame={frame} query={search} searched={searched} flip={side === 'callers'}
          onZoom={(z, f) => onState({ zoom: z, frame: f }, true)} onFrame={(f) => onState({ zoom, frame: f }, false)} onQuery={onSearch} /></Answer>
      )}
    </section>
  );
}
