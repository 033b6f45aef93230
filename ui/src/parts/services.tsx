// The table of services: what each uses, how long its requests take and where their time goes, which own code does it.
// Columns without any value are left out.
import { accountText, partsOf } from '../core/accounting';
import { useEffect } from 'preact/hooks';
import type { Int64, ServiceMarks } from '../core/answers';
import { now } from '../core/clock';
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
import { fitName } from '../core/names';
import { isQuiet, type ServiceRow } from '../core/services';
import { zone } from '../core/settings';
import {
  encodeAlerts,
  encodeDiff,
  encodeInsights,
  encodeService,
  encodeTraces,
  newAlerts,
  newDiff,
  newInsights,
  newService,
  newTraces,
  selectorOf,
  type OverviewState,
  type TimeState,
} from '../core/state';
import { rowAddress } from '../core/regressions';
import { timesText, type WorseEntry } from '../core/worse';
import { safe, shownName } from '../draw/flame';
import { PartFill } from './account_bar';
import { SortHeader } from './sort_header';
import { Sparkline } from './sparkline';
import { useWindowed } from './windowed';

const link = (service: string, time: TimeState) => encodeService(newService(service, time));
const tracesLink = (service: string, time: TimeState) => encodeTraces(newTraces(service, time));
const ns = (v: number | string) => formatValue(Number(v), 'nanoseconds');

interface ServiceTableProps {
  rows: ServiceRow[];
  worst: Map<string, WorseEntry>;
  marks: Map<string, ServiceMarks>;
  time: TimeState;
  observed: number;
  sort: OverviewState['sort'];
  onSort: (by: OverviewState['sort']) => void;
  total: number; // rows there are, here or still at the server
  onEnd: () => void; // the last of these rows is nearly in view
}

interface Some {
  version: boolean;
  heap: boolean;
  latency: boolean;
  cost: boolean;
  where: boolean;
}

export function ServiceTable({ rows, worst, marks, time, observed, total, onEnd, ...order }: ServiceTableProps) {
  const { body, first, end, above, below } = useWindowed(rows.length);
  useEffect(() => {
    if (end === rows.length && rows.length < total) onEnd();
  }, [end, rows.length, total]);
  const some: Some = {
    version: rows.some((r) => r.versions.length > 0),
    heap: rows.some((r) => r.heap_bytes !== undefined),
    latency: rows.some((r) => r.latency),
    cost: rows.some((r) => r.cost !== null),
    where: rows.some((r) => r.where),
  };
  return (
    <table class="services" aria-rowcount={total + 1}>
      <caption class="hidden">Services</caption>
      <thead>
        <tr>
          <SortHeader by="name" text="Service" number={false} {...order} />
          <SortHeader by="cores" text="Cores" {...order} />
          <th scope="col">Trend</th>
          {some.cost && (
            <SortHeader by="cost" text="CPU/request" title="CPU time by requests, all of both" {...order} />
          )}
          {some.latency && <SortHeader by="median" text="p50" {...order} />}
          {some.latency && <SortHeader by="p99" text="p99" {...order} />}
          {some.where && (
            <th scope="col" title="Where the time of the newest 200 requests went">
              Runs, waits
            </th>
          )}
          <th scope="col">Most CPU in own code</th>
          {some.version && <th scope="col">Version</th>}
          {some.heap && <SortHeader by="heap" text="Heap" {...order} />}
          <SortHeader by="last" text="Sender" number={false} {...order} />
        </tr>
      </thead>
      <tbody ref={body}>
        <Gap height={above} />
        {rows.slice(first, end).map((r, i) => (
          <Row
            key={r.name}
            index={first + i + 2}
            row={r}
            worst={worst.get(r.name)}
            marks={marks.get(r.name)}
            time={time}
            observed={observed}
            some={some}
          />
        ))}
        <Gap height={below} />
      </tbody>
    </table>
  );
}

// In place of rows that are not drawn.
const Gap = ({ height }: { height: number }) =>
  height > 0 ? (
    <tr class="gap" aria-hidden="true">
      <td style={{ height }} />
    </tr>
  ) : null;

interface RowProps {
  index: number; // in the whole table, the header is 1
  row: ServiceRow;
  worst?: WorseEntry;
  marks?: ServiceMarks;
  time: TimeState;
  observed: number;
  some: Some;
}

