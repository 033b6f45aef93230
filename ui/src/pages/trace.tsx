// One trace: its waterfall, the chosen span's facts, and what that span (or everything below it) was profiled doing.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { aboutTrace } from '../core/about';
import { apiAddress, getFlame, getJson, type Span, type TraceColumns } from '../core/api';
import { formatCount, formatLooks, formatMany, formatTime, formatValue } from '../core/format';
import { go, replace, url } from '../core/location';
import { againstItself } from '../core/presets';
import { said, zone } from '../core/settings';
import { addStep, decodeTrace, encodeDiff, encodeService, encodeTrace, encodeTraces, newService, newTraces, selectorOf, type TraceState } from '../core/state';
import { buildTree } from '../core/tree';
import { profiledServices, waterfall } from '../core/waterfall';
import { safe, shownName } from '../draw/flame';
import type { FlameColumns } from '../core/flame';
import { viewLinks, type FrameLink } from '../parts/actions';
import { Export, OF_ONE } from '../parts/export';
import { FlameGraph } from '../parts/flame';
import { LensChips } from '../parts/lens';
import { Answer, QueryState, useQuery, type Query } from '../parts/query';
import { useSearchedFlame } from '../parts/searched';
import { copyText, Shell } from '../parts/shell';
import { valueOf } from '../parts/describe';
import { Waterfall } from '../parts/waterfall';

export function TracePage() {
  const state = decodeTrace(url.value);
  const set = (change: Partial<TraceState>, how = go) => how(encodeTrace({ ...decodeTrace(url.value), ...change }));
  const path = 'traces/' + encodeURIComponent(state.trace);
  const trace = useQuery(JSON.stringify(['trace', state.trace]), (s) => getJson<TraceColumns>(path, { format: 'columns' }, s));
  const facts = useQuery(state.span === '' ? null : JSON.stringify(['span', state.trace, state.span]), (s) => getJson<{ spans: Span[] }>(path, { span: state.span }, s));
  const whole = useQuery(JSON.stringify(['trace flame', state.trace, state.type]), (s) => getFlame(`traces/${encodeURIComponent(state.trace)}/flame`, { type: state.type }, s));
  const { rows, duration, startNs, services, errors, rootless } = useMemo(() => waterfall(trace.data), [trace.data]);
  const began = Number(startNs / 1_000_000n);
  const profiled = useMemo(() => profiledServices(rows, whole.data?.meta.by_span ?? {}), [rows, whole.data]);
  const root = rows[0];
  const row = rows.find((r) => r.id === state.span);
  const span = facts.data?.spans.find((s) => s.span === state.span);
  return (
    <Shell title={root ? root.name.slice(0, 80) : 'Trace'}>
      <div class="toolbar">
        <h1>{root ? <><bdi>{shownName(root.name, 120)}</bdi></> : 'Trace'}</h1>
        {root && <p>{root.service} · {formatTime(began, zone.value === 'utc')} · {formatValue(duration * 1e6, 'nanoseconds')} · {formatMany(rows.length, 'span')} · {formatMany(services, 'service')}{errors > 0 && <em class="bad"> · {formatMany(errors, 'error')}</em>}{whole.data && Number(whole.data.meta.count) > 0 && <> · <span data-testid="samples">{formatMany(Number(whole.data.meta.count), 'sample')}</span></>}</p>}
        <span class="grow" />
        <button type="button" onClick={() => copyText(state.trace)}>Copy trace id</button>
      </div>
      <QueryState query={trace} what="the trace" />
      {rootless && <p class="note" data-testid="rootless">The root span of this trace has not arrived: the earliest span here names a parent that is not stored. What is shown begins there; the trace may be longer.</p>}
      {rows.length > 0 && <Waterfall rows={rows} duration={duration} selected={state.span} values={whole.data?.meta.by_span ?? {}} looks={whole.data?.meta.looks?.by_span} onSelect={(id, walked) => set({ span: id, zoom: '', frame: '' }, walked && state.span !== '' ? replace : go)}
        onRange={(r, [from, to]) => go(encodeService(newService(r.service, { since: '1h', from: Math.floor(began + from), to: Math.ceil(began + to) })))} />}
      <QueryState query={facts} what="the span" />
      {span && <SpanFacts span={span} />}
      {rows.length > 0 && <SpanFlame state={state} whole={whole} span={span} below={row?.descendants ?? 0} services={profiled} range={[began, began + duration]} set={set} />}
    </Shell>
  );
}

