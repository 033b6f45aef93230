// Traces: search form, a heat map of how long all that match took, what is different in a part of it, and the list.
import type { Traces, TraceSummary } from '../core/answers';
import { ApiError, getJson } from '../core/api';
import { formatCount, formatLooks, formatMany, formatValue } from '../core/format';
import { boxParams, boxText } from '../core/latency';
import { go, url } from '../core/location';
import { OFFERED, type Listed } from '../core/many';
import { zone } from '../core/settings';
import {
  decodeTraces,
  encodeSlow,
  encodeTrace,
  encodeTraces,
  newSlow,
  newTrace,
  newTraces,
  timeOf,
  type Box,
  type TimeState,
  type TracesState,
} from '../core/state';
import { shownName } from '../draw/flame';
import { Ago } from '../parts/ago';
import { Choice } from '../parts/choice';
import { LatencyMap } from '../parts/latency';
import { Answer, QueryState, useQuery, type Query } from '../parts/query';
import { RangePicker } from '../parts/range';
import { Command, otlpCommand, Shell } from '../parts/shell';
import { SlowResult } from '../parts/slow_result';
import { SortHeader } from '../parts/sort_header';
import { TableBox } from '../parts/table_box';

export const traceLink = (trace: string) => encodeTrace(newTrace(trace));
const LIMIT = 200;
const ESTIMATE =
  'an estimate from the samples; the times of several threads add up, and one sample may stand for more than the ' +
  'request took';
const EXCEEDS =
  'more than the trace took, because threads or spans that run or wait at once add up, and samples are an estimate';
const LISTED: Record<TracesState['sort'], string> = {
  time: 'newest',
  duration: 'slowest',
  cpu: 'ones with most CPU time',
  samples: 'ones with most samples',
};
// The fields of the form: in the state, as an API parameter, as the page calls them.
const FIELDS = [
  ['min', 'min_duration', 'Longer than'],
  ['max', 'max_duration', 'Shorter than'],
  ['attribute', 'attribute', 'Attribute'],
  ['status', 'status', 'Status'],
] as const;

// More than the trace took, because threads or spans that ran at once add up.
const exceeds = (t: TraceSummary, type: string) =>
  t.profiled.some((p) => p.type === type && p.unit === 'nanoseconds' && Number(p.value) > Number(t.duration_ns));

function profiledOf(t: TraceSummary, type: string): string {
  const found = t.profiled.find((p) => p.type === type);
  if (found?.error_ns !== undefined)
    return formatLooks(Number(found.value), found.unit, Number(found.error_ns), Number(found.count));
  return found ? formatValue(Number(found.value), found.unit) : '–';
}

// Samples of the type that the trace's page shows first; the type is named unless it is CPU time.
function samplesOf({ profiled: [first] }: TraceSummary): string {
  return first ? formatCount(Number(first.count)) + (first.type === 'cpu' ? '' : ` ${first.type}`) : 'none';
}

const set = (change: Partial<TracesState>) => go(encodeTraces({ ...decodeTraces(url.value), ...change }));

export function TracesPage() {
  const state = decodeTraces(url.value);
  const { sort, box } = state;
  const wanted = {
    ...timeOf(state),
    service: state.service,
    name: state.name,
    min_duration: state.min,
    max_duration: state.max,
    status: state.status,
    attribute: state.attribute,
  };
  const asked = { ...wanted, ...(box && insideOf(box, state)), limit: String(LIMIT), matched: '0', sort };
  const latency = useQuery(JSON.stringify(['latency', wanted]), (s) => getJson('latency', wanted, s));
  const names = useNames(state); // not inside the form, which is recreated after every change
  const found = useQuery(JSON.stringify(['traces', asked]), (s) => getJson('traces', asked, s));
  const traces = [...(found.data?.traces ?? [])];
  if (sort === 'duration') traces.sort((a, b) => Number(b.duration_ns) - Number(a.duration_ns));
  if (sort === 'time') traces.sort((a, b) => Number(b.start_ns) - Number(a.start_ns));
  return (
    <Shell title="Traces">
      <div class="toolbar">
        <h1>Traces</h1>
        <RangePicker time={state} onChange={set} />
        <span class="grow" />
        {state.service !== '' && state.name !== '' && (
          <a
            class="button"
            href={encodeSlow({
              ...newSlow(state),
              service: state.service,
              name: state.name,
              attribute: state.attribute,
            })}
          >
            Slow versus typical
          </a>
        )}
      </div>
      <Conditions state={state} names={names} key={encodeTraces({ ...state, sort: 'time' })} />
      <Problem state={state} found={found} />
      {found.data && traces.length === 0 && <NoTrace state={state} />}
      <QueryState query={latency} what="the heat map" shown={false} />
      {latency.data && latency.data.cells.length > 0 && (
        <Answer query={latency}>
          <LatencyMap latency={latency.data} what={whatOf(state)} box={box} onBox={(b) => set({ box: b })} />
        </Answer>
      )}
      {box && <Selected state={state} box={box} services={names.services.list.data?.names ?? []} />}
      {traces.length > 0 && (
        <Answer query={found}>
          <TableBox label="Traces">
            <TraceTable traces={traces} sort={sort} lookedAt={found.data?.looked_at} />
          </TableBox>
        </Answer>
      )}
    </Shell>
  );
}

