// The bar above a service's views: service, type, time, filter, views and a menu; what stands below the timeline; and
// the message if there is nothing to show.
import type { About } from '../core/about';
import { apiAddress, getJson } from '../core/api';
import { formatMany, formatTime, formatValue } from '../core/format';
import { now } from '../core/clock';
import type { Wanted } from '../core/pins';
import { rangeOf } from '../core/presets';
import { said, zone } from '../core/settings';
import {
  encodeDiff,
  encodeTraces,
  newDiff,
  newTraces,
  ownRules,
  selectorOf,
  VIEWS,
  withoutOwn,
  type ServiceState,
  type View,
} from '../core/state';
import type { Marker } from '../core/trend';
import type { Tree } from '../core/tree';
import { cardsOf, timesText } from '../core/worse';
import { safe, shownName } from '../draw/flame';
import { Export } from '../parts/export';
import { Filters } from '../parts/filters';
import { LensChips, OwnCode } from '../parts/lens';
import { Counts } from '../parts/marks';
import { KeepButton } from '../parts/pins';
import { Popover } from '../parts/popover';
import { RangePicker } from '../parts/range';
import { useQuery } from '../parts/query';
import { PHONE, useAtLeast, WIDE } from '../parts/window';
import type { ServiceAnswers } from './service_answers';

export type SetService = (change: Partial<ServiceState>, how?: (address: string) => void) => void;

// A frame belongs to one tree; a new query clears zoom and selection.
export const NO_FRAME = { zoom: '', frame: '', upzoom: '', upframe: '' };

interface ServiceBarProps {
  state: ServiceState;
  answers: ServiceAnswers;
  set: SetService;
  show: (view: View) => void;
  compare: string; // the address of the comparison
  picture?: Tree; // if a single flame graph is shown
  about: About;
}

// One row, whatever the window's width: what does not fit is in the menu at its end.
export function ServiceBar(p: ServiceBarProps) {
  const { state, answers, set } = p;
  const [wide, roomy] = [useAtLeast(WIDE), useAtLeast(PHONE)];
  const choices = (
    <>
      <TypeChoice answers={answers} onType={(type) => set({ type, ...NO_FRAME })} />
      <RangePicker time={state} onChange={(t) => set({ ...t, sel: null })} />
    </>
  );
  return (
    <div class="toolbar service-bar">
      <h1 class="cut" title={safe(state.service)}>
        <bdi>{shownName(state.service)}</bdi>
      </h1>
      {roomy && choices}
      {roomy && (
        <Popover name={filterName(state)}>
          <ServiceFilters {...p} />
        </Popover>
      )}
      <Views {...p} buttons={wide} />
      <span class="grow" />
      {wide && <Often {...p} />}
      {roomy && <ExportMenu {...p} />}
      <Popover name="⋯" label="More" class="end">
        {!roomy && choices}
        {!roomy && <ServiceFilters {...p} />}
        <More {...p} wide={wide} roomy={roomy} />
        {!roomy && <ExportMenu {...p} />}
      </Popover>
    </div>
  );
}

const filterName = ({ q, by }: ServiceState) =>
  q === '' && by === ''
    ? '+ filter, split'
    : [q && `{${shownName(q, 24)}}`, by && `by ${shownName(by, 20)}`].filter(Boolean).join(' ');

function ServiceFilters({ state, answers, set }: ServiceBarProps) {
  return (
    <Filters
      q={state.q}
      service={state.service}
      selector={selectorOf(state.service, '')}
      time={answers.time}
      by={state.by}
      onQ={(q) => set({ q, ...NO_FRAME })}
      onBy={(by) => set({ by })}
    />
  );
}

function ExportMenu({ state: { lens }, answers, picture, about }: ServiceBarProps) {
  return (
    <Export
      formats={['pprof', 'folded', 'speedscope', 'otlp', 'svg', 'csv']}
      texts={lens ? { pprof: 'pprof, functions only', otlp: 'OTLP (without the lens)' } : undefined}
      address={(format) => apiAddress('export', { ...answers.asked, lens: format === 'otlp' ? '' : lens, format })}
      tree={picture}
      about={about}
    />
  );
}

function Often({ state, set, compare }: ServiceBarProps) {
  return (
    <>
      <button
        type="button"
        aria-pressed={state.live}
        disabled={state.from !== null}
        title="Ask again every 5 seconds"
        onClick={() => set({ live: !state.live })}
      >
        Live
      </button>
      <a class="button" href={compare}>
        Compare
      </a>
    </>
  );
}

function More({ wide, roomy, ...p }: ServiceBarProps & { wide: boolean; roomy: boolean }) {
  const { state, answers, set } = p;
  const { service, sel } = state;
  const traces = newTraces(service, { ...state, ...(sel && { from: sel[0], to: sel[1] }) });
  return (
    <>
      {!wide && <Often {...p} />}
      <a class="button" href={encodeTraces(traces)}>
        Traces of it
      </a>
      {state.view === 'flame' && (
        <label>
          Order{' '}
          <select value={state.order} onChange={(e) => set({ order: e.currentTarget.value as 'weight' | 'name' })}>
            <option value="weight">by weight</option>
            <option value="name">by name</option>
          </select>
        </label>
      )}
      <KeepButton wanted={() => windowOf(state)} />
      {answers.markers.slice(-6, roomy ? -1 : undefined).map((m) => (
        <Deploy key={m.at} marker={m} state={state} query={answers.query} />
      ))}
    </>
  );
}

