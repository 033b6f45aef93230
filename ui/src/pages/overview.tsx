// All services: their CPU use and its trend, the functions that use most, version, heap, latency and sender.
import type { Overview, ServiceOverview } from '../core/answers';
import { useMemo } from 'preact/hooks';
import { now } from '../core/clock';
import { getJson } from '../core/api';
import {
  formatAgo,
  formatCores,
  formatCount,
  formatMany,
  formatShare,
  formatSpan,
  formatTime,
  formatValue,
} from '../core/format';
import { go, replace, url } from '../core/location';
import { moreText } from '../core/many';
import { fitName } from '../core/names';
import { zone } from '../core/settings';
import { settledSteps, stepsTogether, together, trendOf, withGaps, type Values } from '../core/trend';
import {
  decodeOverview,
  encodeDiff,
  encodeOverview,
  encodeService,
  encodeTraces,
  newService,
  newTraces,
  selectorOf,
  timeOf,
  type OverviewState,
  type TimeState,
  newDiff,
} from '../core/state';
import { timesText, type WorseEntry } from '../core/worse';
import { safe, shownName } from '../draw/flame';
import { useSettled } from '../parts/choice';
import { Answer, QueryState, useQuery } from '../parts/query';
import { RangePicker } from '../parts/range';
import { Command, otlpCommand, Shell } from '../parts/shell';
import { useWorse, WorseCards } from '../parts/worse';
import { Sparkline } from '../parts/sparkline';
import { TableBox } from '../parts/table_box';

const LISTED = 100;
const link = (service: string, time: TimeState) => encodeService(newService(service, time));

export function OverviewPage() {
  const { since, from, to, search, show } = decodeOverview(url.value);
  const time = { since, from, to };
  const asked = { ...timeOf(time), search: useSettled(search), limit: String(LISTED) };
  const overview = useQuery(JSON.stringify(['overview', asked]), (s) => getJson('overview', asked, s));
  const set = (change: Partial<OverviewState>, how = go) =>
    how(encodeOverview({ ...decodeOverview(url.value), ...change }));
  const worse = useWorse();
  const rows = useMemo(() => rowsOf(overview.data), [overview.data]);
  const worst = useMemo(() => new Map(worse.data?.worse.map((e) => [e.service, e])), [worse.data]);
  const chosen = rows.filter((r) => CHOICES[show].has(r, worst));
  const { total = 0, cores = 0, observed_ms: observed = 0 } = overview.data ?? {};
  return (
    <Shell title="">
      <div class="toolbar">
        <h1>Services</h1>
        <RangePicker time={time} onChange={set} />
        {(search !== '' || rows.length > 1) && (
          <label>
            Search{' '}
            <input
              type="search"
              value={search}
              placeholder="part of a name"
              spellcheck={false}
              maxLength={200}
              onInput={(e) => set({ search: e.currentTarget.value }, replace)}
            />
          </label>
        )}
        <span class="grow" />
        {rows.length > 0 && (
          <p data-testid="sum" role="status">
            {formatMany(total, 'service')}
            {asked.search !== '' && ` with “${safe(asked.search)}”`}
            {rows.length < total && `, the top ${formatCount(rows.length)} listed`} · {formatCores(cores)} cores used
          </p>
        )}
      </div>
      {worse.data && search === '' && <WorseCards worse={worse.data} />}
      <QueryState query={overview} what="services" />
      {rows.length > 1 && (
        <div role="group" aria-label="Which services" class="switch choices">
          {(Object.keys(CHOICES) as (keyof typeof CHOICES)[]).map((c) => (
            <button key={c} type="button" aria-pressed={show === c} onClick={() => set({ show: c })}>
              {CHOICES[c].name} {formatCount(rows.filter((r) => CHOICES[c].has(r, worst)).length)}
            </button>
          ))}
        </div>
      )}
      {overview.data &&
        rows.length === 0 &&
        (asked.search === '' ? (
          <Empty />
        ) : (
          <p class="note" role="status">
            No service in this time range has “{safe(asked.search)}” in its name.{' '}
            <button type="button" onClick={() => set({ search: '' })}>
              Show all
            </button>
          </p>
        ))}
      {rows.length > 0 && (
        <Answer query={overview}>
          <TableBox label="Services">
            <ServiceTable rows={chosen} worst={worst} time={time} observed={observed} />
          </TableBox>
          {chosen.length === 0 && <p class="note">{CHOICES[show].none}</p>}
        </Answer>
      )}
      {rows.length < total && (
        <p class="note" data-testid="more">
          The {formatCount(rows.length)} that use most are listed.{' '}
          {moreText(total, rows.length, 'search for a part of their names.')}
        </p>
      )}
    </Shell>
  );
}

