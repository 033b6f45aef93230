// Traces: search, the latency of what was found over time, and the list.
import { ApiError, getJson, type TraceSummary } from '../core/api';
import { formatCount, formatLooks, formatMany, formatTime, formatValue } from '../core/format';
import { go, url } from '../core/location';
import { OFFERED, type Listed } from '../core/many';
import { zone } from '../core/settings';
import { decodeTraces, encodeTrace, encodeTraces, newTraces, timeOf, type TracesState, NO_LOOK } from '../core/state';
import { shownName } from '../draw/flame';
import { Choice } from '../parts/choice';
import { Answer, QueryState, useQuery } from '../parts/query';
import { RangePicker } from '../parts/range';
import { Scatter } from '../parts/scatter';
import { Command, otlpCommand, Shell } from '../parts/shell';
import { TableBox } from '../parts/table_box';

export const traceLink = (trace: string) => encodeTrace({ trace, span: '', subtree: false, type: '', lens: '', zoom: '', frame: '', ...NO_LOOK });
const LIMIT = 200;
interface SpanNames { spans: { service: string; name: string }[]; total: number; services: string[]; services_total: number }
const ESTIMATE = 'an estimate from the samples; the times of several threads add up, and one sample may stand for more than the request took';
const LISTED: Record<TracesState['sort'], string> = { time: 'newest', duration: 'slowest', cpu: 'ones with most CPU time', samples: 'ones with most samples' };
// What is typed, as the server calls it and as the page does.
const FIELDS = [['min', 'min_duration', 'Longer than'], ['max', 'max_duration', 'Shorter than'], ['attribute', 'attribute', 'Attribute'], ['status', 'status', 'Status']] as const;

// More than the trace took: what several threads or spans did at once, added up.
const exceeds = (t: TraceSummary, type: string) => t.profiled.some((p) => p.type === type && p.unit === 'nanoseconds' && Number(p.value) > Number(t.duration_ns));

function valueOf(t: TraceSummary, type: string): string {
  const found = t.profiled.find((p) => p.type === type);
  if (found?.error_ns !== undefined) return formatLooks(Number(found.value), found.unit, Number(found.error_ns), Number(found.count));
  return found ? formatValue(Number(found.value), found.unit) : '–';
}

// Of the type that its own page shows; which one is said where it is not CPU time.
function samplesOf({ profiled: [first] }: TraceSummary): string {
  return first ? formatCount(Number(first.count)) + (first.type === 'cpu' ? '' : ` ${first.type}`) : 'none';
}

