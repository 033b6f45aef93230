// "?" lists the keys on every page. While a flame graph has the focus, its own list opens instead.
import { useEffect, useRef, useState } from 'preact/hooks';
import { followUndoKeys, onPageKey, plain } from '../core/keys';
import { letters } from '../core/settings';
import { TIME_KEYS } from '../core/time_keys';
import { KeyList } from './key_list';

const EVERYWHERE: [string, string][] = [
  ['Ctrl K', 'jump to a page or a service'],
  ['?', 'this list'],
  ['Tab', 'to the next control, graph or table'],
  ['Esc', 'close what is open'],
  ['Ctrl Z, Ctrl Shift Z', 'undo and redo a step on this page (zoom, lens, view)'],
  ['Arrows', 'walk in a call tree, a waterfall, a source, a timeline or a heat map'],
  ['Ctrl F', 'inside a graph, a call tree or a table: its search'],
  ['Ctrl + drag', 'on a timeline: the baseline of a diff'],
  ['1 – 7', 'views of a service'],
  ['[ ]', 'a service: the time window before, after'],
  ['x', 'a diff: swap A and B'],
  ['n, N', 'next, previous hot line of a source'],
];

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [more, setMore] = useState<typeof import('./flame_keys') | null>(null);
  const show = () => {
    if (!dialog.current?.open) dialog.current?.showModal();
    // This list is part of the graph's code; if it cannot be loaded, the short list stays.
    void import('./flame_keys').then(setMore, () => setMore(null));
  };
  useEffect(followUndoKeys, []);
  useEffect(
    () =>
      onPageKey((e) => {
        if (e.key !== '?' || !plain(e)) return false;
        show();
        return true;
      }),
    [],
  );
  return (
    <>
      <button type="button" aria-label="Keys (?)" onClick={show}>
        <kbd>?</kbd>
      </button>
      <dialog
        ref={dialog}
        class="palette help"
        aria-label="Keys"
        onClick={(e) => {
          if (e.target === dialog.current) dialog.current?.close();
        }}
      >
        <div class="toolbar">
          <h2>Keys</h2>
          <span class="grow" />
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </div>
        <label>
          <input
            type="checkbox"
            checked={letters.value === 'on'}
            onChange={(e) => {
              letters.value = e.currentTarget.checked ? 'on' : 'off';
            }}
          />{' '}
          Keys of a single character work (letters, digits, signs)
        </label>
        <KeyList keys={EVERYWHERE} />
        <h3>On a timeline, a waterfall or a heat map</h3>
        <KeyList keys={TIME_KEYS} />
        {more && (
          <>
            <h3>In a flame graph</h3>
            <KeyList keys={more.KEYS} />
            <h3>In a call tree</h3>
            <KeyList keys={more.TREE_KEYS} />
          </>
        )}
      </dialog>
    </>
  );
}
