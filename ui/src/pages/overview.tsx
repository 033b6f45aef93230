// Home: what got worse, and all services (parts/services.tsx).
import { useMemo, useState } from 'preact/hooks';
import type { Overview } from '../core/answers';
import { now } from '../core/clock';
import { getJson } from '../core/api';
import { formatAgo, formatCores, formatCount, formatMany } from '../core/format';
import { go, replace, url } from '../core/location';
import { isQuiet, rowsOf, sorted, type ServiceRow } from '../core/services';
import { decodeOverview, encodeOverview, timeOf, type OverviewState } from '../core/state';
import { cardsOf, type WorseEntry } from '../core/worse';
import { safe } from '../draw/flame';
import { useSettled } from '../parts/choice';
import { Answer, QueryState, useQuery } from '../parts/query';
import { RangePicker } from '../parts/range';
import { Command, otlpCommand, Shell } from '../parts/shell';
import { ServiceTable } from '../parts/services';
import { TableBox } from '../parts/table_box';
import { useWorse, WorseCards } from '../parts/worse';

const LISTED = 100;
const ACCOUNTED = 12; // of so many services the page says where their requests' time went

export function OverviewPage() {
  const { since, from, to, search, show, sort } = decodeOverview(url.value);
  const time = { since, from, to };
  const asked = { ...timeOf(time), search: useSettled(search), limit: String(LISTED), where: String(ACCOUNTED) };
  const overview = useQuery(JSON.stringify(['overview', asked]), (s) => getJson('overview', asked, s));
  const set = (change: Partial<OverviewState>, how = go) =>
    how(encodeOverview({ ...decodeOverview(url.value), ...change }));
  const worse = useWorse();
  const { rows, more, loadMore } = useAllRows(overview.data, asked);
  const worst = useMemo(() => new Map(cardsOf(worse.data).map((e) => [e.service, e])), [worse.data]);
  const marks = useMemo(() => new Map(worse.data?.marks.map((m) => [m.service, m])), [worse.data]);
  const trends = useMemo(() => new Map(rows.map((r) => [r.name, r])), [rows]);
  const chosen = sorted(
    rows.filter((r) => CHOICES[show].has(r, worst)),
    sort,
  );
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
            {' · '}
            {formatCores(cores)} cores used
            {rows.length < total && sort !== 'cores' && ` · the ${formatCount(rows.length)} that use most are sorted`}
          </p>
        )}
      </div>
      {worse.data && search === '' && <WorseCards worse={worse.data} rows={trends} />}
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
            <ServiceTable
              rows={chosen}
              worst={worst}
              marks={marks}
              time={time}
              observed={observed}
              sort={sort}
              onSort={(by) => set({ sort: by })}
              total={show === 'all' ? total : chosen.length}
              onEnd={loadMore}
            />
          </TableBox>
          {chosen.length === 0 && <p class="note">{CHOICES[show].none}</p>}
        </Answer>
      )}
      <QueryState query={more} what="more services" shown={false} />
    </Shell>
  );
}

// Those that use most CPU at first; the others a hundred at a time, when the reader comes to them.
function useAllRows(first: Overview | undefined, asked: Record<string, string>) {
  const [others, setOthers] = useState<{ of?: Overview; answers: Overview[]; wanted: boolean }>(NO_OTHERS);
  const mine = others.of === first ? others : NO_OTHERS;
  const rows = useMemo(() => rowsOf(first), [first]);
  const added = useMemo(() => mine.answers.flatMap(rowsOf), [mine.answers]);
  const all = useMemo(() => (added.length > 0 ? [...rows, ...added] : rows), [rows, added]);
  const offset = String(all.length);
  const more = useQuery(mine.wanted ? JSON.stringify(['more services', asked, offset]) : null, async (s) => {
    const answer = await getJson('overview', { ...asked, where: '0', offset }, s);
    setOthers({ of: first, answers: [...mine.answers, answer], wanted: false });
    return answer;
  });
  return { rows: all, more, loadMore: () => setOthers({ of: first, answers: mine.answers, wanted: true }) };
}
const NO_OTHERS = { answers: [], wanted: false };

type Worst = Map<string, WorseEntry>;

// Which services are listed.
const CHOICES: Record<
  OverviewState['show'],
  { name: string; none: string; has: (row: ServiceRow, worst: Worst) => boolean }
> = {
  all: { name: 'all', none: '', has: () => true },
  worse: { name: 'worse', none: 'No service surely got worse.', has: (r, worst) => worst.has(r.name) },
  new: {
    name: 'new',
    none: 'No version is new in this time.',
    has: (r) => r.earlier_version !== undefined && r.earlier_version !== '',
  },
  quiet: { name: 'quiet', none: 'Every service sent in the last three minutes.', has: (r) => isQuiet(r, now()) },
};

// A range without anything is not an empty server.
function Empty() {
  const ever = useQuery('any service', (s) => getJson('services', { from: '1970-01-02T00:00:00Z', limit: '1' }, s));
  if (!ever.data) return null;
  if (ever.data.total > 0) return <EmptyRange last={ever.data.services[0]?.last} services={ever.data.total} />;
  return (
    <div class="empty">
      <p>
        <strong>Nothing has been sent to this server yet.</strong> Send some:
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

function EmptyRange({ services, last }: { services: number; last?: string }) {
  return (
    <div class="empty">
      <p>
        <strong>Nothing was sent in this range.</strong> The server has {formatMany(services, 'service')}
        {last && ` (one was last seen ${formatAgo(Date.parse(last), now())})`}. Show{' '}
        <a href="/?since=1d">the last day</a>, <a href="/?since=30d">30 days</a>, <a href="/?since=3650d">all time</a>.
      </p>
    </div>
  );
}
