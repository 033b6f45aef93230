// One trace: its waterfall, the selected span's facts, and the profile of the span, its subtree or the whole trace.
import type { Span, Trace, TraceColumns } from '../core/answers';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { aboutTrace } from '../core/about';
import { apiAddress, getFlame, getJson } from '../core/api';
import { formatCount, formatLooks, formatMany, formatTime, formatValue } from '../core/format';
import { go, replace, url } from '../core/location';
import { againstItself } from '../core/presets';
import { said, zone } from '../core/settings';
import {
  addStep,
  decodeTrace,
  encodeDiff,
  encodeService,
  encodeTrace,
  encodeTraces,
  newService,
  newTraces,
  selectorOf,
  type TraceState,
} from '../core/state';
import { buildTree, type Tree } from '../core/tree';
import { profiledServices, waterfall } from '../core/waterfall';
import { safe, shownName } from '../draw/flame';
import type { FlameColumns, FlameMeta } from '../core/flame';
import { viewLinks, type FrameLink } from '../parts/actions';
import { Export, OF_ONE } from '../parts/export';
import { FlameGraph } from '../parts/flame';
import { LensChips } from '../parts/lens';
import { Answer, QueryState, useQuery, type Query } from '../parts/query';
import { useSearchedFlame } from '../parts/searched';
import { copyText, Shell } from '../parts/shell';
import { measured } from '../parts/describe';
import { Waterfall } from '../parts/waterfall';

// The trace's spans, the details of the selected one, and the profile of the whole trace.
function useTrace({ trace, span, type }: TraceState) {
  return {
    trace: useQuery(
      JSON.stringify(['trace', trace]),
      (s) => getJson('traces/{trace}', { trace, format: 'columns' }, s) as Promise<TraceColumns>,
    ),
    facts: useQuery(
      span === '' ? null : JSON.stringify(['span', trace, span]),
      (s) => getJson('traces/{trace}', { trace, span }, s) as Promise<Trace>,
    ),
    whole: useQuery(JSON.stringify(['trace flame', trace, type]), (s) =>
      getFlame('traces/{trace}/flame', { trace, type }, s),
    ),
  };
}

export function TracePage() {
  const state = decodeTrace(url.value);
  const set = (change: Partial<TraceState>, how = go) => how(encodeTrace({ ...decodeTrace(url.value), ...change }));
  const { trace, facts, whole } = useTrace(state);
  const { rows, duration, startNs, services, errors, rootless } = useMemo(() => waterfall(trace.data), [trace.data]);
  const began = Number(startNs / 1_000_000n);
  const profiled = useMemo(() => profiledServices(rows, whole.data?.meta.by_span ?? {}), [rows, whole.data]);
  const root = rows[0];
  const took = formatValue(duration * 1e6, 'nanoseconds');
  const row = rows.find((r) => r.id === state.span);
  const span = facts.data?.spans.find((s) => s.span === state.span);
  return (
    <Shell title={root ? root.name.slice(0, 80) : 'Trace'}>
      <div class="toolbar">
        <h1>{root ? <bdi>{shownName(root.name, 120)}</bdi> : 'Trace'}</h1>
        {root && (
          <p>
            {root.service} · {formatTime(began, zone.value === 'utc')} · {took}
            {' · '}
            {formatMany(rows.length, 'span')} · {formatMany(services, 'service')}
            {errors > 0 && <em class="bad"> · {formatMany(errors, 'error')}</em>}
            {whole.data && Number(whole.data.meta.count) > 0 && (
              <>
                {' '}
                · <span data-testid="samples">{formatMany(Number(whole.data.meta.count), 'sample')}</span>
              </>
            )}
          </p>
        )}
        <span class="grow" />
        <button type="button" onClick={() => copyText(state.trace)}>
          Copy trace id
        </button>
      </div>
      <QueryState query={trace} what="the trace" />
      {rootless && (
        <p class="note" data-testid="rootless">
          The root span of this trace has not arrived: the earliest span here names a parent that is not stored. What is
          shown begins there; the trace may be longer.
        </p>
      )}
      {rows.length > 0 && (
        <Waterfall
          rows={rows}
          duration={duration}
          selected={state.span}
          values={whole.data?.meta.by_span ?? {}}
          looks={whole.data?.meta.looks?.by_span}
          onSelect={(id, walked) => set({ span: id, zoom: '', frame: '' }, walked && state.span !== '' ? replace : go)}
          onRange={(r, [from, to]) =>
            go(
              encodeService(
                newService(r.service, { since: '1h', from: Math.floor(began + from), to: Math.ceil(began + to) }),
              ),
            )
          }
        />
      )}
      <QueryState query={facts} what="the span" />
      {span && <SpanFacts span={span} />}
      {rows.length > 0 && (
        <SpanFlame
          state={state}
          whole={whole}
          span={span}
          below={row?.descendants ?? 0}
          services={profiled}
          range={[began, began + duration]}
          set={set}
        />
      )}
    </Shell>
  );
}