// The selected part, or all of the time that is shown.
function windowOf(state: ServiceState): Wanted {
  const [from, to] = state.sel ?? rangeOf(state, now());
  return { service: state.service, from, to, why: '' };
}

function TypeChoice({ answers, onType }: { answers: ServiceAnswers; onType: (type: string) => void }) {
  const { types, shownType } = answers;
  return (
    <label>
      <span class="name">Type</span>{' '}
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

// The name of a view, and the part of it that is shown in the bar.
const NAMES: Record<View, [string, string]> = {
  flame: ['Flame graph', 'Flame'],
  table: ['Table', 'Table'],
  tree: ['Call tree', 'Tree'],
  sandwich: ['Sandwich', 'Sandwich'],
  heat: ['Heat map', 'Heat'],
  source: ['Source', 'Source'],
  traces: ['Traces with it', 'Traces'],
};

function Views({ state, show, buttons }: ServiceBarProps & { buttons: boolean }) {
  if (!buttons)
    return (
      <select aria-label="View" value={state.view} onChange={(e) => show(e.currentTarget.value as View)}>
        {VIEWS.map((v) => (
          <option key={v} value={v}>
            {NAMES[v][0]}
          </option>
        ))}
      </select>
    );
  return (
    <div role="group" aria-label="View" class="switch">
      {VIEWS.map((v, i) => (
        <button
          key={v}
          type="button"
          aria-pressed={state.view === v}
          aria-label={NAMES[v][0]}
          title={`${NAMES[v][0]}, key ${i + 1}`}
          onClick={() => show(v)}
        >
          {NAMES[v][1]}
        </button>
      ))}
    </div>
  );
}

// What stands between timeline and picture: the newest version against the one before, and the lens.
export function Facts({ state, answers, set }: Pick<ServiceBarProps, 'state' | 'answers' | 'set'>) {
  const newest = answers.markers.at(-1);
  const phone = !useAtLeast(PHONE);
  const onLens = (lens: string) => set({ lens, ...NO_FRAME });
  const lens = (
    <>
      <OwnCode lens={state.lens} onChange={onLens} />
      <LensChips lens={state.lens} onChange={onLens} own />
    </>
  );
  return (
    <div class="facts">
      {newest && !phone && <Deploy marker={newest} state={state} query={answers.query} />}
      <Cost state={state} answers={answers} />
      <Counts found={answers.marked} service={state.service} time={state} />
      <span class="grow" />
      {phone ? (
        <Popover name={ownRules(state.lens) === null ? 'Lens' : 'Own code, lens'} class="end">
          {lens}
        </Popover>
      ) : (
        lens
      )}
    </div>
  );
}

// CPU time per request in what is shown, and whether it surely grew since the last version. Only of a service as a
// whole: requests have no labels of profiles.
function Cost({ state, answers }: Pick<ServiceBarProps, 'state' | 'answers'>) {
  const { service, q, lens } = state;
  const { flame, asked, shownType } = answers;
  const whole = shownType === 'cpu' && q.trim() === '' && withoutOwn(lens) === '';
  const { query: _, type: _type, lens: _lens, ...time } = asked;
  const requests = useQuery(whole ? JSON.stringify(['requests', service, time]) : null, (s) =>
    getJson('latency', { service, ...time, steps: '1' }, s),
  );
  const total = Number(flame.data?.meta.total ?? 0);
  if (!whole || !requests.data || requests.data.spans === 0 || total === 0) return null;
  const found = cardsOf(answers.marked.worse).find((e) => e.service === service);
  return (
    <span data-testid="cost" class="figures" title={`${formatMany(requests.data.spans, 'request')}`}>
      {formatValue(total / requests.data.spans, 'nanoseconds')} CPU/request
      {found && (
        <b class="worse-sign" title={safe(found.sentence).slice(0, 500)}>
          {' '}
          ▲ {found.mode === 'request' && timesText(found.whole)}
        </b>
      )}
    </span>
  );
}

interface DeployProps {
  marker: Marker;
  state: ServiceState;
  query: string;
}

// A change of version, linked to a comparison of the new version with the one before.
function Deploy({ marker: m, state, query }: DeployProps) {
  const { since, from, to, type } = state;
  const side = (version: string) =>
    query.replace(/}$/, () => `, service.version="${version.replace(/[\\"]/g, '\\$&')}"}`);
  const sides = { since, from, to, query: side(m.to), baseQuery: side(m.from), type, lens: state.lens };
  return (
    <a class="deploy" href={encodeDiff(newDiff({ ...sides, mode: 'share' }))}>
      {formatTime(m.at, zone.value === 'utc')}: {m.from} → {m.to}, compare
    </a>
  );
}

// What narrows the selection, in words.
export function narrowedBy(state: ServiceState): string {
  const all = [
    state.q && 'filter',
    withoutOwn(state.lens) && 'lens',
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
