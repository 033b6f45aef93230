// Handles the keys of a flame graph. flame_keys.ts says where a key leads, actions.ts what can be done with a frame.
import { plain } from '../core/keys';
import { undo } from '../core/location';
import { act, actionOf, type FrameContext } from './actions';
import { moveOf, type Move } from './flame_keys';
import { scaled } from './flame_range';
import type { FlameView } from './flame_view';
import { findKey } from './search_box';
import { announce } from './shell';

export interface FlameKeyProps {
  view: FlameView;
  input: HTMLInputElement | null; // of the search
  context: (node: number) => FrameContext;
  hasLens: boolean;
  select: (node: number) => void;
  activate: (node: number) => void;
  step: (by: 1 | -1) => void;
  openMenu: (node: number) => void;
  acts: Record<'search' | 'flip' | 'invert' | 'own' | 'help', () => void>;
}

const ACTS_ON_A_FRAME = 'fhmcdrCFM';

export function onFlameKey(e: KeyboardEvent, p: FlameKeyProps): void {
  if (findKey(e, p.input) || !plain(e)) return;
  const node = Math.max(p.view.frame, 0);
  const done = (): boolean => {
    if (e.key === 'ContextMenu' || (e.key === 'F10' && e.shiftKey)) {
      p.openMenu(node);
      return true;
    }
    const action = e.key.length === 1 ? actionOf(e.key, p.context(node)) : undefined;
    if (action) {
      act(action);
      return true;
    }
    if (p.hasLens && p.view.frame <= 0 && ACTS_ON_A_FRAME.includes(e.key)) {
      announce('Select a frame first: the arrow keys walk.');
      return true;
    }
    const move = moveOf(p.view.tree, node, e.key, p.view.flip);
    if (move) go(move, p);
    return move !== null;
  };
  if (done()) e.preventDefault();
}

function go(move: Move, p: FlameKeyProps): void {
  const { tree, frame, range, setRange, zoom } = p.view;
  if ('select' in move) p.select(move.select);
  else if ('zoom' in move) p.activate(move.zoom);
  else if ('step' in move) p.step(move.step);
  else if ('scale' in move) {
    const centre = frame >= 0 ? tree.start[frame] + tree.width[frame] / 2 : (range[0] + range[1]) / 2;
    setRange(scaled(tree, range, move.scale, centre));
  } else if (move.act !== 'back') p.acts[move.act]();
  else if (!undo() && zoom !== 0) p.activate(0);
}
