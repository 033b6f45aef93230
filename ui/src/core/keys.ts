// Keys of a page as a whole, beside those of what has the focus.
import { redo, undo } from './location';
import { muted } from './settings';

const typing = (e: Event) => (e.target as Element | null)?.closest?.('input, select, textarea, dialog');

// Without modifiers (but the one some keyboards need for brackets), and not one that somebody switched off.
export const plain = (e: KeyboardEvent) => !e.metaKey && (e.getModifierState('AltGraph') || (!e.ctrlKey && !e.altKey)) && !muted(e);

// Not while somebody types, nor where something with the focus took it. `act` says whether it was one of its keys.
// `inside`: a field in which it acts all the same.
export function onPageKey(act: (e: KeyboardEvent) => boolean, inside = (_: Element) => false): () => void {
  const onKey = (e: KeyboardEvent) => {
    const field = typing(e);
    if (!e.defaultPrevented && (!field || inside(field)) && act(e)) e.preventDefault();
  };
  addEventListener('keydown', onKey);
  return () => removeEventListener('keydown', onKey);
}

// Where nothing is typed there is nothing of its own to take back.
const emptyLens = (field: Element) => field instanceof HTMLInputElement && field.value === '' && field.closest('form.chips') !== null;

export const followUndoKeys = () => onPageKey((e) => {
  if (!(e.ctrlKey || e.metaKey) || e.altKey || e.key.toLowerCase() !== 'z') return false;
  if (e.shiftKey) redo(); else undo();
  return true;
}, emptyLens);
