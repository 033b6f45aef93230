// Ctrl+K: jump to a page, a service, an endpoint or other span, a version or a function (by part of its name), or a
// trace (by id), and switch between plain text and regular expression. The browser's own dialog keeps the focus inside.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
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
  withoutOwn,
  type ServiceState,
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
  useLayoutEffect(() => {
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

interface Found {
  name: string;
  kind: string;
  href: string;
  also?: string; // what else is searched: the name in full
}

const FEW = 5; // services that functions are looked for in, where none is shown
const LEAST = 2; // letters, for questions that read profiles

// Functions of the service that is shown, else of those that use most CPU.
function useFunctions(search: string) {
  const here = /^\/s\//.test(url.value.pathname) ? decodeService(url.value) : null;
  const long = search.length >= LEAST;
  const busiest = useQuery(here || !long ? null : 'palette busiest', (s) =>
    getJson('overview', { since: '1h', limit: String(FEW) }, s),
  );
  const time = { since: '1h', from: null, to: null };
  const all = here
    ? [here]
    : (busiest.data?.services ?? []).filter((s) => s.profiles > 0).map((s) => newService(s.name, time));
  const of = (state: ServiceState, signal: AbortSignal) =>
    getJson(
      'top',
      {
        query: selectorOf(state.service, state.q),
        type: state.type,
        ...timeOf(state),
        search: escaped(search),
        limit: '15',
        sort: 'total',
      },
      signal,
    );
  const key = long && all.length > 0 ? JSON.stringify(['palette functions', search, all.map(encodeService)]) : null;
  return useQuery(key, async (signal): Promise<Found[]> => {
    const answers = await Promise.all(all.map((state) => of(state, signal)));
    return answers.flatMap((answer, i) =>
      answer.rows.map((f) => ({
        name: shortName(f.name),
        also: f.name,
        kind: `function of ${all[i].service}`,
        // Everything: a library's function has no frame of its own among own code.
        href: encodeService({
          ...all[i],
          lens: withoutOwn(all[i].lens),
          view: 'flame',
          search: exactly(f.name),
          zoom: '',
          frame: '',
        }),
      })),
    );
  });
}

// Versions that ran in the last day, with their services.
function useVersions(search: string) {
  return useQuery(search.length >= LEAST ? 'palette versions' + search : null, async (s): Promise<Found[]> => {
    const query = `{service.version=~"(?i).*${escaped(search).replace(/[\\"]/g, '\\$&')}.*"}`;
    const asked = { query, since: '1d', by: ['service_name', 'service.version'], limit: '15' };
    const answer = await getJson('series', asked, s);
    return answer.groups.flatMap(({ labels }) => {
      const [service, version] = [labels.service_name, labels['service.version']];
      if (!service || !version) return [];
      const state = newService(service, { since: '1d', from: null, to: null });
      const q = `service.version="${version.replace(/[\\"]/g, '\\$&')}"`;
      return [{ name: version, kind: `version of ${service}`, href: encodeService({ ...state, q }) }];
    });
  });
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
  const functions = useFunctions(search);
  const versions = useVersions(search);
  const wanted = text.trim().toLowerCase();
  const asPlain = url.value.searchParams.get('plain') !== '1';
  const choices: Found[] = [
    ...traceIn(text),
    ...(services.data?.services ?? []).map((s) => ({
      name: s.name,
      kind: 'service',
      href: encodeService(newService(s.name, time)),
    })),
    ...(functions.data ?? []),
    ...(versions.data ?? []),
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
  ];
  const all = choices.filter((c) => c.kind === 'trace' || `${c.name} ${c.also ?? ''}`.toLowerCase().includes(wanted));
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
        aria-label="Page, service, span, function, version or trace id"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[at] ? `palette-${at}` : undefined}
        placeholder="page, service, span, function, version or trace id"
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