// A minute on either side, because profiles may begin before the span.
const around = ([from, to]: [number, number]) => ({
  since: '1h',
  from: Math.floor(from - 60e3),
  to: Math.ceil(to + 60e3),
});

function timeOfSpan(span: Span): [number, number] {
  const start = Number(BigInt(span.start_ns) / 1_000_000n);
  return [start, start + Number(span.duration_ns) / 1e6];
}

function SpanFacts({ span }: { span: Span }) {
  const then = around(timeOfSpan(span));
  const attributes = Object.entries(span.attributes);
  return (
    <section class="drawer" aria-label="Selected span">
      <div class="drawer-head">
        <h2>
          <bdi>{shownName(span.name, 300)}</bdi>
        </h2>
      </div>
      <p class="where">
        {span.service} · {span.kind} · {formatValue(Number(span.duration_ns), 'nanoseconds')}
        {span.status === 'error' && (
          <em class="bad"> · error{span.status_message ? `: ${span.status_message.slice(0, 300)}` : ''}</em>
        )}
      </p>
      {attributes.length > 0 && (
        <dl>
          {attributes.slice(0, 60).map(([k, v]) => (
            <div key={k}>
              <dt>{k}</dt>
              <dd>
                <bdi>{v.slice(0, 500)}</bdi>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {span.events?.map((e, i) => (
        <p key={i}>
          {formatValue(Number(BigInt(e.time_ns) - BigInt(span.start_ns)), 'nanoseconds')} in: <b>{e.name}</b>{' '}
          {Object.entries(e.attributes)
            .map(([k, v]) => `${k}=${v}`)
            .join(', ')
            .slice(0, 500)}
        </p>
      ))}
      <p class="actions">
        <a class="button" href={encodeService(newService(span.service, then))}>
          {span.service} at that time
        </a>
        <a
          class="button"
          href={encodeTraces({ ...newTraces(span.service, { ...then, from: then.from - 3600e3 }), name: span.name })}
        >
          Other “{safe(span.name).slice(0, 40)}” traces
        </a>
        <button type="button" onClick={() => copyText(span.span)}>
          Copy span id
        </button>
      </p>
    </section>
  );
}

// Links from a frame to its function in its service at that time, and to a diff with the time before.
function functionLinks(service: string, time: [number, number], { type, lens }: TraceState): FrameLink[] {
  const then = { ...newService(service, around(time)), type };
  return [
    ...viewLinks(then),
    {
      text: 'Open in diff',
      key: '',
      href: (_, frame) => encodeDiff({ ...againstItself({ ...then, lens }, selectorOf(service, '')), frame }),
    },
  ];
}

const LOOKS =
  'threads are looked at now and then, and a look stands for the time up to the next. Of one span at most the time ' +
  'it had by itself is shown; how it waited is known only as far as it was seen.';

interface SpanFlameProps {
  state: TraceState;
  whole: Query<FlameColumns>;
  span?: Span;
  below: number;
  services: string[];
  range: [number, number];
  set: (change: Partial<TraceState>, how?: typeof go) => void;
}

const NO_FRAME = { zoom: '', frame: '' };

function SpanFlame(p: SpanFlameProps) {
  const { state, span, range, set } = p;
  const { path, asked, flame, tree, searched } = useSpanFlame(state, p.whole);
  const meta = flame.data?.meta;
  const named = span ? `${span.service} ${span.name}` : '';
  const about = aboutTrace(state, named, state.type || meta?.type || '', range, location.origin);
  const nothing = tree && !meta?.hint && tree.width[0] === 0;
  return (
    <section aria-label="Profile of the span">
      <SpanBar {...p} types={meta?.types ?? []} type={meta?.type ?? ''}>
        {tree && hasSome(tree.meta.by_span) && (
          <Export
            formats={OF_ONE}
            address={(format) => apiAddress(path, { ...asked, format })}
            tree={tree}
            about={about}
          />
        )}
      </SpanBar>
      {(state.lens !== '' || (tree && !meta?.hint)) && (
        <LensChips lens={state.lens} onChange={(lens) => set({ lens, ...NO_FRAME })} />
      )}
      <QueryState query={flame} what="the profile" />
      {meta && tree && <SpanNotes {...p} meta={meta} tree={tree} />}
      {nothing && <p class="note">Nothing is left: the lens removes everything.</p>}
      {tree && !meta?.hint && !nothing && (
        <Answer query={flame}>
          <FlameGraph
            tree={tree}
            about={about}
            zoom={state.zoom}
            frame={state.frame}
            query={state.search}
            searched={searched}
            mark={state.mark}
            onMark={(mark) => set({ mark })}
            onZoom={(zoom, frame) => set({ zoom, frame })}
            onFrame={(frame) => set({ frame }, replace)}
            onQuery={(search, typed) => set({ search }, typed ? replace : go)}
            onLens={(step) => set({ lens: addStep(state.lens, step), ...NO_FRAME })}
            {...linksOf(p)}
          />
        </Answer>
      )}
    </section>
  );
}

// The profile of the span, of its subtree, or of the whole trace.
function useSpanFlame(state: TraceState, whole: Query<FlameColumns>) {
  const asked = {
    span: state.span,
    subtree: state.span !== '' && state.subtree ? 'true' : undefined,
    type: state.type,
    lens: state.lens,
  };
  const path = `traces/${encodeURIComponent(state.trace)}/flame`;
  // The page already has the profile of the whole trace, for the waterfall.
  const part = state.span !== '' || state.lens !== '';
  const own = useQuery(part ? JSON.stringify(['span flame', state.trace, asked]) : null, (s) =>
    getFlame(path, asked, s),
  );
  // Keep showing the previous profile until the new one arrives, so that the graph keeps the focus.
  const last = useRef<{ trace: string; data?: FlameColumns }>({ trace: '' });
  const before = last.current.trace === state.trace ? last.current.data : undefined;
  const flame = part ? { ...own, data: own.data ?? before } : whole;
  last.current = { trace: state.trace, data: flame.data };
  const { columns, searched } = useSearchedFlame(flame.data, path, asked, state.search);
  const tree = useMemo(() => columns && buildTree(columns), [columns]);
  const arriving = flame.data?.meta.arriving;
  useEffect(() => {
    if (!arriving || flame.loading) return;
    const id = setTimeout(flame.retry, 5000); // the server says "arriving" for two minutes at most
    return () => clearTimeout(id);
  }, [flame.data, flame.loading]);
  return { path, asked, flame, tree, searched };
}

// In a whole trace the service of a frame is unknown, unless only one service has profiles.
function linksOf({ state, span, services, range }: SpanFlameProps) {
  if (span) return { links: functionLinks(span.service, timeOfSpan(span), state) };
  if (state.span !== '') return {};
  if (services.length === 1) return { links: functionLinks(services[0], range, state) };
  return {
    noLinks: `Choose a span first${services.length > 1 ? ': several services have profiles in this trace' : ''}.`,
  };
}

type SpanBarProps = SpanFlameProps & { types: string[]; type: string; children: ComponentChildren };

function SpanBar({ state, span, below, set, types, type, children }: SpanBarProps) {
  const what = state.span === '' ? 'the whole trace' : state.subtree ? 'this span and those below it' : 'this span';
  return (
    <div class="toolbar">
      <h2>What {what} did</h2>
      <TypeChoice types={types} type={type} onType={(t) => set({ type: t, ...NO_FRAME })} />
      {span && below > 0 && (
        <div role="group" aria-label="Scope" class="switch">
          <button type="button" aria-pressed={!state.subtree} onClick={() => set({ subtree: false, ...NO_FRAME })}>
            This span
          </button>
          <button type="button" aria-pressed={state.subtree} onClick={() => set({ subtree: true, ...NO_FRAME })}>
            With the {formatCount(below)} below
          </button>
        </div>
      )}
      {span && (
        <button type="button" onClick={() => set({ span: '', ...NO_FRAME })}>
          Whole trace
        </button>
      )}
      <span class="grow" />
      {children}
    </div>
  );
}

// Notes about the numbers: where samples are filed, why there are none, how exact they are.
function SpanNotes({ state, span, range, set, meta, tree }: SpanFlameProps & { meta: FlameMeta; tree: Tree }) {
  const { looks, hint, filed_under: filedUnder } = meta;
  const lasts = span ? Number(span.duration_ns) / 1e6 : range[1] - range[0];
  return (
    <>
      {filedUnder && (
        <p class="note">
          Its profiler files samples under the request's first span in this service; these are the ones taken while this
          span ran.{' '}
          <button type="button" onClick={() => set({ span: filedUnder, ...NO_FRAME })}>
            Show that span
          </button>
        </p>
      )}
      {hint && (
        <p class="note" data-testid="hint">
          No profile: {said(hint)}
        </p>
      )}
      {looks && (
        <p class="note" data-testid="looks">
          {formatLooks(tree.total[0], 'nanoseconds', looks.error_ns, looks.count)}: {LOOKS}
        </p>
      )}
      {!looks && meta.unit === 'nanoseconds' && tree.total[0] > lasts * 1e6 && (
        <p class="note" data-testid="more-than-it-took">
          {measured(tree, tree.total[0])} of {meta.type} in {formatValue(lasts * 1e6, 'nanoseconds')}: the times of
          several threads or spans that run at once add up, and each sample stands for a stretch of time that may reach
          beyond the {state.span === '' ? 'trace' : 'span'}.
        </p>
      )}
    </>
  );
}

// There may be 100,000 spans; do not list them all just to find one.
function hasSome(values: Record<string, number> | undefined): boolean {
  for (const _ in values) return true;
  return false;
}

// The type of the numbers below, or a choice if the samples have several types.
function TypeChoice({ types, type, onType }: { types: string[]; type: string; onType: (type: string) => void }) {
  if (types.length < 2) return type ? <span>{type}</span> : null;
  return (
    <label>
      Type{' '}
      <select value={type} onChange={(e) => onType(e.currentTarget.value)}>
        {types.map((t) => (
          <option key={t}>{t}</option>
        ))}
      </select>
    </label>
  );
}