type Row = ServiceOverview & { trend: Values | null };
type Worst = Map<string, WorseEntry>;

// Which services are listed.
const CHOICES: Record<OverviewState['show'], { name: string; none: string; has: (row: Row, worst: Worst) => boolean }> =
  {
    all: { name: 'all', none: '', has: () => true },
    worse: { name: 'worse', none: 'No service surely got worse.', has: (r, worst) => worst.has(r.name) },
    new: {
      name: 'new',
      none: 'No version is new in this time.',
      has: (r) => r.earlier_version !== undefined && r.earlier_version !== '',
    },
    quiet: { name: 'quiet', none: 'Every service sent in the last three minutes.', has: (r) => isQuiet(r, now()) },
  };

// Columns without any value are left out.
interface ServiceTableProps {
  rows: Row[];
  worst: Worst;
  time: TimeState;
  observed: number;
}

function ServiceTable({ rows, worst, time, observed }: ServiceTableProps) {
  const some = {
    version: rows.some((r) => r.versions.length > 0),
    heap: rows.some((r) => r.heap_bytes !== undefined),
    latency: rows.some((r) => r.latency),
  };
  return (
    <table class="services">
      <caption class="hidden">Services by cores used</caption>
      <thead>
        <tr>
          <th scope="col">Service</th>
          <th scope="col" class="number">
            Cores
          </th>
          <th scope="col">Trend</th>
          <th scope="col">Most CPU in</th>
          {some.version && <th scope="col">Version</th>}
          {some.heap && (
            <th scope="col" class="number">
              Heap
            </th>
          )}
          {some.latency && (
            <th scope="col" class="number">
              Latency p50, p99
            </th>
          )}
          <th scope="col">Sender</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((r) => (
          <ServiceRow key={r.name} row={r} worst={worst.get(r.name)} time={time} observed={observed} some={some} />
        ))}
      </tbody>
    </table>
  );
}

interface ServiceRowProps {
  row: Row;
  worst?: WorseEntry;
  time: TimeState;
  observed: number;
  some: { version: boolean; heap: boolean; latency: boolean };
}

function ServiceRow({ row: r, worst, time, observed, some }: ServiceRowProps) {
  return (
    <tr>
      <th scope="row">
        <a href={r.profiles > 0 ? link(r.name, time) : tracesLink(r.name, time)}>
          <bdi>{shownName(r.name)}</bdi>
        </a>
        {r.profiles === 0 && <small> traces only</small>}
        {worst && <b class="worse-sign"> ▲ {worst.mode === 'request' && timesText(worst.whole)}</b>}
      </th>
      <td class="number">
        <Cores row={r} observed={observed} />
      </td>
      <td>{r.trend && <Sparkline values={r.trend} label={`cores of ${r.name}`} />}</td>
      <td>
        <Top row={r} />
      </td>
      {some.version && (
        <td>
          <Version row={r} time={time} />
        </td>
      )}
      {some.heap && (
        <td class="number">{r.heap_bytes === undefined ? '–' : formatValue(Number(r.heap_bytes), 'bytes')}</td>
      )}
      {some.latency && (
        <td class="number">
          <Latency row={r} time={time} />
        </td>
      )}
      <td>
        <Sender row={r} until={time.to ?? now()} />
      </td>
    </tr>
  );
}

// Trends begin and end where any service has data.
function rowsOf(answer: Overview | undefined): Row[] {
  const rows = allRows(answer);
  const has = (v: number | null) => v !== null;
  const trends = rows.flatMap((r) => (r.trend ? [r.trend] : []));
  const first = Math.min(...trends.map((t) => t.findIndex(has)).filter((at) => at >= 0));
  const last = Math.max(...trends.map((t) => t.length - [...t].reverse().findIndex(has)));
  if (!(last > first)) return rows;
  return rows.map((r) => ({ ...r, trend: r.trend && fitted(r.trend, first, last) }));
}

const fitted = (trend: Values, first: number, last: number): Values =>
  Array.from({ length: last - first }, (_, i) => trend[first + i] ?? null);

function allRows(answer: Overview | undefined): Row[] {
  return (answer?.services ?? [])
    .map((s): Row => {
      if (!s.cpu) return { ...s, trend: null };
      const fine = withGaps(s.cpu, s.cpu_gaps);
      const phase = Math.round(answer!.start_ms / answer!.step_ms);
      const k = stepsTogether([fine], phase);
      const all = together(fine, k, false, phase);
      const start = answer!.start_ms - (phase % k) * answer!.step_ms;
      const values = all.slice(
        0,
        settledSteps([all], start, answer!.step_ms * k, s.last ? Date.parse(s.last) : undefined, now()),
      );
      return { ...s, trend: trendOf(values, together(answer!.step_observed_ms, k, false, phase), 1) };
    })
    .sort((a, b) => (b.cores ?? -1) - (a.cores ?? -1) || a.name.localeCompare(b.name));
}

