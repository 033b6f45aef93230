// One service: when (timeline), what kind (type), which part (filters, lens), and where it went (flame graph, table).
import { useEffect, useMemo, useState } from 'preact/hooks';
import { now } from '../core/clock';
import { aboutService } from '../core/about';
import { apiAddress, getFlame, getJson, type SeriesAnswer, type ServicesAnswer, type TopAnswer } from '../core/api';
import { formatTime } from '../core/format';
import { onPageKey, plain } from '../core/keys';
import { go, replace, url } from '../core/location';
import { exactly } from '../core/names';
import { addressOf, nodeAt } from '../core/path';
import { patternOf } from '../core/pattern';
import { againstItself, valueIn, windowBeside } from '../core/presets';
import { shownSearch } from '../core/search_text';
import { addStep, decodeService, encodeDiff, encodeService, encodeTraces, newTraces, selectorOf, timeOf, VIEWS, type DiffState, type ServiceState, NO_LOOK } from '../core/state';
import { said, zone } from '../core/settings';
import { coveredBy, markersOf, versionIn, type Marker } from '../core/trend';
import { functionOf, heaviestOf, hottestOf, isFold } from '../core/tree';
import { safe, shownName } from '../draw/flame';
import { Export } from '../parts/export';
import { Filters } from '../parts/filters';
import { CallTree } from '../parts/call_tree';
import { viewLinks, type FrameLink } from '../parts/actions';
import { FlameGraph } from '../parts/flame';
import { FunctionTraces } from '../parts/function_traces';
import { HeatMap } from '../parts/heat';
import { LensChips } from '../parts/lens';
import { useOpenedTree } from '../parts/opened';
import { Answer, QueryState, useQuery } from '../parts/query';
import { RangePicker } from '../parts/range';
import { announce, Shell } from '../parts/shell';
import { Sandwich } from '../parts/sandwich';
import { useSearchedFlame, useSearchedTimes, useSearchedTop } from '../parts/searched';
import { Source } from '../parts/source';
import { TopTable } from '../parts/table';
import { Timeline } from '../parts/timeline';
import { useViewFocus } from '../parts/view_focus';

const NAMES: Record<ServiceState['view'], string> = { flame: 'Flame graph', table: 'Table', tree: 'Call tree', sandwich: 'Sandwich', heat: 'Heat map', source: 'Source', traces: 'Traces with it' };
// Where the keyboard goes on after a step to a view.
const MAIN: Record<ServiceState['view'], string[]> = {
  flame: ['.flame-box'], table: ['table.top tr.selected th button', 'table.top tbody th button'], tree: ['.calltree'], sandwich: ['.flame-box'], heat: ['.heat-box'],
  source: ['.source', '[data-testid=no-source] button', '.table-box a'], traces: ['table.seen tbody a'],
};
const ROWS = '1000';  // of the table
// Views about one function: opened without one they take the hottest.
const ABOUT_ONE: ServiceState['view'][] = ['sandwich', 'source', 'traces'];

