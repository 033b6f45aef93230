// Keys of a page as a whole, beside those of what has the focus.
import { undo } from './location';
import { muted } from './settings';

const typing = (e: Event) => (e.target as Element | null)?.closest?.('input, select, textarea, dialog');

// Without modifiers (but the one some keyboards need for brackets), and not one that somebody switched off.
export const plain = (e: KeyboardEvent) => !e.metaKey && (e.getModifierState('AltGraph') || (!e.ctrlKey && !e.altKey)) && !muted(e);

// Not while somebody types, nor where something with the focus took it. `act` says whether it was one of its keys.
export function onPageKey(act: (e: KeyboardEvent) => boolean): () => void {
  const onKey = (e: KeyboardEvent) => { if (!e.defaultPrevented && !typing(e) && act(e)) e.preventDefault(); };
  addEventListener('keydown', onKey);
  return () => removeEventListener('keydown', onKey);
}

export const followUndoKeys = () => onPageKey((e) => {
  if (!(e.ctrlKey || e.metaKey) || e.altKey || e.key.toLowerCase() !== 'z') return false;
  if (e.shiftKey) history.forward(); else undo();
  return true;
});