const whatOf = (state: TracesState) => (state.name === '' ? 'request' : 'span');

// The traces of a selection: those with a span that was counted in it.
const insideOf = ([from, to, least, most]: Box, { name }: TracesState) => ({
  since: undefined,
  from: String(from),
  to: String(to),
  min_duration: least > 0 ? `${least}ns` : undefined,
  max_duration: `${most}ns`,
  only: name === '' ? 'requests' : undefined,
});

const MOST_CHOICES = 8;

// The selected requests against all others: attributes, functions and parts that differ.
function Selected({ state, box, services }: { state: TracesState; box: Box; services: string[] }) {
  const { service, name, attribute } = state;
  const asked = { ...timeOf(state), service, name, attribute, ...boxParams(box) };
  const found = useQuery(service === '' ? null : JSON.stringify(['selected', asked]), (s) => getJson('slow', asked, s));
  const narrowed = state.min !== '' || state.max !== '' || state.status !== '';
  return (
    <section class="selected-box" aria-label="Selection">
      <div class="toolbar">
        <h2>
          Selected: {whatOf(state)}s {boxText(box, zone.value === 'utc')}, against all others
        </h2>
        <button type="button" onClick={() => set({ box: null })}>
          Clear selection
        </button>
      </div>
      {service === '' && (
        <p class="actions">
          Requests of one service are compared:{' '}
          {services.slice(0, MOST_CHOICES).map((s) => (
            <button key={s} type="button" onClick={() => set({ service: s, name: '' })}>
              <bdi class="cut">{shownName(s, 60)}</bdi>
            </button>
          ))}
        </p>
      )}
      {service !== '' && narrowed && (
        <p class="small">Compared with all requests, whatever their status and duration.</p>
      )}
      <QueryState query={found} what="what differs" />
      {found.data && (
        <Answer query={found}>
          <SlowResult state={state} slow={found.data} selected />
        </Answer>
      )}
    </section>
  );
}

// Services and spans to choose from: the first ones, or those whose name contains a text.
export function useNames(state: TimeState & { service: string }) {
  const time = timeOf(state);
  const names = (search: string, limit: string, s: AbortSignal) =>
    getJson('span-names', { ...time, service: state.service, search, limit }, s);
  const findService = async (...how: Parameters<typeof names>): Promise<Listed> => {
    const a = await names(...how);
    return { names: a.services, total: a.services_total };
  };
  const findSpan = async (...how: Parameters<typeof names>): Promise<Listed> => {
    const a = await names(...how);
    return { names: [...new Set(a.spans.map((n) => n.name))].sort(), total: a.total };
  };
  const [ofServices, ofSpans] = [
    JSON.stringify(['span services', time]),
    JSON.stringify(['span names', time, state.service]),
  ];
  const services = useQuery(ofServices, (s) => findService('', String(OFFERED), s));
  const spans = useQuery(ofSpans, (s) => findSpan('', String(OFFERED), s));
  return {
    services: { list: services, of: ofServices, find: findService },
    spans: { list: spans, of: ofSpans, find: findSpan },
  };
}

function Conditions({ state, names }: { state: TracesState; names: ReturnType<typeof useNames> }) {
  return (
    <form
      class="filters fields"
      onSubmit={(e) => {
        e.preventDefault();
        const form = new FormData(e.currentTarget);
        const text = (name: string) => String(form.get(name) ?? '').trim();
        set({ min: text('min'), max: text('max'), attribute: text('attribute') });
      }}
    >
      <Choice
        label="Service"
        none="any"
        value={state.service}
        {...names.services}
        onChoose={(service) => set({ service, name: '' })}
      />
      <Choice label="Span" none="any" value={state.name} {...names.spans} onChoose={(name) => set({ name })} />
      <label>
        Status{' '}
        <select value={state.status} onChange={(e) => set({ status: e.currentTarget.value })}>
          <option value="">any</option>
          <option value="error">error</option>
          <option value="ok">ok</option>
          <option value="unset">unset</option>
        </select>
      </label>
      <label>
        Longer than <input name="min" size={7} defaultValue={state.min} placeholder="200ms" />
      </label>
      <label>
        Shorter than <input name="max" size={7} defaultValue={state.max} placeholder="2s" />
      </label>
      <label>
        Attribute <input name="attribute" size={20} defaultValue={state.attribute} placeholder="http.route=/pay" />
      </label>
      <button type="submit">Search</button>
    </form>
  );
}

