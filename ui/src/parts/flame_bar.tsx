// The parts around a flame graph: summary and buttons above, the note about a missing frame, the legend below.
import type { RefObject } from 'preact';
import { formatShare } from '../core/format';
import type { Group } from '../core/groups';
import type { Palette } from '../core/palette';
import { shownShare, type Tree } from '../core/tree';
import { shownName } from '../draw/flame';
import { fewSamples, samplesOf, wholeOf } from './describe';
import { Matched, SearchBox, type Found } from './search_box';
import type { Searched } from './searched';

export interface FlameBarProps {
  tree: Tree;
  own?: boolean; // the lens leaves own code only
  query: string;
  found: Found;
  frame: number; // the selected one; -1: none
  searched?: Searched;
  input: RefObject<HTMLInputElement>;
  onQuery: (text: string, typed?: boolean) => void;
  onStep: (by: 1 | -1) => void;
  onReset?: () => void; // if the graph is zoomed
  flip: boolean;
  onFlip?: () => void;
  help: boolean;
  onHelp: () => void;
}

export function FlameBar(p: FlameBarProps) {
  return (
    <div class="flame-bar">
      <Summary tree={p.tree} own={p.own} />
      <span class="grow" />
      <Matched tree={p.tree} found={p.found} searched={p.searched} frame={p.frame} />
      {p.onReset && (
        <button type="button" onClick={p.onReset}>
          Reset zoom
        </button>
      )}
      {p.onFlip && (
        <button type="button" aria-pressed={p.flip} onClick={p.onFlip}>
          Root at bottom
        </button>
      )}
      <button type="button" aria-expanded={p.help} onClick={p.onHelp}>
        Keys
      </button>
      <SearchBox query={p.query} onQuery={p.onQuery} onStep={p.onStep} input={p.input} />
    </div>
  );
}

function Summary({ tree, own }: { tree: Tree; own?: boolean }) {
  const shown = shownShare(tree);
  return (
    <p class="summary" data-testid="summary">
      <strong>{wholeOf(tree)}</strong>
      {tree.meta.averaged ? ' on average' : ''}
      {' · '}
      {samplesOf(tree)} · {(shown * 100).toFixed(shown > 0.9995 ? 0 : 1)} % shown
      {own && ' · what libraries did is charged to own code'}
      {tree.meta.overflow && <span class="warn"> · overflow: the sum exceeds 64 bits, these numbers are wrong</span>}
      {fewSamples(tree) && <span class="warn"> · few samples: shares are rough</span>}
    </p>
  );
}

export const LostFrame = ({ onClear }: { onClear: () => void }) => (
  <p class="note lost" role="status">
    The frame in the address is not drawn here: it is too small or no longer there.{' '}
    <button type="button" onClick={onClear}>
      Remove it from the address
    </button>
  </p>
);

interface ColoursProps {
  tree: Tree;
  groups: Group[];
  marked?: Group;
  palette: Palette;
  onMark?: (name: string) => void;
}

export const Colours = ({ tree, groups, marked, palette, onMark }: ColoursProps) => (
  <p class="legend" role="group" aria-label="Colours">
    {groups.map((g) => (
      <button
        key={g.name}
        type="button"
        aria-pressed={g === marked}
        onClick={() => onMark?.(g === marked ? '' : g.name)}
      >
        <i style={{ background: palette.boxes[g.fill] }} />
        <bdi>{shownName(g.name, 60)}</bdi>&nbsp;<small>{formatShare(g.self, tree.total[0])} self</small>
      </button>
    ))}
  </p>
);
