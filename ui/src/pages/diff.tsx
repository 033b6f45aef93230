// Two selections compared: A (before) and B (after). Blue is less, orange is more, always with a sign.
import { useEffect, useState } from 'preact/hooks';
import { aboutDiff, type About } from '../core/about';
import { apiAddress, getFlame, getJson } from '../core/api';
import { parseSpan } from '../core/format';
import { said } from '../core/settings';
import { now } from '../core/clock';
import { onPageKey, plain } from '../core/keys';
import { go, replace, url } from '../core/location';
import { moreText } from '../core/many';
import { sidesInWords } from '../core/sides';
import { patternOf } from '../core/pattern';
import { rangeOf, serviceIn, swapped } from '../core/presets';
import {
  addStep,
  decodeDiff,
  encodeDiff,
  encodeService,
  newService,
  OWN,
  ownRules,
  selectorOf,
  timeOf,
  withoutOwn,
  type DiffState,
} from '../core/state';
import type { Tree } from '../core/tree';
import { safe, shownName } from '../draw/flame';
import { viewLinks } from '../parts/actions';
import { Changes, Detectable, Legend, Modes, useDifference } from '../parts/difference';
import { Causes } from '../parts/causes';
import { Culprit, type CulpritProps } from '../parts/culprit';
import { Export, OF_TWO } from '../parts/export';
import { FlameGraph } from '../parts/flame';
import { LensChips, OwnCode } from '../parts/lens';
import { Presets } from '../parts/presets';
import { Answer, QueryState, useQuery } from '../parts/query';
import { Popover } from '../parts/popover';
import { RangePicker } from '../parts/range';
import { useSearchedFlame, type Searched } from '../parts/searched';
import { Shell } from '../parts/shell';

const set = (change: Partial<DiffState>, how = go) => how(encodeDiff({ ...decodeDiff(url.value), ...change }));
const NO_FRAME = { zoom: '', frame: '' };
const onLens = (lens: string) => set({ lens, ...NO_FRAME });
const swap = () => set({ ...swapped(decodeDiff(url.value), now()), ...NO_FRAME });

export function DiffPage() {
  const state = decodeDiff(url.value);
  const asked = {
    query: state.query,
    base_query: state.baseQuery,
    type: state.type,
    lens: state.lens,
    max_nodes: '20000',
    ...(state.mode === 'raw' ? {} : { mode: state.mode }),
    ...timeOf(state),
    ...baseTime(state),
  };
  const diff = useQuery(state.query === '' ? null : JSON.stringify(asked), (s) => getFlame('diff', asked, s));
  const data = diff.data;
  const { columns, searched } = useSearchedFlame(data, 'diff', asked, state.search);
  const difference = useDifference(columns, state.mode);
  const { tree } = difference;
  const type = state.type || data?.meta.type || '';
  const about = aboutDiff(state, type, difference.mode, diff.at || now(), location.origin);
  const empty = tree && tree.width[0] === 0;
  // A library's function has no frame of its own among own code.
  const find = (search: string) => {
    const pattern = patternOf(search);
    const there = !pattern || tree?.functions.some((f) => pattern.test(f.name));
    set({ search, ...(!there && { lens: withoutOwn(state.lens), ...NO_FRAME }) });
  };
  useEffect(() =>
    onPageKey((e) => {
      if (e.key !== 'x' || !plain(e) || state.query === '') return false;
      swap();
      return true;
    }),
  );
  return (
    <Shell title="Diff" fill={!!tree && !empty}>
      <div class="toolbar diff-bar">
        <h1>Diff</h1>
        <Sides state={state} open={state.query === ''} />
        <button
          type="button"
          onClick={swap}
          disabled={state.query === ''}
          aria-label="Swap A and B"
          title="Swap A and B"
        >
          ⇄
        </button>
        <Modes difference={difference} onMode={(mode) => set({ mode })} />
        <span class="grow" />
        {tree && !empty && (
          <Export
            formats={OF_TWO}
            texts={{ folded: 'folded stacks of both sides', csv: 'CSV of all functions, both sides' }}
            address={(format) => apiAddress('diff', { ...asked, format })}
            tree={tree}
            about={about}
          />
        )}
      </div>
      <Detectable difference={difference} />
      <div class="facts">
        {state.query !== '' && <Presets state={state} set={set} />}
        <span class="grow" />
        <OwnCode lens={state.lens} onChange={onLens} />
        <LensChips lens={state.lens} onChange={onLens} own />
      </div>
      <QueryState query={diff} what="the difference" />
      {state.query === '' && <Choose onChoose={(q) => set({ query: q })} />}
      {empty && (
        <p class="note">
          Nothing on either side:{' '}
          {said(data?.meta.hint ?? (withoutOwn(state.lens) ? 'the lens removes everything' : 'no samples'))}
          {data?.meta.hint &&
            withoutOwn(state.lens) !== '' &&
            ' (if the other side has something, the lens removes it)'}
        </p>
      )}
      {tree && !empty && (
        <Answer query={diff}>
          {data?.meta.hint && <p class="note">One side is empty: {said(data.meta.hint)}</p>}
          <div class="beside">
            {difference.tested && <Causes meta={difference.tested} onSearch={find} />}
            <Graph state={state} tree={tree} about={about} searched={searched} />
          </div>
          <Legend tested={difference.tested !== undefined} />
          <FirstCulprit state={state} causes={difference.tested?.causes ?? []} />
          <Changes difference={difference} onSearch={find} />
        </Answer>
      )}
    </Shell>
  );
}

