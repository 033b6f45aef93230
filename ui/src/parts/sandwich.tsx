// One function over all its call sites: callers above, callees below. The server adds it up from the whole tree, not
// from the pruned one.
import { useMemo } from 'preact/hooks';
import type { About } from '../core/about';
import { getFlame } from '../core/api';
import { buildTree } from '../core/tree';
import type { FrameLink } from './actions';
import { FlameGraph } from './flame';
import { functionHeading } from './heading';
import { Lines } from './lines';
import { Answer, QueryState, useQuery } from './query';
import { said } from '../core/settings';
import { useSearchedFlame } from './searched';

type Asked = Record<string, string>;
interface SideState {
  zoom: string;
  frame: string;
}

export interface SandwichProps {
  asked: Asked;
  about: About;
  fn: string;
  mod: string | null;
  search: string;
  up: SideState;
  down: SideState;
  onUp: (s: SideState, zoomed: boolean) => void;
  onDown: (s: SideState, zoomed: boolean) => void;
  onSearch: (text: string, typed?: boolean) => void;
  onLens: (step: string) => void;
  links: FrameLink[];
}

export function Sandwich(p: SandwichProps) {
  if (p.fn === '') return <p class="note">Choose a function: in the table, or a frame's “Callers and callees”.</p>;
  return (
    <>
      {functionHeading(p.fn, p.mod)}
      <Side {...p} side="callers" state={p.up} onState={p.onUp} />
      <Side {...p} side="callees" state={p.down} onState={p.onDown} />
      <Lines asked={p.asked} fn={p.fn} mod={p.mod} />
    </>
  );
}

interface SideProps extends SandwichProps {
  side: 'callers' | 'callees';
  state: SideState;
  onState: (s: SideState, zoomed: boolean) => void;
}

function Side({ asked, about, fn, mod, side, state, search, onState, onSearch, onLens, links }: SideProps) {
  const { zoom, frame } = state;
  const flame = useQuery(JSON.stringify([side, fn, mod, asked]), (s) =>
    getFlame('flame', { ...asked, function: fn, module: mod ?? undefined, side }, s),
  );
  const { columns, searched } = useSearchedFlame(
    flame.data,
    'flame',
    { ...asked, function: fn, module: mod ?? undefined, side },
    search,
  );
  const tree = useMemo(() => columns && buildTree(columns), [columns]);
  return (
    <section aria-label={side === 'callers' ? 'Callers' : 'Callees'}>
      <h3>{side === 'callers' ? 'Who calls it' : 'What it calls'}</h3>
      <QueryState query={flame} what={side} />
      {flame.data?.meta.hint && <p class="note">{said(flame.data.meta.hint)}</p>}
      {tree && !flame.data?.meta.hint && (
        <Answer query={flame}>
          <FlameGraph
            name={side}
            tree={tree}
            about={{ ...about, title: `${about.title}: ${side} of ${fn}` }}
            zoom={zoom}
            frame={frame}
            query={search}
            searched={searched}
            flip={side === 'callers'}
            onZoom={(z, f) => onState({ zoom: z, frame: f }, true)}
            onFrame={(f) => onState({ zoom, frame: f }, false)}
            onQuery={onSearch}
            onLens={onLens}
            links={links}
          />
        </Answer>
      )}
    </section>
  );
}
