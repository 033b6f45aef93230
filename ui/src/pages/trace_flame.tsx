// The profile on a trace's page: of the span, its subtree, the whole trace, the critical path, or of similar spans.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { aboutTrace } from '../core/about';
import { partsOf } from '../core/accounting';
import type { Span } from '../core/answers';
import { apiAddress, getFlame, getJson, type Params } from '../core/api';
import type { FlameColumns, FlameMeta } from '../core/flame';
import { formatCount, formatLooks, formatMany, formatValue } from '../core/format';
import { go, replace } from '../core/location';
import { againstItself } from '../core/presets';
import { said } from '../core/settings';
import { addStep, encodeDiff, newService, selectorOf, type TraceState } from '../core/state';
import { buildTree, type Tree } from '../core/tree';
import type { Row } from '../core/waterfall';
import { shownName } from '../draw/flame';
import { AccountBar, AccountLegend } from '../parts/account_bar';
import { viewLinks, type FrameLink } from '../parts/actions';
import { measured } from '../parts/describe';
import { Export, OF_ONE } from '../parts/export';
import { FlameGraph } from '../parts/flame';
import { LensChips } from '../parts/lens';
import { Answer, QueryState, useQuery, type Query } from '../parts/query';
import { useSearchedFlame } from '../parts/searched';

// A minute on either side, because profiles may begin before the span.
export const around = ([from, to]: [number, number]) => ({
  since: '1h',
  from: Math.floor(from - 60e3),
  to: Math.ceil(to + 60e3),
});

export function timeOfSpan(span: Span): [number, number] {
  const start = Number(BigInt(span.start_ns) / 1_000_000n);
  return [start, start + Number(span.duration_ns) / 1e6];
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
  root: Row;
  services: string[];
  range: [number, number];
  set: (change: Partial<TraceState>, how?: typeof go) => void;
}

const NO_FRAME = { zoom: '', frame: '', simzoom: '', simframe: '' };

