// The parts above a service's views: service, type and time, links and export, changes of version, the choice of a
// view; and the message if there is nothing to show.
import type { About } from '../core/about';
import { apiAddress } from '../core/api';
import { formatTime } from '../core/format';
import { said, zone } from '../core/settings';
import { encodeDiff, encodeTraces, newDiff, newTraces, VIEWS, type ServiceState, type View } from '../core/state';
import type { Marker } from '../core/trend';
import type { Tree } from '../core/tree';
import { safe, shownName } from '../draw/flame';
import { Export } from '../parts/export';
import { LensChips } from '../parts/lens';
import { RangePicker } from '../parts/range';
import type { ServiceAnswers } from './service_answers';

export type SetService = (change: Partial<ServiceState>, how?: (address: string) => void) => void;

// A frame belongs to one tree; a new query clears zoom and selection.
export const NO_FRAME = { zoom: '', frame: '', upzoom: '', upframe: '' };

interface ServiceBarProps {
  state: ServiceState;
  answers: ServiceAnswers;
  set: SetService;
  compare: string; // the address of the comparison
  picture?: Tree; // if a single flame graph is shown
  about: About;
}

export function ServiceBar({ state, answers, set, compare, picture, about }: ServiceBarProps) {
  const { service, sel, lens } = state;
  const traces = newTraces(service, { ...state, ...(sel && { from: sel[0], to: sel[1] }) });
  return (
    <div class="toolbar">
      <h1 class="cut" title={safe(service)}>
        <bdi>{shownName(service)}</bdi>
      </h1>
      <TypeChoice answers={answers} onType={(type) => set({ type, ...NO_FRAME })} />
      <RangePicker time={state} onChange={(t) => set({ ...t, sel: null })} />
      <button
        type="button"
        aria-pressed={state.live}
        disabled={state.from !== null}
        title="Ask again every 5 seconds"
        onClick={() => set({ live: !state.live })}
      >
        Live
      </button>
      <span class="grow" />
      <a class="button" href={encodeTraces(traces)}>
        Traces
      </a>
      <a class="button" href={compare}>
        Compare
      </a>
      <Export
        formats={['pprof', 'folded', 'speedscope', 'otlp', 'svg', 'csv']}
        texts={lens ? { pprof: 'pprof, functions only', otlp: 'OTLP (without the lens)' } : undefined}
        address={(format) => apiAddress('export', { ...answers.asked, lens: format === 'otlp' ? '' : lens, format })}
        tree={picture}
        about={about}
      />
    </div>
  );
}

function TypeChoice({ answers, onType }: { answers: ServiceAnswers; onType: (type: string) => void }) {
  const { types, shownType } = answers;
  return (
    <label>
      Type{' '}
      <select value={shownType} onChange={(e) => onType(e.currentTarget.value)}>
        {!types.some((t) => t.name === shownType) && <option value={shownType}>{shownType || '…'}</option>}
        {types.map((t) => (
          <option key={t.id} value={t.name}>
            {t.name}
          </option>
        ))}
      </select>
    </label>
  );
}

const NAMES: Record<View, string> = {
  flame: 'Flame graph',
  table: 'Table',
  tree: 'Call tree',
  sandwich: 'Sandwich',
  heat: 'Heat map',
  source: 'Source',
  traces: 'Traces with it',
};

export function ViewBar({ state, set, show }: { state: ServiceState; set: SetService; show: (view: View) => void }) {
  return (
    <div class="toolbar">
      <div role="group" aria-label="View" class="switch">
        {VIEWS.map((v) => (
          <button key={v} type="button" aria-pressed={state.view === v} onClick={() => show(v)}>
            {NAMES[v]}
          </button>
        ))}
      </div>
      {state.view === 'flame' && (
        <label>
          Order{' '}
          <select value={state.order} onChange={(e) => set({ order: e.currentTarget.value as 'weight' | 'name' })}>
            <option value="weight">by weight</option>
            <option value="name">by name</option>
          </select>
        </label>
      )}
      <LensChips lens={state.lens} onChange={(lens) => set({ lens, ...NO_FRAME })} />
    </div>
  );
}

// Each change of version, linked to a comparison of the new version with the one before.
export function Deploys({ markers, state, query }: { markers: Marker[]; state: ServiceState; query: string }) {
  const { since, from, to, type, lens } = state;
  const side = (version: string) =>
    query.replace(/}$/, () => `, service.version="${version.replace(/[\\"]/g, '\\$&')}"}`);
  return (
    <p class="deploys">
      {markers.slice(-5).map((m) => (
        <a
          key={m.at}
          href={encodeDiff(
            newDiff({ since, from, to, query: side(m.to), baseQuery: side(m.from), type, lens, mode: 'share' }),
          )}
        >
          {formatTime(m.at, zone.value === 'utc')}: {m.from} → {m.to}, compare
        </a>
      ))}
    </p>
  );
}

// What narrows the selection, in words.
export function narrowedBy(state: ServiceState): string {
  const all = [
    state.q && 'filter',
    state.lens && 'lens',
    state.type && 'type',
    state.sel && 'selection',
    state.from !== null && 'time',
  ].filter(Boolean);
  return all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')} and ${all[all.length - 1]}`;
}

export function Nothing({ hint, narrowed, onClear }: { hint: string; narrowed: string; onClear: () => void }) {
  return (
    <div class="empty">
      <p>
        <strong>Nothing to show:</strong> {said(hint)}
      </p>
      {narrowed !== '' && (
        <p>
          <button type="button" onClick={onClear}>
            Clear {narrowed}
          </button>
        </p>
      )}
      <p>
        What is stored: <a href="/?since=30d">services of the last 30 days</a>, <a href="/?since=3650d">of all time</a>
      </p>
    </div>
  );
}