export function ServicePage() {
  const state = decodeService(url.value);
  const set = (change: Partial<ServiceState>, how = go) => how(encodeService({ ...decodeService(url.value), ...change }));
  const time = timeOf(state);
  const tick = useTick(state.live);
  const query = selectorOf(state.service, state.q);
  const part = state.sel ? { from: String(state.sel[0]), to: String(state.sel[1]) } : time;
  const asked = { query, type: state.type, ...part, lens: state.lens };
  const services = useQuery(JSON.stringify(['services', state.service, time, tick]), (s) => getJson<ServicesAnswer>('services', { query: selectorOf(state.service, ''), ...time }, s));
  // What has no field to search in shows no matches either.
  const searching = state.view === 'source' || state.view === 'traces' ? '' : state.search;
  const over = { query, type: state.type, ...time, by: state.by, limit: '7' };
  const series = useQuery(JSON.stringify(['series', over, tick]), (s) => getJson<SeriesAnswer>('series', over, s));
  const seen = useSearchedTimes<SeriesAnswer>('series', over, state.lens, searching, tick);
  const versions = useQuery(JSON.stringify(['versions', state.service, state.type, time, tick]),
    (s) => getJson<SeriesAnswer>('series', { query: selectorOf(state.service, ''), type: state.type, ...time, by: 'service.version', limit: '20' }, s));
  const markers = useMemo(() => markersOf(versions.data), [versions.data]);
  const flame = useQuery(JSON.stringify(['flame', asked, tick]), (s) => getFlame('flame', asked, s));
  const top = useQuery(state.view === 'table' ? JSON.stringify(['top', asked, state.sort, tick]) : null, (s) => getJson<TopAnswer>('top', { ...asked, sort: state.sort, limit: ROWS }, s));
  const { columns, searched } = useSearchedFlame(flame.data, 'flame', asked, state.search);
  const found = useSearchedTop(top.data, { ...asked, sort: state.sort, limit: ROWS }, state.view === 'table' ? state.search : '');
  const { tree, open } = useOpenedTree(columns, state.order, asked, columns?.meta.search && patternOf(state.search)?.source);
  const types = services.data?.services.find((s) => s.name === state.service)?.types ?? [];
  const shownType = state.type || flame.data?.meta.type || '';
  // Of a lens that leaves nothing the server says nothing: it is not what is stored.
  const gone = state.lens !== '' && !flame.data?.meta.hint && tree?.width[0] === 0;
  const hint = gone ? 'the lens takes all of it away' : flame.data?.meta.hint ?? (tree && tree.width[0] === 0 ? 'there are profiles, but they add up to nothing; choose another type or a longer time' : undefined);
  const clear = { zoom: '', frame: '', upzoom: '', upframe: '' };
  const hot = tree ? hottestOf(tree) : -1;
  const hottest = hot > 0 ? functionOf(tree!, hot) : null;
  const against = (change: Partial<DiffState>, base?: [number, number]) => encodeDiff({ ...againstItself(state, query, base, series.data && coveredBy(series.data)), ...change });
  const views = viewLinks(state);
  const links: FrameLink[] = [...views, { text: 'Open in diff', key: '', href: (_, frame) => against({ zoom: state.zoom, frame }) }];
  // In a sandwich a frame's address begins at the function: it is found by its name instead.
  const sideLinks: FrameLink[] = [...views, { text: 'Open in diff', key: '', href: (f) => against({ search: exactly(f.name) }) }];
  const addLens = (step: string) => set({ lens: addStep(state.lens, step), ...clear });
  // A row of the table and the frames of its function are one selection.
  const selected = useMemo(() => {
    const node = tree && state.view === 'table' && state.frame ? nodeAt(tree, state.frame) : -1;
    return node > 0 && !isFold(tree!, node) ? functionOf(tree!, node) : undefined;
  }, [tree, state.view, state.frame]);
  const pick = (f: { name: string; module: string }) => {
    const heaviest = tree ? heaviestOf(tree, f) : -1;
    set({ view: 'flame', search: exactly(f.name), ...clear, frame: heaviest > 0 ? addressOf(tree!, heaviest) : '' });
  };
  const show = (view: ServiceState['view']) => set({ view, ...(ABOUT_ONE.includes(view) && !decodeService(url.value).fn && hottest ? { fn: hottest.name, mod: hottest.module } : {}) });
  const { byKey } = useViewFocus(state.view, MAIN[state.view]);
  useEffect(() => onPageKey((e) => {
    const view = VIEWS[Number(e.key) - 1];
    const by = e.key === '[' ? -1 : e.key === ']' ? 1 : 0;
    if (!plain(e) || (!view && by === 0)) return false;
    const beside = by === 0 ? '' : windowBeside(decodeService(url.value), by, now());
    if (view) { byKey(); show(view); } else if (typeof beside === 'string') announce(beside); else set({ ...beside, ...clear });
    return true;
  }));
  const about = aboutService(state, shownType, flame.at || now(), location.origin);
  const picture = !hint && (state.view === 'flame' || state.view === 'heat');  // one flame graph, and it is what is shown
  const version = valueIn(state.q, 'service.version') || versionIn(versions.data, markers, state.sel);
  return (
    <Shell title={state.service}>
      <div class="toolbar">
        <h1 class="cut" title={safe(state.service)}><bdi>{shownName(state.service)}</bdi></h1>
        <label>Type <select value={shownType} onChange={(e) => set({ type: e.currentTarget.value, ...clear })}>
          {!types.some((t) => t.name === shownType) && <option value={shownType}>{shownType || '…'}</option>}
          {types.map((t) => <option key={t.id} value={t.name}>{t.name}</option>)}
        </select></label>
        <RangePicker time={state} onChange={(t) => set({ ...t, sel: null })} />
        <button type="button" aria-pressed={state.live} disabled={state.from !== null} title="Ask again every 5 seconds" onClick={() => set({ live: !state.live })}>Live</button>
        <span class="grow" />
        <a class="button" href={encodeTraces(newTraces(state.service, { ...state, ...(state.sel && { from: state.sel[0], to: state.sel[1] }) }))}>Traces</a>
        <a class="button" href={against({})}>Compare</a>
        <Export formats={['pprof', 'folded', 'speedscope', 'otlp', 'svg', 'csv']} texts={state.lens ? { pprof: 'pprof, functions only', otlp: 'OTLP (without the lens)' } : undefined}
          address={(format) => apiAddress('export', { ...asked, lens: format === 'otlp' ? '' : state.lens, format })} tree={picture ? tree : undefined} about={about} />
      </div>
      <Filters q={state.q} service={state.service} selector={selectorOf(state.service, '')} time={time} by={state.by} onQ={(q) => set({ q, ...clear })} onBy={(by) => set({ by })} />
      <QueryState query={series} what="the timeline" />
      <QueryState query={seen.query} what="what matches on the timeline" shown={false} />
      {series.data && !series.data.hint && <Answer query={series}><Timeline of={JSON.stringify(time)} series={seen.data ?? series.data} search={shownSearch(state.search, state.plain).text} lens={state.lens} selection={state.sel} markers={markers} onSelect={(sel) => set({ sel, ...clear })} onBaseline={(base) => go(against({}, base))} /></Answer>}
      {markers.length > 0 && <Deploys markers={markers} state={state} query={query} />}
      <div class="toolbar">
        <div role="group" aria-label="View" class="switch">
          {VIEWS.map((v) => <button key={v} type="button" aria-pressed={state.view === v} onClick={() => show(v)}>{NAMES[v]}</button>)}
        </div>
        {state.view === 'flame' && <label>Order <select value={state.order} onChange={(e) => set({ order: e.currentTarget.value as 'weight' | 'name' })}>
          <option value="weight">by weight</option><option value="name">by name</option>
        </select></label>}
        <LensChips lens={state.lens} onChange={(lens) => set({ lens, ...clear })} />
      </div>
      <QueryState query={flame} what="the flame graph" shown={flame.data !== undefined && (picture || state.view === 'tree')} />
      {hint && <Nothing hint={hint} narrowed={gone ? 'lens' : narrowedBy(state)} onClear={() => set({ lens: '', ...(!gone && { type: '', q: '', sel: null, from: null, to: null }), ...clear })} />}
      {!hint && state.view === 'heat' && <HeatMap asked={{ query, type: state.type, ...time }} lens={state.lens} search={state.search} selection={state.sel} tick={tick} onSelect={(sel) => set({ sel, ...clear })} />}
      {picture && tree && (
        <Answer query={flame}>
          <FlameGraph tree={tree} about={about} zoom={state.zoom} frame={state.frame} query={state.search} searched={searched} mark={state.mark} onMark={(mark) => set({ mark })} flip={state.flip}
            onZoom={(zoom, frame) => set({ zoom, frame })} onFrame={(frame) => set({ frame }, replace)} onQuery={(search, typed) => set({ search }, typed ? replace : go)}
            onFlip={() => set({ flip: !state.flip })} onOpenFold={open} links={links} onLens={addLens} />
        </Answer>
      )}
      {!hint && state.view === 'tree' && tree && (
        <Answer query={flame}>
          <CallTree tree={tree} about={about} frame={state.frame} query={state.search} searched={searched} onQuery={(search, typed) => set({ search }, typed ? replace : go)} onFrame={(frame) => set({ frame }, replace)}
            onZoom={(zoom) => set({ view: 'flame', zoom, frame: zoom })} onOpenFold={open} links={links} onLens={addLens} />
        </Answer>
      )}
      {!hint && state.view === 'table' && (
        <>
          <QueryState query={top} what="the table" />
          {top.data && (
            <Answer query={top}>
              <QueryState query={found.query} what="the search" shown={false} />
              <TopTable top={top.data} found={found.top} sort={state.sort} query={state.search} selected={selected} onQuery={(search, typed) => set({ search }, typed ? replace : go)} onSort={(sort) => set({ sort }, replace)} onPick={pick}
                links={views} />
            </Answer>
          )}
        </>
      )}
      {!hint && state.view === 'sandwich' && (
        <Sandwich asked={asked} about={about} fn={state.fn} mod={state.mod} search={state.search} up={{ zoom: state.upzoom, frame: state.upframe }} down={{ zoom: state.zoom, frame: state.frame }}
          onUp={(s, zoomed) => set({ upzoom: s.zoom, upframe: s.frame }, zoomed ? go : replace)} onDown={(s, zoomed) => set(s, zoomed ? go : replace)}
          onSearch={(search, typed) => set({ search }, typed ? replace : go)} onLens={addLens} links={sideLinks} />
      )}
      {!hint && state.view === 'source' && <Source asked={asked} service={state.service} version={version} fn={state.fn} mod={state.mod} line={state.line} onLine={(line) => set({ line }, replace)} />}
      {!hint && state.view === 'traces' && <FunctionTraces asked={asked} fn={state.fn} mod={state.mod} sort={state.seensort} onSort={(seensort) => set({ seensort }, replace)} />}
    </Shell>
  );
}

