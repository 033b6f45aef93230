// Ctrl+K: jump to a page, a service or a span (by part of its name), a function of the service that is shown, or a
// trace (by id), and switch between plain text and regular expression. The browser's own dialog keeps the focus inside.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { getJson } from '../core/api';
import { go, url } from '../core/location';
import { escaped, searchedAs } from '../core/search_text';
import { exactly, shortName } from '../core/names';
import {
  decodeService,
  encodeService,
  encodeSlow,
  encodeTraces,
  newService,
  newSlow,
  newTraces,
  selectorOf,
  timeOf,
  traceIn,
} from '../core/state';
import { moreText } from '../core/many';
import { useSettled } from './choice';
import { useQuery } from './query';

const SEARCHED = /^\/(s\/|diff|adhoc|traces\/)/; // pages with a graph

export function Palette({ pages }: { pages: [string, string][] }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [open, setOpen] = useState(false);
  const show = () => {
    setOpen(true);
    dialog.current?.showModal();
  };
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'k') {
        e.preventDefault();
        show();
      }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <>
      <button type="button" onClick={show}>
        Jump to…&nbsp;<kbd>Ctrl K</kbd>
      </button>
      <dialog
        ref={dialog}
        class="palette"
        aria-label="Jump to"
        onClose={() => setOpen(false)}
        onClick={(e) => {
          if (e.target === dialog.current) dialog.current?.close();
        }}
      >
        {open && <Choices pages={pages} close={() => dialog.current?.close()} />}
      </dialog>
    </>
  );
}

function Choices({ pages, close }: { pages: [string, string][]; close: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.focus(), []); // before the next key press, so that no letter is lost
  const search = useSettled(text.trim().slice(0, 200));
  const services = useQuery('palette' + search, (s) => getJson('services', { since: '7d', search, limit: '50' }, s));
  const time = { since: '1h', from: null, to: null };
  const spans = useQuery(search === '' ? null : 'palette spans' + search, (s) =>
    getJson('span-names', { since: '1h', search, limit: '15' }, s),
  );
  // Functions of the service that is shown.
  const here = /^\/s\//.test(url.value.pathname) ? decodeService(url.value) : null;
  const functions = useQuery(here && search.length > 1 ? 'palette functions' + search + url.value.href : null, (s) =>
    getJson(
      'top',
      {
        query: selectorOf(here!.service, here!.q),
        type: here!.type,
        ...timeOf(here!),
        search: escaped(search),
        limit: '15',
        sort: 'total',
      },
      s,
    ),
  );
  const wanted = text.trim().toLowerCase();
  const asPlain = url.value.searchParams.get('plain') !== '1';
  const all = [
    ...traceIn(text),
    ...(services.data?.services ?? []).map((s) => ({
      name: s.name,
      kind: 'service',
      href: encodeService(newService(s.name, time)),
    })),
    ...(functions.data?.rows ?? []).map((f) => ({
      name: shortName(f.name),
      kind: 'function',
      href: encodeService({ ...here!, view: 'flame', search: exactly(f.name), zoom: '', frame: '' }),
    })),
    ...(spans.data?.spans ?? []).flatMap((n) => [
      {
        name: n.name,
        kind: `span of ${n.service}`,
        href: encodeTraces({ ...newTraces(n.service, time), name: n.name }),
      },
      {
        name: `${n.name}: slow versus typical`,
        kind: n.service,
        href: encodeSlow({ ...newSlow(time), service: n.service, name: n.name }),
      },
    ]),
    ...pages.map(([href, name]) => ({ name, kind: 'page', href })),
    ...(SEARCHED.test(url.value.pathname)
      ? [
          {
            name: asPlain ? 'Find plain text' : 'Find by regular expression',
            kind: 'switch',
            href: searchedAs(url.value, asPlain),
          },
        ]
      : []),
  ].filter((c) => c.kind === 'trace' || c.name.toLowerCase().includes(wanted));
  // Names that start with the text come before names that contain it.
  const found = all
    .sort((a, b) => Number(b.name.toLowerCase().startsWith(wanted)) - Number(a.name.toLowerCase().startsWith(wanted)))
    .slice(0, 50);
  const choose = (href: string) => {
    close();
    go(href);
  };
  const onKey = (e: KeyboardEvent) => {
    if (e.key === 'ArrowDown') setAt(Math.min(at + 1, found.length - 1));
    else if (e.key === 'ArrowUp') setAt(Math.max(at - 1, 0));
    else if (e.key === 'Enter' && found[at]) choose(found[at].href);
    else return;
    e.preventDefault();
  };
  return (
    <>
      <input
        ref={input}
        role="combobox"
        aria-label="Page, service, span, function or trace id"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[at] ? `palette-${at}` : undefined}
        placeholder="page, service, span, function or trace id"
        value={text}
        onInput={(e) => {
          setText(e.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <ul id="palette-list" role="listbox" aria-label="Found">
        {found.map((c, i) => (
          <li key={c.href} id={`palette-${i}`} role="option" aria-selected={i === at} onClick={() => choose(c.href)}>
            <bdi>{c.name}</bdi> <small>{c.kind}</small>
          </li>
        ))}
      </ul>
      {found.length === 0 && !services.loading && search === text.trim() && (
        <p class="note" role="status">
          Nothing has that name.
        </p>
      )}
      {services.data && services.data.total > services.data.services.length && (
        <p class="note" role="status">
          {moreText(services.data.total, services.data.services.length, 'type more of the name')}
        </p>
      )}
    </>
  );
}