export function TracesPage() {
  const state = decodeTraces(url.value);
  const set = (change: Partial<TracesState>) => go(encodeTraces({ ...decodeTraces(url.value), ...change }));
  const time = timeOf(state);
  const asked = { ...time, service: state.service, name: state.name, min_duration: state.min, max_duration: state.max, status: state.status, attribute: state.attribute, limit: String(LIMIT), matched: '0', sort: state.sort };
  const names = (search: string, limit: string, s: AbortSignal) => getJson<SpanNames>('span-names', { ...time, service: state.service, search, limit }, s);
  const findService = async (...how: Parameters<typeof names>): Promise<Listed> => { const a = await names(...how); return { names: a.services, total: a.services_total }; };
  const findSpan = async (...how: Parameters<typeof names>): Promise<Listed> => { const a = await names(...how); return { names: [...new Set(a.spans.map((n) => n.name))].sort(), total: a.total }; };
  const [ofServices, ofSpans] = [JSON.stringify(['span services', time]), JSON.stringify(['span names', time, state.service])];
  const services = useQuery(ofServices, (s) => findService('', String(OFFERED), s));
  const spans = useQuery(ofSpans, (s) => findSpan('', String(OFFERED), s));
  const found = useQuery(JSON.stringify(['traces', asked]), (s) => getJson<{ traces: TraceSummary[]; looked_at?: number }>('traces', asked, s));
  const { sort } = state;
  const setSort = (by: TracesState['sort']) => set({ sort: by });
  const traces = [...found.data?.traces ?? []];
  if (sort === 'duration') traces.sort((a, b) => Number(b.duration_ns) - Number(a.duration_ns));
  if (sort === 'time') traces.sort((a, b) => Number(b.start_ns) - Number(a.start_ns));
  const bad = found.error && FIELDS.find(([, parameter]) => found.error!.message.includes(`'${parameter}'`));
  const waits = traces.some((t) => t.profiled.some((p) => p.type === 'off_cpu'));
  const cell = (t: TraceSummary, type: string) => <td class="number" title={exceeds(t, type) ? ESTIMATE : undefined}>{valueOf(t, type)}{exceeds(t, type) && '*'}</td>;
  const header = (by: TracesState['sort'], text: string, kind = 'number') => (
    <th scope="col" class={kind || undefined} title={by === 'cpu' ? ESTIMATE : undefined} aria-sort={sort === by ? 'descending' : undefined}><button type="button" onClick={() => setSort(by)}>{text}{sort === by ? ' ▾' : ''}</button></th>
  );
  return (
    <Shell title="Traces">
      <div class="toolbar"><h1>Traces</h1><RangePicker time={state} onChange={set} /></div>
      <form class="filters fields" key={encodeTraces({ ...state, sort: 'time' })} onSubmit={(e) => {
        e.preventDefault();
        const form = new FormData(e.currentTarget);
        const text = (name: string) => String(form.get(name) ?? '').trim();
        set({ min: text('min'), max: text('max'), attribute: text('attribute') });
      }}>
        <Choice label="Service" none="any" value={state.service} list={services} of={ofServices} find={findService} onChoose={(service) => set({ service, name: '' })} />
        <Choice label="Span" none="any" value={state.name} list={spans} of={ofSpans} find={findSpan} onChoose={(name) => set({ name })} />
        <label>Status <select value={state.status} onChange={(e) => set({ status: e.currentTarget.value })}>
          <option value="">any</option><option value="error">error</option><option value="ok">ok</option><option value="unset">unset</option>
        </select></label>
        <label>Longer than <input name="min" size={7} defaultValue={state.min} placeholder="200ms" /></label>
        <label>Shorter than <input name="max" size={7} defaultValue={state.max} placeholder="2s" /></label>
        <label>Attribute <input name="attribute" size={20} defaultValue={state.attribute} placeholder="http.route=/pay" /></label>
        <button type="submit">Search</button>
      </form>
      <QueryState query={bad ? { ...found, error: new ApiError(found.error!.message.replace(/^parameter '\w+': /, ''), found.error!.status) } : found} what={bad ? `“${bad[2]}”, ${state[bad[0]].slice(0, 60)}` : 'traces'} instead={bad && { text: `Search without “${bad[2]}”`, href: encodeTraces({ ...state, [bad[0]]: '' }) }} />
      {found.data && traces.length === 0 && (
        <div class="empty">
          <p><strong>No trace matches.</strong> {state.service || state.name || state.min || state.max || state.status || state.attribute ? <a href={encodeTraces(newTraces('', state))}>Search without conditions</a> : 'Choose a longer range, or send traces:'}</p>
          <p><Command text={otlpCommand(location.origin)} /></p>
        </div>
      )}
      {traces.length > 0 && (
        <Answer query={found}>
          <Scatter points={traces.map((t) => ({ x: Number(t.start_ns) / 1e6, y: Number(t.duration_ns), bad: t.errors > 0, profiled: t.profiled.length > 0, label: `${t.root_service} ${t.root_name}`, note: samplesOf(t), href: traceLink(t.trace) }))} />
          <TableBox label="Traces"><table class="traces">
            <caption>{formatMany(traces.length, 'trace')}, {formatCount(traces.filter((t) => t.profiled.length > 0).length)} with profile samples{traces.length === LIMIT ? ` (the ${LISTED[sort]} that match; narrow the search to see others)` : ''}{found.data?.looked_at ? `; compared: the ${formatCount(found.data.looked_at)} newest that match` : ''}{traces.some((t) => exceeds(t, 'cpu') || exceeds(t, 'off_cpu')) && '; *: more than the trace took, because threads or spans that run or wait at once add up, and samples are an estimate'}</caption>
            <thead><tr>
              {header('time', 'Start', '')}
              <th scope="col">Root span</th>
              {header('duration', 'Duration')}
              <th scope="col" class="number">Spans</th><th scope="col" class="number">Errors</th>
              {header('cpu', 'CPU')}{waits && <th scope="col" class="number" title={ESTIMATE}>Off-CPU</th>}{header('samples', 'Samples')}
            </tr></thead>
            <tbody>{traces.map((t) => (
              <tr key={t.trace}>
                <td>{formatTime(Number(t.start_ns) / 1e6, zone.value === 'utc')}</td>
                <th scope="row"><a href={traceLink(t.trace)}><b>{t.root_service}</b> <bdi>{shownName(t.root_name, 160)}</bdi></a>{t.root_missing && <small> (its root span has not arrived)</small>}</th>
                <td class="number">{formatValue(Number(t.duration_ns), 'nanoseconds')}</td>
                <td class="number">{formatCount(t.spans)}</td>
                <td class="number">{t.errors > 0 ? <em class="bad">{formatCount(t.errors)}</em> : 0}</td>
                {cell(t, 'cpu')}{waits && cell(t, 'off_cpu')}<td class="number">{samplesOf(t)}</td>
              </tr>
            ))}</tbody>
          </table></TableBox>
        </Answer>
      )}
    </Shell>
  );
}
