// The views of a service: flame graph, call tree, table, sandwich, heat map, source, traces. The address says which one
// is shown, and how.
import { useMemo } from 'preact/hooks';
import type { About } from '../core/about';
import { go, replace } from '../core/location';
import { exactly } from '../core/names';
import { addressOf, nodeAt } from '../core/path';
import { valueIn } from '../core/presets';
import { addStep, encodeService, ownRules, type DiffState, type ServiceState } from '../core/state';
import { versionIn } from '../core/trend';
import { functionOf, heaviestOf, isFold, type Tree } from '../core/tree';
import { viewLinks, type FrameLink } from '../parts/actions';
import { CallTree } from '../parts/call_tree';
import { FlameGraph } from '../parts/flame';
import { FunctionFacts } from '../parts/function_facts';
import { FunctionTraces } from '../parts/function_traces';
import { HeatMap } from '../parts/heat';
import type { Details } from '../parts/inspector';
import { Answer, QueryState } from '../parts/query';
import { Sandwich } from '../parts/sandwich';
import { Source } from '../parts/source';
import { TopTable } from '../parts/table';
import type { ServiceAnswers } from './service_answers';
import { NO_FRAME, type SetService } from './service_bar';

export interface ServiceViewProps {
  state: ServiceState;
  answers: ServiceAnswers;
  set: SetService;
  against: (change: Partial<DiffState>) => string; // the address of a comparison
  about: About;
}

export function ServiceView(p: ServiceViewProps) {
  const { state, answers } = p;
  const { tree, flame } = answers;
  return (
    <>
      {state.view === 'heat' && <Heat {...p} />}
      {(state.view === 'flame' || state.view === 'heat') && tree && (
        <Answer query={flame}>
          <Graph {...p} tree={tree} />
        </Answer>
      )}
      {state.view === 'tree' && tree && (
        <Answer query={flame}>
          <Calls {...p} tree={tree} />
        </Answer>
      )}
      {state.view === 'table' && <Table {...p} />}
      {state.view === 'sandwich' && <BothSides {...p} />}
      {state.view === 'source' && <FunctionSource {...p} />}
      {state.view === 'traces' && (
        <FunctionTraces
          asked={answers.asked}
          fn={state.fn}
          mod={state.mod}
          sort={state.seensort}
          onSort={(seensort) => p.set({ seensort }, replace)}
        />
      )}
    </>
  );
}

// Shared by flame graph, call tree and sandwich.
const lensOf =
  ({ state, set }: ServiceViewProps) =>
  (step: string) =>
    set({ lens: addStep(state.lens, step), ...NO_FRAME });
const searchOf =
  ({ set }: ServiceViewProps) =>
  (search: string, typed?: boolean) =>
    set({ search }, typed ? replace : go);
const linksOf = ({ state, against }: ServiceViewProps): FrameLink[] => [
  ...viewLinks(state),
  { text: 'Open in diff', key: '', href: (_, frame) => against({ zoom: state.zoom, frame }) },
];

const detailsOf =
  ({ state, answers }: ServiceViewProps): Details =>
  (f) => (
    <FunctionFacts
      asked={answers.asked}
      service={state.service}
      markers={answers.markers}
      fn={f.name}
      mod={f.module}
      href={(view) => encodeService({ ...state, ...NO_FRAME, view, fn: f.name, mod: f.module, line: 0 })}
    />
  );

function Graph(p: ServiceViewProps & { tree: Tree }) {
  const { state, answers, set, about } = p;
  return (
    <FlameGraph
      tree={p.tree}
      about={about}
      zoom={state.zoom}
      frame={state.frame}
      query={state.search}
      searched={answers.searched}
      mark={state.mark}
      onMark={(mark) => set({ mark })}
      flip={state.flip}
      onZoom={(zoom, frame) => set({ zoom, frame })}
      onFrame={(frame) => set({ frame }, replace)}
      onQuery={searchOf(p)}
      onFlip={() => set({ flip: !state.flip })}
      own={ownRules(state.lens) !== null}
      onOpenFold={answers.open}
      links={linksOf(p)}
      onLens={lensOf(p)}
      details={detailsOf(p)}
      fill={state.view === 'flame'}
    />
  );
}

function Calls(p: ServiceViewProps & { tree: Tree }) {
  const { state, answers, set, about } = p;
  return (
    <CallTree
      tree={p.tree}
      about={about}
      frame={state.frame}
      query={state.search}
      searched={answers.searched}
      onQuery={searchOf(p)}
      onFrame={(frame) => set({ frame }, replace)}
      onZoom={(zoom) => set({ view: 'flame', zoom, frame: zoom })}
      onOpenFold={answers.open}
      links={linksOf(p)}
      onLens={lensOf(p)}
      details={detailsOf(p)}
    />
  );
}

function Heat({ state, answers, set }: ServiceViewProps) {
  return (
    <HeatMap
      asked={{ query: answers.query, type: state.type, ...answers.time }}
      lens={state.lens}
      search={state.search}
      selection={state.sel}
      tick={answers.tick}
      onSelect={(sel) => set({ sel, ...NO_FRAME })}
    />
  );
}

function Table(p: ServiceViewProps) {
  const { state, set } = p;
  const { tree, top, found } = p.answers;
  // The selected frame's function is the selected row.
  const selected = useMemo(() => {
    const node = tree && state.frame ? nodeAt(tree, state.frame) : -1;
    return node > 0 && !isFold(tree!, node) ? functionOf(tree!, node) : undefined;
  }, [tree, state.frame]);
  const pick = (f: { name: string; module: string }) => {
    const heaviest = tree ? heaviestOf(tree, f) : -1;
    const frame = heaviest > 0 ? addressOf(tree!, heaviest) : '';
    set({ view: 'flame', search: exactly(f.name), ...NO_FRAME, frame });
  };
  return (
    <>
      <QueryState query={top} what="the table" />
      {top.data && (
        <Answer query={top}>
          <QueryState query={found.query} what="the search" shown={false} />
          <TopTable
            top={top.data}
            found={found.top}
            sort={state.sort}
            query={state.search}
            selected={selected}
            onQuery={searchOf(p)}
            onSort={(sort) => set({ sort }, replace)}
            onPick={pick}
            links={viewLinks(state)}
          />
        </Answer>
      )}
    </>
  );
}

function BothSides(p: ServiceViewProps) {
  const { state, set, about, against } = p;
  // Frame addresses start at the function here, so the diff searches for its name instead.
  const links: FrameLink[] = [
    ...viewLinks(state),
    { text: 'Open in diff', key: '', href: (f) => against({ search: exactly(f.name) }) },
  ];
  return (
    <Sandwich
      asked={p.answers.asked}
      about={about}
      fn={state.fn}
      mod={state.mod}
      search={state.search}
      up={{ zoom: state.upzoom, frame: state.upframe }}
      down={{ zoom: state.zoom, frame: state.frame }}
      onUp={(s, zoomed) => set({ upzoom: s.zoom, upframe: s.frame }, zoomed ? go : replace)}
      onDown={(s, zoomed) => set(s, zoomed ? go : replace)}
      onSearch={searchOf(p)}
      onLens={lensOf(p)}
      links={links}
    />
  );
}

function FunctionSource({ state, answers, set }: ServiceViewProps) {
  const { versions, markers } = answers;
  return (
    <Source
      asked={answers.asked}
      service={state.service}
      version={valueIn(state.q, 'service.version') || versionIn(versions.data, markers, state.sel)}
      fn={state.fn}
      mod={state.mod}
      line={state.line}
      onLine={(line) => set({ line }, replace)}
    />
  );
}