// Reports a failed request; if one field is to blame, by the field's name.
function Problem({ state, found }: { state: TracesState; found: Query<Traces> }) {
  const { error } = found;
  const bad = error && FIELDS.find(([, parameter]) => error.message.includes(`'${parameter}'`));
  if (!bad) return <QueryState query={found} what="traces" />;
  const [field, , name] = bad;
  const said = new ApiError(error.message.replace(/^parameter '\w+': /, ''), error.status);
  return (
    <QueryState
      query={{ ...found, error: said }}
      what={`“${name}”, ${state[field].slice(0, 60)}`}
      instead={{ text: `Search without “${name}”`, href: encodeTraces({ ...state, [field]: '' }) }}
    />
  );
}

function NoTrace({ state }: { state: TracesState }) {
  const narrowed = state.service || state.name || state.min || state.max || state.status || state.attribute;
  return (
    <div class="empty">
      <p>
        <strong>No trace matches.</strong>{' '}
        {narrowed ? (
          <a href={encodeTraces(newTraces('', state))}>Search without conditions</a>
        ) : (
          'Choose a longer range, or send traces:'
        )}
      </p>
      <p>
        <Command text={otlpCommand(location.origin)} />
      </p>
    </div>
  );
}

interface TraceTableProps {
  traces: TraceSummary[];
  sort: TracesState['sort'];
  lookedAt?: number;
}

function TraceTable({ traces, sort, lookedAt }: TraceTableProps) {
  const profiled = traces.filter((t) => t.profiled.length > 0).length;
  const waits = traces.some((t) => t.profiled.some((p) => p.type === 'off_cpu'));
  const order = { sort, onSort: (by: TracesState['sort']) => set({ sort: by }) };
  return (
    <table class="traces">
      <caption>
        {formatMany(traces.length, 'trace')}, {formatCount(profiled)} with profile samples
        {traces.length === LIMIT ? ` (the ${LISTED[sort]} that match; narrow the search to see others)` : ''}
        {lookedAt ? `; compared: the ${formatCount(lookedAt)} newest that match` : ''}
        {traces.some((t) => exceeds(t, 'cpu') || exceeds(t, 'off_cpu')) && `; *: ${EXCEEDS}`}
      </caption>
      <thead>
        <tr>
          <SortHeader by="time" text="Start" number={false} {...order} />
          <th scope="col">Root span</th>
          <SortHeader by="duration" text="Duration" {...order} />
          <th scope="col" class="number">
            Spans
          </th>
          <th scope="col" class="number">
            Errors
          </th>
          <SortHeader by="cpu" text="CPU" title={ESTIMATE} {...order} />
          {waits && (
            <th scope="col" class="number" title={ESTIMATE}>
              Off-CPU
            </th>
          )}
          <SortHeader by="samples" text="Samples" {...order} />
        </tr>
      </thead>
      <tbody>
        {traces.map((t) => (
          <TraceRow key={t.trace} trace={t} waits={waits} />
        ))}
      </tbody>
    </table>
  );
}

function TraceRow({ trace: t, waits }: { trace: TraceSummary; waits: boolean }) {
  const cell = (type: string) => (
    <td class="number" title={exceeds(t, type) ? ESTIMATE : undefined}>
      {profiledOf(t, type)}
      {exceeds(t, type) && '*'}
    </td>
  );
  return (
    <tr>
      <td>
        <Ago at={Number(t.start_ns) / 1e6} />
      </td>
      <th scope="row">
        <a href={traceLink(t.trace)}>
          <b>{t.root_service}</b> <bdi>{shownName(t.root_name, 160)}</bdi>
        </a>
        {t.root_missing && <small> (its root span has not arrived)</small>}
      </th>
      <td class="number">{formatValue(Number(t.duration_ns), 'nanoseconds')}</td>
      <td class="number">{formatCount(t.spans)}</td>
      <td class="number">{t.errors > 0 ? <em class="bad">{formatCount(t.errors)}</em> : 0}</td>
      {cell('cpu')}
      {waits && cell('off_cpu')}
      <td class="number">{samplesOf(t)}</td>
    </tr>
  );
}