// If a service was observed for only a part of the time, the average says so.
function Cores({ row, observed }: { row: Row; observed: number }) {
  if (row.cores === undefined) return <>–</>;
  return (
    <>
      {formatCores(row.cores)}
      {row.seen_ms! < observed / 2 && (
        <small class="part">
          seen {formatSpan(row.seen_ms!)} of {formatSpan(observed)}
        </small>
      )}
    </>
  );
}

const tracesLink = (service: string, time: TimeState) => encodeTraces(newTraces(service, time));

function Top({ row }: { row: Row }) {
  if (row.top.length === 0) return <>–</>;
  return (
    <>
      {row.top_type !== 'cpu' && <small class="type">{row.top_type}</small>}
      {row.top.map((t, i) => (
        <span key={i} class="top-name">
          <bdi title={safe(t.name).slice(0, 500)}>{safe(fitName(t.name, 36))}</bdi>{' '}
          {formatShare(Number(t.self), Number(row.top_total))}
        </span>
      ))}
    </>
  );
}

// A version that is new in this range links to a comparison with the one before.
function Version({ row, time }: { row: Row; time: TimeState }) {
  const cut = (v: string) => (v.length > 30 ? v.slice(0, 29) + '…' : v);
  const all = row.versions.map(safe);
  const text = all.map(cut).join(', ') || '–';
  const shown = <span title={all.some((v) => cut(v) !== v) ? all.join(', ').slice(0, 500) : undefined}>{text}</span>;
  if (!row.earlier_version || row.versions.length !== 1) return shown;
  const side = (version: string) => selectorOf(row.name, `service.version="${version.replace(/[\\"]/g, '\\$&')}"`);
  const href = encodeDiff(
    newDiff({ ...time, query: side(row.versions[0]), baseQuery: side(row.earlier_version), mode: 'share' }),
  );
  return (
    <>
      {shown}{' '}
      <a href={href} aria-label={`${text} of ${row.name} is new: compare with ${row.earlier_version}`}>
        new
      </a>
    </>
  );
}

function Latency({ row, time }: { row: Row; time: TimeState }) {
  if (!row.latency) return <>–</>;
  const { median_ns, p99_ns, errors, requests } = row.latency;
  return (
    <a href={tracesLink(row.name, time)} title={formatMany(requests, 'request')}>
      {formatValue(Number(median_ns), 'nanoseconds')}, {formatValue(Number(p99_ns), 'nanoseconds')}
      {errors > 0 && <em class="bad"> {formatShare(errors, requests)} errors</em>}
    </a>
  );
}

// All senders we know send at least once a minute, so three minutes without a profile are worth a note.
const QUIET_MS = 180e3;

const isQuiet = (row: Row, until: number) => until - (row.last ? Date.parse(row.last) : NaN) > QUIET_MS;

function Sender({ row, until }: { row: Row; until: number }) {
  const last = row.last ? Date.parse(row.last) : NaN;
  const quiet = isQuiet(row, until);
  const from = [row.senders.join(', '), row.instances > 1 ? `${formatCount(row.instances)}\u00a0instances` : '']
    .filter(Boolean)
    .join(', ');
  return (
    <>
      {last > 0 && (
        <time dateTime={row.last} title={formatTime(last, zone.value === 'utc')} class={quiet ? 'warn' : undefined}>
          {quiet ? `quiet, last ${formatAgo(last, now())}` : formatAgo(last, now())}
        </time>
      )}
      {from && last > 0 && ' '}
      {from && <small>{safe(from).slice(0, 80)}</small>}
      {!(last > 0) && !from && '–'}
    </>
  );
}

function Empty() {
  return (
    <div class="empty">
      <p>
        <strong>No profiles in this range yet.</strong> Choose a longer range, or send some:
      </p>
      <ul>
        <li>
          a program, without a change: <Command text={`wherefore run --server ${location.origin} -- ./app`} />
        </li>
        <li>
          a file you have: <a href="/adhoc">drop it on this page</a>, or{' '}
          <Command text={`wherefore push profile.pb.gz --service my-service --server ${location.origin}`} />
        </li>
        <li>
          an OpenTelemetry SDK or collector: <Command text={otlpCommand(location.origin)} />
        </li>
        <li>
          a Pyroscope SDK: <Command text={`export PYROSCOPE_SERVER_ADDRESS=${location.origin}`} />
        </li>
      </ul>
    </div>
  );
}
