// Traces: search, the latency of what was found over time, and the list.
import { getJson, type TraceSummary } from '../core/api';
import { formatCount, formatMany, formatTime, formatValue } from '../core/format';
import { go, url } from '../core/location';
import { zone } from '../core/settings';
import { decodeTraces, encodeTrace, encodeTraces, newTraces, timeOf, type TracesState, NO_LOOK } from '../core/state';
import { safe, shownName } from '../draw/flame';
import { Answer, QueryState, useQuery } from '../parts/query';
import { RangePicker } from '../parts/range';
import { Scatter } from '../parts/scatter';
import { Command, otlpCommand, Shell } from '../parts/shell';
import { TableBox } from '../parts/table_box';

export const traceLink = (trace: string) => encodeTrace({ trace, span: '', subtree: false, type: '', lens: '', zoom: '', frame: '', ...NO_LOOK });
const LIMIT = 200;
const ESTIMATE = 'an estimate from the samples; the times of several threads add up, and one sample may stand for more than the request took';

function valueOf(t: TraceSummary, type: string): string {
  const found = t.profiled.find((p) => p.type === type);
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
  const names = useQuery(JSON.stringify(['names', time]), (s) => getJson<{ spans: { service: string; name: string }[] }>('span-names', time, s));
  const found = useQuery(JSON.stringify(['traces', asked]), (s) => getJson<{ traces: TraceSummary[] }>('traces', asked, s));
  const { sort } = state;
  const setSort = (by: TracesState['sort']) => set({ sort: by });
  const services = [...new Set(names.data?.spans.map((s) => s.service))].sort();
  const spans = [...new Set(names.data?.spans.filter((s) => !state.service || s.service === state.service).map((s) => s.name))].sort();
  const traces = [...found.data?.traces ?? []].sort((a, b) => (sort === 'duration' ? Number(b.duration_ns) - Number(a.duration_ns) : Number(b.start_ns) - Number(a.start_ns)));
  const waits = traces.some((t) => t.profiled.some((p) => p.type === 'off_cpu'));
  return (
    <Shell title="Traces">
      <div class="toolbar"><h1>Traces</h1><RangePicker time={state} onChange={set} /></div>
      <form class="filters fields" key={encodeTraces({ ...state, sort: 'time' })} onSubmit={(e) => {
        e.preventDefault();
        const form = new FormData(e.currentTarget);
        const text = (name: string) => String(form.get(name) ?? '').trim();
        set({ min: text('min'), max: text('max'), attribute: text('attribute') });
      }}>
        <label>Service <select value={state.service} onChange={(e) => set({ service: e.currentTarget.value, name: '' })}>
          <option value="">any</option>{state.service && !services.includes(state.service) && <option>{state.service}</option>}{services.map((s) => <option key={s}>{s}</option>)}
        </select></label>
        <label>Span <select value={state.name} onChange={(e) => set({ name: e.currentTarget.value })}>
          <option value="">any</option>{state.name && !spans.includes(state.name) && <option>{state.name}</option>}{spans.map((s) => <option key={s} value={s}>{safe(s).slice(0, 80)}</option>)}
        </select></label>
        <label>Status <select value={state.status} onChange={(e) => set({ status: e.currentTarget.value })}>
          <option value="">any</option><option value="error">error</option><option value="ok">ok</option><option value="unset">unset</option>
        </select></label>
        <label>Longer than <input name="min" size={7} defaultValue={state.min} placeholder="200ms" /></label>
        <label>Shorter than <input name="max" size={7} defaultValue={state.max} placeholder="2s" /></label>
        <label>Attribute <input name="attribute" size={20} defaultValue={state.attribute} placeholder="http.route=/pay" /></label>
        <button type="submit">Search</button>
      </form>
      <QueryState query={found} what="traces" />
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
            <caption>{formatMany(traces.length, 'trace')}, {formatCount(traces.filter((t) => t.profiled.length > 0).length)} with profile samples{traces.length === LIMIT ? ` (the ${sort === 'duration' ? 'slowest' : 'newest'} that match; narrow the search to see others)` : ''}</caption>
            <thead><tr>
              <th scope="col" aria-sort={sort === 'time' ? 'descending' : undefined}><button type="button" onClick={() => setSort('time')}>Start{sort === 'time' ? ' ▾' : ''}</button></th>
              <th scope="col">Root span</th>
              <th scope="col" class="number" aria-sort={sort === 'duration' ? 'descending' : undefined}><button type="button" onClick={() => setSort('duration')}>Duration{sort === 'duration' ? ' ▾' : ''}</button></th>
              <th scope="col" class="number">Spans</th><th scope="col" class="number">Errors</th>
              <th scope="col" class="number" title={ESTIMATE}>CPU</th>{waits && <th scope="col" class="number" title={ESTIMATE}>Off-CPU</th>}<th scope="col" class="number">Samples</th>
            </tr></thead>
            <tbody>{traces.map((t) => (
              <tr key={t.trace}>
                <td>{formatTime(Number(t.start_ns) / 1e6, zone.value === 'utc')}</td>
                <th scope="row"><a href={traceLink(t.trace)}><b>{t.root_service}</b> <bdi>{shownName(t.root_name, 160)}</bdi></a></th>
                <td class="number">{formatValue(Number(t.duration_ns), 'nanoseconds')}</td>
                <td class="number">{formatCount(t.spans)}</td>
                <td class="number">{t.errors > 0 ? <em class="bad">{formatCount(t.errors)}</em> : 0}</td>
                <td class="number">{valueOf(t, 'cpu')}</td>{waits && <td class="number">{valueOf(t, 'off_cpu')}</td>}<td class="number">{samplesOf(t)}</td>
              </tr>
            ))}</tbody>
          </table></TableBox>
        </Answer>
      )}
    </Shell>
  );
}