export function SpanFlame(p: SpanFlameProps) {
  const { state, span, range, set } = p;
  const { path, asked, flame, tree, searched } = useSpanFlame(p);
  const meta = flame.data?.meta;
  const named = span && state.scope !== 'critical' ? `${span.service} ${span.name}` : '';
  const about = aboutTrace(state, named, state.type || meta?.type || '', range, location.origin);
  const nothing = tree && !meta?.hint && tree.width[0] === 0;
  return (
    <section aria-label="Profile of the span">
      <SpanBar {...p} types={meta?.types ?? []} type={meta?.type ?? ''}>
        {tree && (state.scope !== 'samples' || hasSome(tree.meta.by_span)) && (
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
      {state.scope === 'critical' && (
        <p class="small">Every moment of the trace once: the span it waited for, and what that span did.</p>
      )}
      {state.scope === 'similar' && <Similar {...p} />}
      {state.scope === 'samples' && meta && tree && <SpanNotes {...p} meta={meta} tree={tree} />}
      {nothing && <p class="note">Nothing is left: the lens removes everything.</p>}
      {tree && !meta?.hint && !nothing && (
        <div class={besides(p, meta) ? 'pair' : undefined}>
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
          {besides(p, meta) && <SimilarBeside {...p} />}
        </div>
      )}
    </section>
  );
}

// Few samples of one span say little: those of similar ones are shown beside them.
const besides = ({ state, span }: SpanFlameProps, meta?: FlameMeta) =>
  state.scope === 'samples' && span !== undefined && !state.subtree && meta !== undefined && isFew(meta);
const isFew = (meta: FlameMeta) => !meta.hint && meta.count > 0 && meta.count < FEW;

// The slowest spans of the same name, added up.
function SimilarBeside(p: SpanFlameProps) {
  const { state, set, range } = p;
  const asked = { ...similarTo(p), slowest: String(SLOWEST), lens: state.lens };
  const flame = useQuery(JSON.stringify(['similar beside', asked]), (s) => getFlame('critical-path', asked, s));
  const tree = useMemo(() => flame.data && buildTree(flame.data), [flame.data]);
  const about = aboutTrace({ ...state, scope: 'similar' }, `similar to ${asked.name}`, '', range, location.origin);
  return (
    <section aria-label="Similar spans">
      <h3>
        What the {SLOWEST} slowest <bdi>{shownName(asked.name, 60)}</bdi> waited for
        {flame.data && `: ${formatMany(flame.data.meta.count, 'observation')}`}
      </h3>
      <QueryState query={flame} what="similar spans" />
      {tree && tree.width[0] > 0 && (
        <FlameGraph
          tree={tree}
          about={about}
          name="similar spans"
          zoom={state.simzoom}
          frame={state.simframe}
          query={state.search}
          onZoom={(simzoom, simframe) => set({ simzoom, simframe })}
          onFrame={(simframe) => set({ simframe }, replace)}
          onQuery={(search, typed) => set({ search }, typed ? replace : go)}
        />
      )}
    </section>
  );
}

// Spans of the same name, an hour around.
function similarTo({ span, root, range }: SpanFlameProps) {
  const { service, name } = span ?? root;
  return { service, name, from: String(Math.floor(range[0] - 3600e3)), to: String(Math.ceil(range[1] + 3600e3)) };
}

const SLOWEST = 20;
const FEW = 20; // samples: fewer say little of one span

// What the graph asks for: a path below /api/v1 and its parameters.
function askedOf(p: SpanFlameProps): { path: string; asked: Params } {
  const { scope, trace, span, subtree, type, lens } = p.state;
  if (scope === 'similar') return { path: 'critical-path', asked: { ...similarTo(p), slowest: String(SLOWEST), lens } };
  const path = `traces/${encodeURIComponent(trace)}/flame`;
  if (scope === 'critical') return { path, asked: { path: 'critical', lens } };
  return { path, asked: { span, subtree: span !== '' && subtree ? 'true' : undefined, type, lens } };
}

// The profile of the span, of its subtree, or of the whole trace; or a critical path as one.
function useSpanFlame(p: SpanFlameProps) {
  const { state, whole } = p;
  const { path, asked } = askedOf(p);
  // The page already has the profile of the whole trace, for the waterfall.
  const part = state.scope !== 'samples' || state.span !== '' || state.lens !== '';
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

const TITLES = { critical: 'What the trace waited for', similar: 'What similar spans wait for' };

function SpanBar({ state, span, below, set, types, type, children }: SpanBarProps) {
  const what = state.span === '' ? 'the whole trace' : state.subtree ? 'this span and those below it' : 'this span';
  const { scope } = state;
  const own = scope === 'samples';
  const to = (change: Partial<TraceState>) => () => set({ scope: 'samples', ...change, ...NO_FRAME });
  return (
    <div class="toolbar">
      <h2>{scope === 'samples' ? `What ${what} did` : TITLES[scope]}</h2>
      {own && <TypeChoice types={types} type={type} onType={(t) => set({ type: t, ...NO_FRAME })} />}
      <div role="group" aria-label="Scope" class="switch">
        <button type="button" aria-pressed={scope === 'critical'} onClick={to({ scope: 'critical' })}>
          Critical path
        </button>
        {span && (
          <button type="button" aria-pressed={own && !state.subtree} onClick={to({ subtree: false })}>
            This span
          </button>
        )}
        {span && below > 0 && (
          <button type="button" aria-pressed={own && state.subtree} onClick={to({ subtree: true })}>
            With the {formatCount(below)} below
          </button>
        )}
        <button type="button" aria-pressed={scope === 'similar'} onClick={to({ scope: 'similar' })}>
          Similar spans
        </button>
        <button type="button" aria-pressed={own && state.span === ''} onClick={to({ span: '' })}>
          Whole trace
        </button>
      </div>
      <span class="grow" />
      {children}
    </div>
  );
}

// All spans of this name, beside the flame graph of the slowest ones.
function Similar(p: SpanFlameProps) {
  const asked = similarTo(p);
  const all = useQuery(JSON.stringify(['similar', asked]), (s) => getJson('accounting', asked, s));
  const spans = all.data?.spans ?? 0;
  const account = all.data && { duration: Number(all.data.duration_ns), parts: partsOf(all.data.parts) };
  return (
    <section class="account" aria-label="All spans of this name">
      <p class="small" data-testid="similar">
        The critical paths of the {SLOWEST} slowest traces with {asked.service} <bdi>{shownName(asked.name, 80)}</bdi>,
        added up
        {all.data && `; below: where the time of all ${formatMany(spans, 'span')} of that name went`}
      </p>
      <QueryState query={all} what="similar spans" />
      {account && (
        <>
          <AccountBar label="Of all spans of this name" account={account} />
          <AccountLegend account={account} />
        </>
      )}
    </section>
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
      {isFew(meta) && (
        <p class="note" data-testid="few">
          Only {formatMany(meta.count, 'sample')} of {formatValue(lasts * 1e6, 'nanoseconds')}
          {span && !state.subtree ? (
            ': the slowest spans of this name, added up, stand beside them.'
          ) : (
            <>
              .{' '}
              <button type="button" onClick={() => set({ scope: 'critical', ...NO_FRAME })}>
                Show what it waited for
              </button>
            </>
          )}
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
