// "?": what the keys do, on every page. While a flame graph has the focus its own list answers instead.
import { useEffect, useRef, useState } from 'preact/hooks';

const EVERYWHERE: [string, string][] = [
  ['Ctrl K', 'jump to a page or a service'], ['?', 'this list'], ['Tab', 'to the next control, graph or table'], ['Esc', 'close what is open'],
  ['Arrows', 'walk in a call tree, a waterfall, a source or a heat map'], ['*', 'open the hot path of a call tree'], ['n, N', 'next, previous line of a source that was seen'],
];

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [graph, setGraph] = useState<[string, string][]>([]);
  const show = () => {
    if (!dialog.current?.open) dialog.current?.showModal();
    // Part of the graph's code: without the server there is the short list.
    void import('./flame_keys').then((m) => setGraph(m.KEYS), () => setGraph([]));
  };
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.key !== '?' || e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || (e.target as Element | null)?.closest?.('input, select, textarea, dialog')) return;
      e.preventDefault();
      show();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const list = (keys: [string, string][]) => <dl class="keys">{keys.map(([key, text]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{text}</dd></div>)}</dl>;
  return (
    <>
      <button type="button" aria-label="Keys (?)" onClick={show}><kbd>?</kbd></button>
      <dialog ref={dialog} class="palette help" aria-label="Keys" onClick={(e) => { if (e.target === dialog.current) dialog.current?.close(); }}>
        <div class="toolbar"><h2>Keys</h2><span class="grow" /><button type="button" onClick={() => dialog.current?.close()}>Close</button></div>
        {list(EVERYWHERE)}
        {graph.length > 0 && <><h3>In a flame graph</h3>{list(graph)}</>}
      </dialog>
    </>
  );
}
