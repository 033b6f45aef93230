// What a service's page asks the server, and what follows from the answers. The timeline is about the whole range,
// everything below it about the selected part.
import { useMemo } from 'preact/hooks';
import { getFlame, getJson } from '../core/api';
import { patternOf } from '../core/pattern';
import { selectorOf, timeOf, withoutOwn, type ServiceState } from '../core/state';
import { markersOf } from '../core/trend';
import { useFound } from '../parts/marks';
import { useOpenedTree } from '../parts/opened';
import { useQuery } from '../parts/query';
import { useSearchedFlame, useSearchedTimes, useSearchedTop } from '../parts/searched';
import { useTick } from '../parts/tick';

const ROWS = '1000'; // of the table

export function useServiceAnswers(state: ServiceState) {
  const tick = useTick(state.live);
  const time = timeOf(state);
  const query = selectorOf(state.service, state.q);
  const part = state.sel ? { from: String(state.sel[0]), to: String(state.sel[1]) } : time;
  const asked = { query, type: state.type, ...part, lens: state.lens };
  const timeline = useTimeline(state, tick);
  const flame = useQuery(JSON.stringify(['flame', asked, tick]), (s) => getFlame('flame', asked, s));
  const table = useTable(state, asked, tick);
  const { columns, searched } = useSearchedFlame(flame.data, 'flame', asked, state.search);
  const searchedFor = columns?.meta.search && patternOf(state.search)?.source;
  const { tree, open } = useOpenedTree(columns, state.order, asked, searchedFor);
  const shownType = state.type || flame.data?.meta.type || '';
  // Of a lens that leaves nothing the server says nothing: it is not what is stored.
  const gone = withoutOwn(state.lens) !== '' && !flame.data?.meta.hint && tree?.width[0] === 0;
  const empty = tree && tree.width[0] === 0 ? NOTHING : undefined;
  const hint = gone ? 'the lens removes everything' : (flame.data?.meta.hint ?? empty);
  const found = useFound(state.service, state, tick, flame.data !== undefined);
  return {
    tick,
    time,
    query,
    marked: found,
    asked,
    ...timeline,
    flame,
    ...table,
    searched,
    tree,
    open,
    shownType,
    gone,
    hint,
  };
}

export type ServiceAnswers = ReturnType<typeof useServiceAnswers>;

const NOTHING = 'there are profiles, but their values add up to 0; choose another type or a longer time range';

// The service's types, its values over time, what of them matches the search, and when its version changed.
function useTimeline(state: ServiceState, tick: number) {
  const { service, type } = state;
  const time = timeOf(state);
  const all = selectorOf(service, '');
  const services = useQuery(JSON.stringify(['services', service, time, tick]), (s) =>
    getJson('services', { query: all, ...time }, s),
  );
  const over = { query: selectorOf(service, state.q), type, ...time, by: state.by, limit: '7' };
  const series = useQuery(JSON.stringify(['series', over, tick]), (s) => getJson('series', over, s));
  // What has no field to search in shows no matches either.
  const searching = state.view === 'source' || state.view === 'traces' ? '' : state.search;
  const seen = useSearchedTimes('series', over, state.lens, searching, tick);
  const versions = useQuery(JSON.stringify(['versions', service, type, time, tick]), (s) =>
    getJson('series', { query: all, type, ...time, by: 'service.version', limit: '20' }, s),
  );
  const markers = useMemo(() => markersOf(versions.data), [versions.data]);
  const types = services.data?.services.find((s) => s.name === service)?.types ?? [];
  return { types, series, seen, versions, markers };
}

function useTable({ view, sort, search }: ServiceState, asked: Record<string, string>, tick: number) {
  const wanted = { ...asked, sort, limit: ROWS };
  const top = useQuery(view === 'table' ? JSON.stringify(['top', asked, sort, tick]) : null, (s) =>
    getJson('top', wanted, s),
  );
  const found = useSearchedTop(top.data, wanted, view === 'table' ? search : '');
  return { top, found };
}
