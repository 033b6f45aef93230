// All services: what they cost now, how that moves, where it goes, when they were last heard of.
import { useEffect, useState } from 'preact/hooks';
import { getJson, type SeriesAnswer, type ServiceInfo, type TopAnswer } from '../core/api';
import { formatAgo, formatShare, formatTime } from '../core/format';
import { go, url } from '../core/location';
import { fitName } from '../core/names';
import { zone } from '../core/settings';
import { coresOf, stepsTogether, together, trendOf } from '../core/trend';
import { decodeTraces, encodeService, newService, selectorOf, timeOf, type TimeState } from '../core/state';
import { safe } from '../draw/flame';
import { QueryState, useQuery } from '../parts/query';
import { RangePicker } from '../parts/range';
import { Command, Shell } from '../parts/shell';
import { Sparkline } from '../parts/sparkline';

const link = (service: string, time: TimeState) => encodeService(newService(service, time));

export function OverviewPage() {
  const { since, from, to } = decodeTraces(url.value);
  const time = { since, from, to };
  const asked = timeOf(time);
  const services = useQuery(JSON.stringify(['services', asked]), (s) => getJson<{ services: ServiceInfo[] }>('services', asked, s));
  const series = useQuery(JSON.stringify(['cores', asked]), (s) => getJson<SeriesAnswer>('series', { type: 'cpu', by: 'service_name', limit: '1000', ...asked }, s));
  const set = (t: TimeState) => go('/' + (t.from !== null ? `?from=${t.from}&to=${t.to}` : t.since === '1h' ? '' : `?since=${t.since}`));
  const cores = new Map((series.data?.groups ?? []).map((g) => [g.labels['service_name'] ?? '', g.values.map(Number)]));
  const step = (k: number) => series.data!.step_ms * k;
  const rows = (services.data?.services ?? []).map((s) => {
    const fine = cores.get(s.name);
    if (!fine || !series.data) return { ...s, cores: null, trend: null };
    const k = stepsTogether([fine]);
    const values = together(fine, k, false);
    return { ...s, cores: coresOf(values, step(k), series.data.scale), trend: trendOf(values, step(k), series.data.scale) };
  }).sort((a, b) => (b.cores ?? -1) - (a.cores ?? -1) || a.name.localeCompare(b.name));
  const sum = rows.reduce((n, r) => n + (r.cores ?? 0), 0);
  return (
    <Shell title="">
      <div class="toolbar">
        <h1>Services</h1>
        <RangePicker time={time} onChange={set} />
        <span class="grow" />
        {rows.length > 0 && <p data-testid="sum">{rows.length} {rows.length === 1 ? 'service' : 'services'} · {sum.toFixed(2)} cores used</p>}
      </div>
      <QueryState query={services} what="services" />
      <QueryState query={series} what="cores" />
      {services.data && rows.length === 0 && <Empty />}
      {rows.length > 0 && (
        <div class="table-box"><table class="services">
          <caption class="hidden">Services by cores used</caption>
          <thead><tr><th scope="col">Service</th><th scope="col" class="number">Cores</th><th scope="col">Trend</th><th scope="col">Most CPU in</th><th scope="col">Types</th><th scope="col">Last profile</th></tr></thead>
          <tbody>{rows.map((r) => (
            <tr key={r.name}>
              <th scope="row"><a href={link(r.name, time)}><bdi>{r.name || '(no name)'}</bdi></a></th>
              <td class="number">{r.cores === null ? '–' : r.cores.toFixed(2)}</td>
              <td>{r.trend && <Sparkline values={r.trend} label={`cores of ${r.name}`} />}</td>
              <td><TopOf service={r.name} time={asked} has={r.profiles > 0} /></td>
              <td>{r.types.map((t) => t.name).join(', ') || 'traces only'}</td>
              <td><Seen last={r.last} /></td>
            </tr>
          ))}</tbody>
        </table></div>
      )}
    </Shell>
  );
}

function Seen({ last }: { last: string }) {
  const ms = Date.parse(last);
  if (!(ms > 0)) return <>–</>;
  return <time dateTime={last} title={formatTime(ms, zone.value === 'utc')}>{formatAgo(ms, Date.now())}</time>;
}

// Asked one after the other: a hundred services must not become a hundred questions at once.
let queue: Promise<unknown> = Promise.resolve();
function TopOf({ service, time, has }: { service: string; time: Record<string, string>; has: boolean }) {
  const [top, setTop] = useState<TopAnswer | null>(null);
  useEffect(() => {
    if (!has) return;
    const own = new AbortController();
    queue = queue.then(async () => {
      if (own.signal.aborted) return;
      try {
        setTop(await getJson<TopAnswer>('top', { query: selectorOf(service, ''), ...time, limit: '3' }, own.signal));
      } catch { /* the row stays without; the page says what is wrong with the server */ }
    });
    return () => own.abort();
  }, [service, JSON.stringify(time)]);
  if (!top || top.rows.length === 0) return <>{has ? '…' : '–'}</>;
  return <>{top.rows.filter((r) => Number(r.self) > 0).map((r, i) => <span key={i} class="top-name"><bdi title={safe(r.name).slice(0, 500)}>{safe(fitName(r.name, 36))}</bdi> {formatShare(Number(r.self), Number(top.total))}</span>)}</>;
}

function Empty() {
  const host = location.hostname;
  return (
    <div class="empty">
      <p><strong>No profiles in this range yet.</strong> Choose a longer range, or send some:</p>
      <ul>
        <li>a file you have: <Command text={`wherefore push profile.pb.gz --service my-service --server ${location.origin}`} /></li>
        <li>an OpenTelemetry SDK or collector: <Command text={`export OTEL_EXPORTER_OTLP_ENDPOINT=http://${host}:4318`} /></li>
        <li>a Pyroscope SDK: <Command text={`export PYROSCOPE_SERVER_ADDRESS=${location.origin}`} /></li>
      </ul>
    </div>
  );
}