// Live: a number that grows every 5 s. An answer that did not change costs a 304.
function useTick(live: boolean): number {
  const [tick, setTick] = useState(0);
  useEffect(() => {
    if (!live) return;
    const id = setInterval(() => { if (!document.hidden) setTick((t) => t + 1); }, 5000);
    return () => clearInterval(id);
  }, [live]);
  return tick;
}

// Each change of version with the comparison a person on call wants next: this version against the one before.
function Deploys({ markers, state, query }: { markers: Marker[]; state: ServiceState; query: string }) {
  const side = (version: string) => query.replace(/}$/, () => `, service.version="${version.replace(/[\\"]/g, '\\$&')}"}`);
  return (
    <p class="deploys">{markers.slice(-5).map((m) => (
      <a key={m.at} href={encodeDiff({ since: state.since, from: state.from, to: state.to, query: side(m.to), baseQuery: side(m.from), baseFrom: null, baseTo: null, type: state.type, lens: state.lens, mode: 'share', ...NO_LOOK, zoom: '', frame: '' })}>
        {formatTime(m.at, zone.value === 'utc')}: {m.from} → {m.to}, compare</a>
    ))}</p>
  );
}

// What keeps something from being shown, in words.
function narrowedBy(state: ServiceState): string {
  const all = [state.q && 'filter', state.lens && 'lens', state.type && 'type', state.sel && 'selection', state.from !== null && 'time'].filter(Boolean);
  return all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')} and ${all[all.length - 1]}`;
}

function Nothing({ hint, narrowed, onClear }: { hint: string; narrowed: string; onClear: () => void }) {
  return (
    <div class="empty">
      <p><strong>Nothing to show:</strong> {said(hint)}</p>
      {narrowed !== '' && <p><button type="button" onClick={onClear}>Clear {narrowed}</button></p>}
      <p>What is stored: <a href="/?since=30d">services of the last 30 days</a>, <a href="/?since=3650d">of all time</a></p>
    </div>
  );
}