function Row({ index, row: r, worst, marks, time, observed, some }: RowProps) {
  const perRequest = worst?.mode === 'request';
  return (
    <tr aria-rowindex={index}>
      <th scope="row">
        <a href={r.profiles > 0 ? link(r.name, time) : tracesLink(r.name, time)}>
          <bdi>{shownName(r.name)}</bdi>
        </a>
        {r.profiles === 0 && <small> traces only</small>}
        {worst && <Worse entry={worst} times={perRequest && !some.cost} />}
        {marks && <Marked marks={marks} time={time} />}
      </th>
      <td class="number">
        <Cores row={r} observed={observed} />
      </td>
      <td>
        {r.trend && <Sparkline values={r.trend} label={`cores of ${r.name}`} mark={markIn(r, worst?.since.at_ms)} />}
      </td>
      {some.cost && (
        <td class="number">
          {r.cost === null ? '–' : ns(r.cost)}
          {perRequest && <b class="worse-sign"> ▲{timesText(worst.whole)}</b>}
        </td>
      )}
      {some.latency && (
        <td class="number">
          <Latency row={r} time={time} />
        </td>
      )}
      {some.latency && (
        <td class="number">
          {r.latency ? ns(r.latency.p99_ns) : '–'}
          {r.latency && r.latency.errors > 0 && (
            <em class="bad"> {formatShare(r.latency.errors, r.latency.requests)} errors</em>
          )}
        </td>
      )}
      {some.where && (
        <td>
          <Where row={r} />
        </td>
      )}
      <td class="tops">
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
      <td>
        <Sender row={r} until={time.to ?? now()} />
      </td>
    </tr>
  );
}

// That it got worse: a link to the record, where there is one. `times`: by how much.
function Worse({ entry: e, times }: { entry: WorseEntry; times: boolean }) {
  const text = ` ▲${times ? ` ${timesText(e.whole)}` : ''}`;
  const title = safe(e.sentence).slice(0, 500);
  if (e.regressions.length === 0)
    return (
      <b class="worse-sign" title={title}>
        {text}
      </b>
    );
  return (
    <a
      class="mark-count regression"
      href={rowAddress(e.service, e.regressions[0], Number(e.since.at_ms), now())}
      title={title}
      aria-label={`▲ regressions of ${e.service}`}
    >
      {text}
    </a>
  );
}

// Alerts and known patterns of a service, as links to them.
function Marked({ marks: { service, firing, pending, insights }, time }: { marks: ServiceMarks; time: TimeState }) {
  const alerts = [firing > 0 && `${firing} firing`, pending > 0 && `${pending} pending`].filter(Boolean).join(', ');
  return (
    <>
      {alerts && (
        <a
          class="mark-count alert"
          href={encodeAlerts(newAlerts({ service }))}
          aria-label={`! ${alerts}: alerts of ${service}`}
        >
          {' '}
          ! {alerts}
        </a>
      )}
      {insights > 0 && (
        <a
          class="mark-count insight"
          href={encodeInsights(newInsights({ ...time, query: selectorOf(service, '') }))}
          title={formatMany(insights, 'known pattern')}
          aria-label={`◆ ${insights}: insights about ${service}`}
        >
          {' '}
          ◆ {insights}
        </a>
      )}
    </>
  );
}

// Where on the trend something happened, as a share of its width; null beyond it.
export function markIn(r: Pick<ServiceRow, 'trend' | 'trendFrom' | 'trendStep'>, at?: Int64): number | null {
  if (!r.trend || !at) return null;
  const share = (Number(at) - r.trendFrom) / (r.trend.length * r.trendStep);
  return share > 0 && share < 1 ? share : null;
}

// If a service was observed for only a part of the time, the average says so.
function Cores({ row, observed }: { row: ServiceRow; observed: number }) {
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

// What its requests did: on a CPU, waiting and for what, calls to others, not observed.
function Where({ row: { where, name } }: { row: ServiceRow }) {
  if (!where || !(Number(where.duration_ns) > 0)) return <>–</>;
  const account = { duration: Number(where.duration_ns), parts: partsOf(where.parts) };
  return (
    <div
      class="account-bar small-bar"
      role="img"
      aria-label={`Requests of ${name}: ${accountText(account)}`}
      title={accountText(account)}
    >
      <PartFill {...account} />
    </div>
  );
}

function Top({ row }: { row: ServiceRow }) {
  const own = row.own_top.length > 0;
  const top = own ? row.own_top : row.top;
  if (top.length === 0) return <>–</>;
  return (
    <>
      {row.top_type !== 'cpu' && <small class="type">{row.top_type}</small>}
      {!own && <small class="type">no own code:</small>}
      {top.map((t, i) => (
        <span key={i} class="top-name">
          <bdi title={safe(t.name).slice(0, 500)}>{safe(fitName(t.name, 36))}</bdi>{' '}
          {formatShare(Number(t.self), Number(row.top_total))}
        </span>
      ))}
    </>
  );
}

// A version that is new in this range links to a comparison with the one before.
function Version({ row, time }: { row: ServiceRow; time: TimeState }) {
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

function Latency({ row, time }: { row: ServiceRow; time: TimeState }) {
  if (!row.latency) return <>–</>;
  const { median_ns, p99_ns, requests } = row.latency;
  return (
    <a
      href={tracesLink(row.name, time)}
      title={formatMany(requests, 'request')}
      aria-label={`Traces of ${row.name}: median ${ns(median_ns)}, p99 ${ns(p99_ns)}`}
    >
      {ns(median_ns)}
    </a>
  );
}

function Sender({ row, until }: { row: ServiceRow; until: number }) {
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
