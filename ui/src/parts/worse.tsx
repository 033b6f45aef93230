// What got worse, one card for each service, most certain cost first. The server works it out in the background, so the
// page asks again while it is looking. A server that does not know the question shows no cards.
import { useEffect } from 'preact/hooks';
import type { Worse, WorseCause } from '../core/answers';
import { getKnown } from '../core/api';
import { now } from '../core/clock';
import { formatMany, formatShare, formatValue } from '../core/format';
import { rowAddress } from '../core/regressions';
import { shortName } from '../core/names';
import type { ServiceRow } from '../core/services';
import { addressesOf, cardsOf, costText, headingOf, type WorseEntry } from '../core/worse';
import { safe, shownName } from '../draw/flame';
import { useQuery } from './query';
import { markIn } from './services';
import { copyText } from './shell';
import { Sparkline } from './sparkline';

const AGAIN_MS = 1000;
const LISTED = '12';

// `search`: part of a service's name; null: do not ask.
export function useWorse(search: string | null = '') {
  const key = search === null ? null : 'worse' + search;
  const asked = { limit: LISTED, search: search ?? '' };
  const found = useQuery(key, (s) => getKnown('worse', asked, s));
  useEffect(() => {
    if (search !== '' || !found.data?.looking || found.loading) return;
    const id = setTimeout(found.retry, AGAIN_MS);
    return () => clearTimeout(id);
  }, [found.data, found.loading]);
  return found;
}

// `rows`: the services that are listed, by name, for their trends.
export function WorseCards({ worse, rows }: { worse: Worse; rows: Map<string, ServiceRow> }) {
  const heading = headingOf(worse, now());
  if (heading === '') return null;
  return (
    <section class="worse" aria-label="What got worse">
      <div role="status">
        <h2 data-testid="worse">{heading}</h2>
      </div>
      {cardsOf(worse).map((e) => (
        <Card key={e.service} entry={e} row={rows.get(e.service)} />
      ))}
    </section>
  );
}

const ns = (v: number | string) => formatValue(Number(v), 'nanoseconds');

function Card({ entry: e, row }: { entry: WorseEntry; row?: ServiceRow }) {
  const { latency: l } = e;
  const to = addressesOf(e);
  return (
    <article class="worse-card" aria-label={e.service}>
      <p>
        <b class="worse-sign">▲</b> <b>{shownName(e.service, 80)}</b> <span class="figures">{costText(e)}</span>
        {l && (
          <span class="figures">
            {' · '}p50 {ns(l.p50_ns_before)} → {ns(l.p50_ns_after)} · p99 {ns(l.p99_ns_before)} → {ns(l.p99_ns_after)}
          </span>
        )}
        {' · '}
        <small>
          {e.since.label === '' ? 'against the hour before' : `since ${safe(e.since.after)}`}, certain (q{' '}
          {e.q < 0.001 ? 'below 0.001' : e.q.toPrecision(2)})
        </small>
      </p>
      {e.causes.slice(0, 2).map((c) => (
        <Cause key={c.module + c.function} cause={c} unit={e.unit} mode={e.mode} />
      ))}
      <p class="actions">
        {row?.trend && (
          <Sparkline values={row.trend} label={`cores of ${e.service}`} mark={markIn(row, e.since.at_ms)} />
        )}
        {e.endpoints.length > 0 && (
          <small>
            in{' '}
            {e.endpoints
              .slice(0, 4)
              .map((n) => safe(n).slice(0, 60))
              .join(', ')}
          </small>
        )}
        <a class="button" href={to.diff}>
          Diff
        </a>
        <a class="button" href={to.line}>
          Line
        </a>
        <a class="button" href={to.traces}>
          Traces
        </a>
        {e.regressions.length > 0 && (
          <a class="button" href={rowAddress(e.service, e.regressions[0], Number(e.since.at_ms), now())}>
            {e.regressions.length === 1 ? 'Regression' : formatMany(e.regressions.length, 'regression')}
          </a>
        )}
        <button type="button" onClick={() => copyText(`${e.sentence}\n${new URL(to.diff, location.href)}\n`)}>
          Copy
        </button>
      </p>
    </article>
  );
}

function Cause({ cause: c, unit, mode }: { cause: WorseCause; unit: string; mode: WorseEntry['mode'] }) {
  const value = (v: number) => (mode === 'request' ? formatValue(v, unit) : formatShare(v, 1));
  const name = c.own?.function ?? c.function;
  return (
    <p class="worse-cause">
      <code>{safe(shortName(name))}</code>
      {c.own && c.own.file !== '' && (
        <span>
          {' '}
          {safe(c.own.file.slice(c.own.file.lastIndexOf('/') + 1))}
          {c.own.line > 0 && `:${c.own.line}`}
        </span>
      )}{' '}
      {c.own?.text && <code class="line-text">{safe(c.own.text.slice(0, 160))}</code>}{' '}
      <span class="figures">
        {c.kind} {value(c.change)} ({value(c.low)} to {value(c.high)})
      </span>
    </p>
  );
}
