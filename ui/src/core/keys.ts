// Keys for the whole page, in addition to those of the focused element.
import { redo, undo } from './location';
import { muted } from './settings';

const typing = (e: Event) => (e.target as Element | null)?.closest?.('input, select, textarea, dialog');

// No modifiers (except the one that some keyboards need for brackets), and not a key the reader switched off.
export const plain = (e: KeyboardEvent) =>
  !e.metaKey && (e.getModifierState('AltGraph') || (!e.ctrlKey && !e.altKey)) && !muted(e);

// Not while the reader types, and not if the focused element handled the key. `act` returns whether it used the key.
// `inside`: a field in which the key works anyway.
export function onPageKey(act: (e: KeyboardEvent) => boolean, inside = (_: Element) => false): () => void {
  const onKey = (e: KeyboardEvent) => {
    const field = typing(e);
    if (!e.defaultPrevented && (!field || inside(field)) && act(e)) e.preventDefault();
  };
  addEventListener('keydown', onKey);
  return () => removeEventListener('keydown', onKey);
}

// An empty field has nothing of its own to undo.
const emptyLens = (field: Element) =>
  field instanceof HTMLInputElement && field.value === '' && field.closest('form.chips') !== null;

export const followUndoKeys = () =>
  onPageKey((e) => {
    if (!(e.ctrlKey || e.metaKey) || e.altKey || e.key.toLowerCase() !== 'z') return false;
    if (e.shiftKey) redo();
    else undo();
    return true;
  }, emptyLens);
