// One service: when (timeline), what kind (type), which part (filters, lens), and where it went (flame graph, table).
// This puts together what is asked (service_answers.ts), what stands above (service_bar.tsx) and the views
// (service_view.tsx).
import { useEffect, useMemo } from 'preact/hooks';
import { now } from '../core/clock';
import { aboutService } from '../core/about';
import { onPageKey, plain } from '../core/keys';
import { go, url } from '../core/location';
import { listOf, marksOf } from '../core/marks';
import { againstItself, windowBeside } from '../core/presets';
import { shownSearch } from '../core/search_text';
import {
  decodeService,
  encodeDiff,
  encodeService,
  VIEWS,
  type DiffState,
  type ServiceState,
  type View,
} from '../core/state';
import { coveredBy } from '../core/trend';
import { colourIndex, isOwn } from '../core/palette';
import { functionOf, hottestOf, hottestOwnOf } from '../core/tree';
import { Answer, QueryState } from '../parts/query';
import { announce, Shell } from '../parts/shell';
import { Timeline } from '../parts/timeline';
import { useViewFocus } from '../parts/view_focus';
import { useServiceAnswers, type ServiceAnswers } from './service_answers';
import { Facts, narrowedBy, NO_FRAME, Nothing, ServiceBar, type SetService } from './service_bar';
import { ServiceView } from './service_view';

// Where the focus goes after a change of view.
const MAIN: Record<View, string[]> = {
  flame: ['.flame-box'],
  table: ['table.top tr.selected th button', 'table.top tbody th button'],
  tree: ['.calltree'],
  sandwich: ['.flame-box'],
  heat: ['.heat-box'],
  source: ['.source', '[data-testid=no-source] button', '.table-box a'],
  traces: ['table.seen tbody a'],
};
// Views about one function; without one they show the own function that does most.
const ABOUT_ONE: View[] = ['sandwich', 'source', 'traces'];

const set: SetService = (change, how = go) => how(encodeService({ ...decodeService(url.value), ...change }));

export function ServicePage() {
  const state = decodeService(url.value);
  const answers = useServiceAnswers(state);
  const { query, flame, tree, gone, hint, series } = answers;
  const against = (change: Partial<DiffState>, base?: [number, number]) =>
    encodeDiff({ ...againstItself(state, query, base, series.data && coveredBy(series.data)), ...change });
  const show = (view: View) => set({ view, ...functionFor(view, answers) });
  const { byKey } = useViewFocus(state.view, MAIN[state.view]);
  useServiceKeys((view) => {
    byKey();
    show(view);
  });
  const about = aboutService(state, answers.shownType, flame.at || now(), location.origin);
  // Whether a single flame graph is shown.
  const picture = !hint && (state.view === 'flame' || state.view === 'heat');
  const everything = { type: '', q: '', sel: null, from: null, to: null };
  return (
    <Shell title={state.service} fill={state.view === 'flame'}>
      <ServiceBar
        state={state}
        answers={answers}
        set={set}
        show={show}
        compare={against({})}
        picture={picture ? tree : undefined}
        about={about}
      />
      <ServiceTimeline state={state} answers={answers} onBaseline={(base) => go(against({}, base))} />
      <Facts state={state} answers={answers} set={set} />
      <QueryState
        query={flame}
        what="the flame graph"
        shown={flame.data !== undefined && (picture || state.view === 'tree')}
      />
      {hint ? (
        <Nothing
          hint={hint}
          narrowed={gone ? 'lens' : narrowedBy(state)}
          onClear={() => set({ lens: '', ...(!gone && everything), ...NO_FRAME })}
        />
      ) : (
        <ServiceView state={state} answers={answers} set={set} against={against} about={about} />
      )}
    </Shell>
  );
}

interface ServiceTimelineProps {
  state: ServiceState;
  answers: ServiceAnswers;
  onBaseline: (base: [number, number]) => void;
}

function ServiceTimeline({ state, answers, onBaseline }: ServiceTimelineProps) {
  const { series, seen } = answers;
  const marks = useMemo(
    () => marksOf(answers.marked, answers.markers, state.service, state, now()),
    [answers.marked, answers.markers],
  );
  return (
    <>
      <QueryState query={series} what="the timeline" />
      <QueryState query={seen.query} what="what matches on the timeline" shown={false} />
      {series.data && !series.data.hint && (
        <Answer query={series}>
          <Timeline
            of={JSON.stringify(answers.time)}
            series={seen.data ?? series.data}
            search={shownSearch(state.search, state.plain).text}
            lens={state.lens}
            selection={state.sel}
            markers={answers.markers}
            marks={marks}
            listOf={(kind) => listOf(kind, state.service, state)}
            onSelect={(sel) => set({ sel, ...NO_FRAME })}
            onBaseline={onBaseline}
          />
        </Answer>
      )}
    </>
  );
}

// The function for a view that is opened without one.
function functionFor(view: View, { tree }: ServiceAnswers): Partial<ServiceState> {
  if (!tree || !ABOUT_ONE.includes(view) || decodeService(url.value).fn) return {};
  const own = tree.functions.map((f) => isOwn(colourIndex(f.name, f.module, f.kind)));
  const ofOwn = tree.meta.inverted ? -1 : hottestOwnOf(tree, own);
  const hot = ofOwn > 0 ? ofOwn : hottestOf(tree);
  if (hot <= 0) return {};
  const { name, module } = functionOf(tree, hot);
  return { fn: name, mod: module };
}

// 1 to 7 select a view, [ and ] the time window before and after.
function useServiceKeys(show: (view: View) => void): void {
  useEffect(() =>
    onPageKey((e) => {
      const view = VIEWS[Number(e.key) - 1];
      const by = e.key === '[' ? -1 : e.key === ']' ? 1 : 0;
      if (!plain(e) || (!view && by === 0)) return false;
      if (view) {
        show(view);
        return true;
      }
      const beside = windowBeside(decodeService(url.value), by as 1 | -1, now());
      if (typeof beside === 'string') announce(beside);
      else set({ ...beside, ...NO_FRAME });
      return true;
    }),
  );
}