// Of the cause with the largest change. Times are pinned where the diff's are.
function FirstCulprit({ state, causes }: { state: DiffState; causes: CulpritProps['cause'][] }) {
  if (causes.length === 0) return null;
  const { type } = state;
  const base = baseTime(state);
  const before = {
    query: state.baseQuery || state.query,
    type,
    ...(base.base_from ? { from: base.base_from, to: base.base_to } : timeOf(state)),
  };
  const one = serviceIn(state.query);
  return (
    <Culprit
      cause={causes[0]}
      before={before}
      after={{ query: state.query, type, ...timeOf(state) }}
      href={
        one
          ? (f) =>
              encodeService({
                ...newService(one.service, state),
                q: one.q,
                type,
                view: 'source',
                fn: f.name,
                mod: f.module,
              })
          : undefined
      }
    />
  );
}

// Without its own range, A is the time just before B, or the same time with another selector.
function baseTime({ since, from, to, query, baseQuery, baseFrom, baseTo }: DiffState): Record<string, string> {
  if (baseFrom !== null && baseTo !== null) return { base_from: String(baseFrom), base_to: String(baseTo) };
  if (baseQuery !== '' && baseQuery !== query) return {};
  if (from !== null && to !== null) return { base_from: String(2 * from - to), base_to: String(from) };
  const seconds = parseSpan(since) / 1000;
  return { base_from: `-${seconds * 2}s`, base_to: `-${seconds}s` };
}

// Who is compared with whom, in words; behind each the selector and the time.
function Sides({ state, open }: { state: DiffState; open: boolean }) {
  const fixed = state.baseFrom !== null && state.baseTo !== null;
  const choose = () => {
    const at = now();
    const from = state.from ?? at - parseSpan(state.since);
    const length = (state.to ?? at) - from;
    set({ baseFrom: from - length, baseTo: from });
  };
  const before = (
    <Side
      name="A before"
      query={state.baseQuery || state.query}
      onQuery={(baseQuery) => set({ baseQuery, ...NO_FRAME })}
    >
      {fixed ? (
        <RangePicker
          time={{ since: state.since, from: state.baseFrom, to: state.baseTo }}
          onChange={(t) => {
            const [baseFrom, baseTo] = rangeOf(t, now());
            set({ baseFrom, baseTo, ...NO_FRAME });
          }}
        />
      ) : (
        <p>
          {baseTime(state).base_from ? 'as long before B' : 'at the same time as B'}{' '}
          <button type="button" onClick={choose}>
            Choose a time
          </button>
        </p>
      )}
    </Side>
  );
  const after = (
    <Side name="B after" query={state.query} onQuery={(query) => set({ query, ...NO_FRAME })}>
      <RangePicker time={state} onChange={(t) => set({ ...t, ...NO_FRAME })} />
    </Side>
  );
  if (open)
    return (
      <div class="sides">
        {before}
        {after}
      </div>
    );
  const words = sidesInWords(state);
  return (
    <>
      <Popover name={<bdi class="side">A {words[0]}</bdi>}>{before}</Popover>
      <span aria-hidden="true">→</span>
      <Popover name={<bdi class="side">B {words[1]}</bdi>}>{after}</Popover>
    </>
  );
}

interface GraphProps {
  state: DiffState;
  tree: Tree;
  about: About;
  searched?: Searched;
}

function Graph({ state, tree, about, searched }: GraphProps) {
  // Links from a frame to its function in B, if B is one service.
  const one = serviceIn(state.query);
  const links =
    one &&
    viewLinks({
      ...newService(one.service, state),
      q: one.q,
      type: state.type,
      lens: withoutOwn(state.lens) === state.lens ? addStep(state.lens, OWN) : state.lens,
    });
  return (
    <FlameGraph
      tree={tree}
      about={about}
      zoom={state.zoom}
      frame={state.frame}
      query={state.search}
      searched={searched}
      onZoom={(zoom, frame) => set({ zoom, frame })}
      onFrame={(frame) => set({ frame }, replace)}
      onQuery={(search, typed) => set({ search }, typed ? replace : go)}
      onLens={(step) => onLens(addStep(state.lens, step))}
      own={ownRules(state.lens) !== null}
      links={links ?? undefined}
      noLinks={links ? undefined : 'B is not one service.'}
      fill
    />
  );
}

function Side({
  name,
  query,
  onQuery,
  children,
}: {
  name: string;
  query: string;
  onQuery: (q: string) => void;
  children: preact.ComponentChildren;
}) {
  const [text, setText] = useState(query);
  useEffect(() => setText(query), [query]);
  return (
    <section class="card" aria-label={name}>
      <h2>{name}</h2>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          onQuery(text.trim());
        }}
      >
        <label>
          Selector{' '}
          <input
            size={36}
            value={text}
            placeholder={'checkout{service.version="v2"}'}
            spellcheck={false}
            onInput={(e) => setText(e.currentTarget.value)}
          />
        </label>{' '}
        {text.trim() !== query && <button type="submit">Apply</button>}
      </form>
      {children}
    </section>
  );
}

function Choose({ onChoose }: { onChoose: (query: string) => void }) {
  const services = useQuery('diff services', (s) => getJson('services', { since: '7d', limit: '30' }, s));
  return (
    <div class="empty">
      <p>
        <strong>What do you want to compare?</strong> Type a selector above, or begin with a service:
      </p>
      <p class="actions">
        {services.data?.services.map((s) => (
          <button key={s.name} type="button" title={safe(s.name)} onClick={() => onChoose(selectorOf(s.name, ''))}>
            <bdi class="cut">{shownName(s.name)}</bdi>
          </button>
        ))}
      </p>
      {services.data && services.data.total > services.data.services.length && (
        <p>
          {moreText(
            services.data.total,
            services.data.services.length,
            'type the name as the selector, or jump to it with Ctrl K.',
          )}
        </p>
      )}
    </div>
  );
}