// A minute to either side: profiles of that time may begin before the span.
const around = ([from, to]: [number, number]) => ({ since: '1h', from: Math.floor(from - 60e3), to: Math.ceil(to + 60e3) });

function timeOfSpan(span: Span): [number, number] {
  const start = Number(BigInt(span.start_ns) / 1_000_000n);
  return [start, start + Number(span.duration_ns) / 1e6];
}

function SpanFacts({ span }: { span: Span }) {
  const then = around(timeOfSpan(span));
  const attributes = Object.entries(span.attributes);
  return (
    <section class="drawer" aria-label="Selected span">
      <div class="drawer-head"><h2><bdi>{shownName(span.name, 300)}</bdi></h2></div>
      <p class="where">{span.service} · {span.kind} · {formatValue(Number(span.duration_ns), 'nanoseconds')}{span.status === 'error' && <em class="bad"> · error{span.status_message ? `: ${span.status_message.slice(0, 300)}` : ''}</em>}</p>
      {attributes.length > 0 && <dl>{attributes.slice(0, 60).map(([k, v]) => <div key={k}><dt>{k}</dt><dd><bdi>{v.slice(0, 500)}</bdi></dd></div>)}</dl>}
      {span.events?.map((e, i) => <p key={i}>{formatValue(Number(BigInt(e.time_ns) - BigInt(span.start_ns)), 'nanoseconds')} in: <b>{e.name}</b> {Object.entries(e.attributes).map(([k, v]) => `${k}=${v}`).join(', ').slice(0, 500)}</p>)}
      <p class="actions">
        <a class="button" href={encodeService(newService(span.service, then))}>{span.service} at that time</a>
        <a class="button" href={encodeTraces({ ...newTraces(span.service, { ...then, from: then.from - 3600e3 }), name: span.name })}>Other “{safe(span.name).slice(0, 40)}” traces</a>
        <button type="button" onClick={() => copyText(span.span)}>Copy span id</button>
      </p>
    </section>
  );
}

// From a frame to that function in its service at that time, or to that frame against as long before.
function functionLinks(service: string, time: [number, number], { type, lens }: TraceState): FrameLink[] {
  const then = { ...newService(service, around(time)), type };
  return [...viewLinks(then), { text: 'Open in diff', key: '', href: (_, frame) => encodeDiff({ ...againstItself({ ...then, lens }, selectorOf(service, '')), frame }) }];
}

const LOOKS = 'threads are looked at now and then, and a look stands for the time up to the next. Of one span at most the time it had by itself is shown; how it waited is known only as far as it was seen.';

interface SpanFlameProps { state: TraceState; whole: Query<FlameColumns>; span?: Span; below: number; services: string[]; range: [number, number]; set: (change: Partial<TraceState>, how?: typeof go) => void }

function SpanFlame({ state, whole, span, below, services, range, set }: SpanFlameProps) {
  const asked = { span: state.span, subtree: state.span !== '' && state.subtree ? 'true' : undefined, type: state.type, lens: state.lens };
  const path = `traces/${encodeURIComponent(state.trace)}/flame`;
  // Of the whole trace the page has it already, for the waterfall.
  const part = state.span !== '' || state.lens !== '';
  const own = useQuery(part ? JSON.stringify(['span flame', state.trace, asked]) : null, (s) => getFlame(path, asked, s));
  // From the whole trace to a part of it what was shown stays until the answer is there: the graph keeps the focus.
  const last = useRef<{ trace: string; data?: FlameColumns }>({ trace: '' });
  const before = last.current.trace === state.trace ? last.current.data : undefined;
  const flame = part ? { ...own, data: own.data ?? before } : whole;
  last.current = { trace: state.trace, data: flame.data };
  const { columns, searched } = useSearchedFlame(flame.data, path, asked, state.search);
  const tree = useMemo(() => columns && buildTree(columns), [columns]);
  const arriving = flame.data?.meta.arriving;
  useEffect(() => {
    if (!arriving || flame.loading) return;
    const id = setTimeout(flame.retry, 5000);  // for two minutes: then the server has another reason
    return () => clearTimeout(id);
  }, [flame.data, flame.loading]);
  const about = aboutTrace(state, span ? `${span.service} ${span.name}` : '', state.type || flame.data?.meta.type || '', range, location.origin);
  // Of a whole trace it is not said which service a frame is of, unless only one has profiles.
  const links = span ? functionLinks(span.service, timeOfSpan(span), state) : state.span === '' && services.length === 1 ? functionLinks(services[0], range, state) : undefined;
  const noLinks = state.span === '' && !links ? `Choose a span first${services.length > 1 ? ': several services have profiles in this trace' : ''}.` : undefined;
  const looks = flame.data?.meta.looks;
  const lasts = span ? Number(span.duration_ns) / 1e6 : range[1] - range[0];
  const nothing = tree && !flame.data?.meta.hint && tree.width[0] === 0;
  const what = state.span === '' ? 'the whole trace' : state.subtree ? 'this span and those below it' : 'this span';
  return (
    <section aria-label="Profile of the span">
      <div class="toolbar">
        <h2>What {what} did</h2>
        <TypeChoice types={flame.data?.meta.types ?? []} type={flame.data?.meta.type ?? ''} onType={(type) => set({ type, zoom: '', frame: '' })} />
        {span && below > 0 && (
          <div role="group" aria-label="Scope" class="switch">
            <button type="button" aria-pressed={!state.subtree} onClick={() => set({ subtree: false, zoom: '', frame: '' })}>This span</button>
            <button type="button" aria-pressed={state.subtree} onClick={() => set({ subtree: true, zoom: '', frame: '' })}>With the {formatCount(below)} below</button>
          </div>
        )}
        {span && <button type="button" onClick={() => set({ span: '', zoom: '', frame: '' })}>Whole trace</button>}
        <span class="grow" />
        {tree && hasSome(tree.meta.by_span) && <Export formats={OF_ONE} address={(format) => apiAddress(path, { ...asked, format })} tree={tree} about={about} />}
      </div>
      {(state.lens !== '' || (tree && !flame.data?.meta.hint)) && <LensChips lens={state.lens} onChange={(lens) => set({ lens, zoom: '', frame: '' })} />}
      <QueryState query={flame} what="the profile" />
      {flame.data?.meta.filed_under && (
        <p class="note">Its profiler files samples under the request's first span in this service; these are the ones taken while this span ran.{' '}
          <button type="button" onClick={() => set({ span: flame.data!.meta.filed_under!, zoom: '', frame: '' })}>Show that span</button></p>
      )}
      {flame.data?.meta.hint && <p class="note" data-testid="hint">No profile: {said(flame.data.meta.hint)}</p>}
      {tree && looks && (
        <p class="note" data-testid="looks">{formatLooks(tree.total[0], 'nanoseconds', looks.error_ns, looks.count)}: {LOOKS}</p>
      )}
      {tree && !looks && flame.data!.meta.unit === 'nanoseconds' && tree.total[0] > lasts * 1e6 && (
        <p class="note" data-testid="more-than-it-took">{valueOf(tree, tree.total[0])} of {flame.data!.meta.type} in {formatValue(lasts * 1e6, 'nanoseconds')}: the times of several threads or spans that run at once add up, and each sample stands for a stretch of time that may reach beyond the {state.span === '' ? 'trace' : 'span'}.</p>
      )}
      {nothing && <p class="note">Nothing is left: the lens takes all of it away.</p>}
      {tree && !flame.data?.meta.hint && !nothing && (
        <Answer query={flame}><FlameGraph tree={tree} about={about} zoom={state.zoom} frame={state.frame} query={state.search} searched={searched} mark={state.mark} onMark={(mark) => set({ mark })}
          onZoom={(zoom, frame) => set({ zoom, frame })} onFrame={(frame) => set({ frame }, replace)} onQuery={(search, typed) => set({ search }, typed ? replace : go)}
          onLens={(step) => set({ lens: addStep(state.lens, step), zoom: '', frame: '' })} links={links} noLinks={noLinks} /></Answer>
      )}
    </section>
  );
}

// By span there may be 100,000: they are not listed to see that there is one.
function hasSome(values: Record<string, number> | undefined): boolean {
  for (const _ in values) return true;
  return false;
}

// What the numbers below are; a choice where the samples have several types.
function TypeChoice({ types, type, onType }: { types: string[]; type: string; onType: (type: string) => void }) {
  if (types.length < 2) return type ? <span>{type}</span> : null;
  return <label>Type <select value={type} onChange={(e) => onType(e.currentTarget.value)}>{types.map((t) => <option key={t}>{t}</option>)}</select></label>;
}
