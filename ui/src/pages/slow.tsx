// Slow versus typical: what the slow requests of an endpoint do that typical ones do not. The server compares; every
// number here is its own.
import type { NameAccounting, Slow, SlowAttribute, SlowRow } from '../core/answers';
import { partsOf } from '../core/accounting';
import { getJson } from '../core/api';
import { now } from '../core/clock';
import { formatCount, formatShare, formatValue } from '../core/format';
import { slowIncident } from '../core/incident';
import { go, url } from '../core/location';
import { rangeOf } from '../core/presets';
import { said } from '../core/settings';
import { rowName, signed } from '../core/slow_text';
import {
  decodeSlow,
  encodeService,
  encodeSlow,
  encodeTrace,
  encodeTraces,
  newService,
  newTrace,
  newTraces,
  timeOf,
  type SlowState,
} from '../core/state';
import { safe, shownName } from '../draw/flame';
import { AccountBar, AccountLegend } from '../parts/account_bar';
import { Choice } from '../parts/choice';
import { Answer, QueryState, useQuery, type Query } from '../parts/query';
import { RangePicker } from '../parts/range';
import { copyText, Shell } from '../parts/shell';
import { TableBox } from '../parts/table_box';
import { useNames } from './traces';

const ns = (v: number) => formatValue(Math.round(v), 'nanoseconds');
const set = (change: Partial<SlowState>) => go(encodeSlow({ ...decodeSlow(url.value), ...change }));

export function SlowPage() {
  const state = decodeSlow(url.value);
  const { service, name, attribute, slow, typical } = state;
  const asked = { ...timeOf(state), service, name, attribute };
  const chosen = service !== '' && name !== '';
  const key = (what: string) => (chosen ? JSON.stringify([what, asked, slow, typical]) : null);
  const found = useQuery(key('slow'), (s) => getJson('slow', { ...asked, slow, typical }, s));
  const all = useQuery(key('accounting of a name'), (s) => getJson('accounting', asked, s));
  const names = useNames(state);
  return (
    <Shell title={chosen ? `Slow ${name}`.slice(0, 80) : 'Slow versus typical'}>
      <div class="toolbar">
        <h1>Slow versus typical</h1>
        <RangePicker time={state} onChange={set} />
        <span class="grow" />
        {chosen && (
          <a class="button" href={encodeTraces({ ...newTraces(service, state), name, attribute, sort: 'duration' })}>
            Their traces
          </a>
        )}
        {found.data && (
          <button
            type="button"
            onClick={() => copyText(slowIncident(found.data!, rangeOf(state, found.at || now()), location.href))}
          >
            Copy for incident
          </button>
        )}
      </div>
      <Conditions state={state} names={names} key={encodeSlow(state)} />
      {!chosen && (
        <p class="note">
          Choose a service and a span: its slow requests are compared with typical ones, part by part and function by
          function.
        </p>
      )}
      <QueryState query={found} what="slow requests" />
      {found.data && (
        <Answer query={found}>
          <Result state={state} slow={found.data} all={all} />
        </Answer>
      )}
    </Shell>
  );
}

function Conditions({ state, names }: { state: SlowState; names: ReturnType<typeof useNames> }) {
  return (
    <form
      class="filters fields"
      onSubmit={(e) => {
        e.preventDefault();
        const form = new FormData(e.currentTarget);
        const text = (name: string) => String(form.get(name) ?? '').trim();
        set({ attribute: text('attribute'), slow: text('slow'), typical: text('typical') });
      }}
    >
      <Choice
        label="Service"
        none="choose"
        value={state.service}
        {...names.services}
        onChoose={(service) => set({ service, name: '' })}
      />
      <Choice label="Span" none="choose" value={state.name} {...names.spans} onChoose={(name) => set({ name })} />
      <label>
        Attribute <input name="attribute" size={20} defaultValue={state.attribute} placeholder="http.route=/pay" />
      </label>
      <label>
        Slow from <input name="slow" size={6} defaultValue={state.slow} placeholder="p95" />
      </label>
      <label>
        Typical <input name="typical" size={9} defaultValue={state.typical} placeholder="p40-p60" />
      </label>
      <button type="submit">Compare</button>
    </form>
  );
}

interface ResultProps {
  state: SlowState;
  slow: Slow;
  all: Query<NameAccounting>;
}

function Result({ state, slow: s, all }: ResultProps) {
  const compared = s.parts.length > 0;
  return (
    <>
      <p class="sentence" data-testid="gap">
        {compared ? (
          <>
            Slow requests take <b>{ns(s.mean_slow_ns)}</b>, typical ones <b>{ns(s.mean_typical_ns)}</b>: a gap of{' '}
            <b>{ns(Number(s.gap_ns))}</b>.
          </>
        ) : (
          <b>{s.note ? said(s.note) : 'There is nothing to compare'}.</b>
        )}{' '}
        <span class="small">
          {formatCount(s.slow)} slow (from {ns(Number(s.slow_from_ns))}) and {formatCount(s.typical)} typical (
          {ns(Number(s.typical_from_ns))} to {ns(Number(s.typical_to_ns))}) of {formatCount(s.requests)}
          {s.more ? ', the newest,' : ''} requests
        </span>
      </p>
      {all.data && Number(all.data.duration_ns) > 0 && <WhereAll account={all.data} />}
      {compared && (
        <>
          <Causes state={state} slow={s} />
          <Gap slow={s} />
          <Rows state={state} label="Children" rows={s.children} />
          <Rows state={state} label="Functions" rows={s.functions} />
        </>
      )}
      {s.attributes.length > 0 && <Attributes state={state} attributes={s.attributes} />}
      {s.slow_traces.length > 0 && (
        <p>
          Slow: <TraceLinks ids={s.slow_traces} /> · typical: <TraceLinks ids={s.typical_traces} />
        </p>
      )}
    </>
  );
}

function WhereAll({ account: a }: { account: NameAccounting }) {
  const account = { duration: Number(a.duration_ns), parts: partsOf(a.parts) };
  return (
    <section class="account" aria-label="All requests">
      <h2>Where the time of all {formatCount(a.spans)} went</h2>
      <AccountBar label="Of all requests" account={account} />
      <AccountLegend account={account} />
      {a.why && <p class="small">Not observed: {said(a.why)}</p>}
    </section>
  );
}

function Causes({ state, slow: s }: { state: SlowState; slow: Slow }) {
  return (
    <section class="causes" aria-label="Causes">
      <h2>{s.causes.length === 0 ? 'Nothing surely explains the gap' : 'What explains it'}</h2>
      <ol>
        {s.causes.map((c, i) => (
          <li key={i}>
            <b>
              <span aria-hidden="true">{c.change > 0 ? '▲' : '▼'}</span> {signed(c.change)}
            </b>{' '}
            <span class="small">
              ({signed(c.low)} to {signed(c.high)}), {formatShare(c.change, Number(s.gap_ns))} of the gap
            </span>{' '}
            <Name state={state} row={c} />
          </li>
        ))}
      </ol>
    </section>
  );
}

// The parts as one bar: those that are more in slow requests, as shares of the gap.
function Gap({ slow: s }: { slow: Slow }) {
  const parts = s.parts.filter((p) => Number(p.change_ns) > 0);
  const sum = parts.reduce((total, p) => total + Number(p.change_ns), 0);
  return (
    <section class="account" aria-label="The gap">
      <h2>The gap of {ns(Number(s.gap_ns))}</h2>
      <div class="account-bar" role="img" aria-label={parts.map((p) => `${rowName(p)} ${signed(p.change)}`).join('; ')}>
        {parts.map((p) => (
          <i
            key={p.part}
            class={`part part-${p.part}`}
            data-part={p.part}
            style={{ width: `${(100 * Number(p.change_ns)) / sum}%` }}
            title={`${rowName(p)} ${signed(p.change)}`}
          />
        ))}
      </div>
      <Table label="Parts" rows={s.parts} />
    </section>
  );
}

function Rows({ state, label, rows }: { state: SlowState; label: string; rows: SlowRow[] }) {
  if (rows.length === 0) return null;
  return <Table state={state} label={label} rows={rows} />;
}

const MOST = 30;

function Table({ state, label, rows }: { state?: SlowState; label: string; rows: SlowRow[] }) {
  return (
    <TableBox label={label}>
      <table class="slow" aria-label={label}>
        <thead>
          <tr>
            <th scope="col">{label}</th>
            <th scope="col" class="number">
              Slow
            </th>
            <th scope="col" class="number">
              Typical
            </th>
            <th scope="col" class="number">
              Change
            </th>
            <th scope="col" class="number">
              95 % interval
            </th>
            <th scope="col" class="number">
              q
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST).map((r, i) => (
            <tr key={i} data-part={r.part} class={r.significant ? 'sure' : undefined}>
              <th scope="row">
                <i class={`part part-${r.part}`} aria-hidden="true" />{' '}
                {state ? <Name state={state} row={r} /> : rowName(r)}
              </th>
              <td class="number">{ns(r.slow)}</td>
              <td class="number">{ns(r.typical)}</td>
              <td class="number">
                {r.significant && <span aria-hidden="true">{r.change > 0 ? '▲ ' : '▼ '}</span>}
                {signed(r.change_ns === undefined ? r.change : Number(r.change_ns))}
              </td>
              <td class="number">
                {signed(r.low)} to {signed(r.high)}
              </td>
              <td class="number">
                {r.q < 0.001 ? '<0.001' : r.q.toPrecision(2)}
                {!r.significant && <small> may be chance</small>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}

// A function leads to its callers, a child to its own comparison.
function Name({ state, row }: { state: SlowState; row: SlowRow }) {
  const text = <bdi>{safe(rowName(row))}</bdi>;
  if (row.part === 'children' && row.name)
    return (
      <a href={encodeSlow({ ...state, service: row.service ?? state.service, name: row.name, attribute: '' })}>
        {text}
      </a>
    );
  if (!row.function) return text;
  const at = newService(state.service, state);
  return <a href={encodeService({ ...at, view: 'sandwich', fn: row.function, mod: row.module ?? null })}>{text}</a>;
}

function Attributes({ state, attributes }: { state: SlowState; attributes: SlowAttribute[] }) {
  return (
    <TableBox label="Attributes">
      <table class="slow" aria-label="Attributes">
        <thead>
          <tr>
            <th scope="col">Attribute</th>
            <th scope="col" class="number">
              Of slow
            </th>
            <th scope="col" class="number">
              Of typical
            </th>
            <th scope="col" class="number">
              q
            </th>
          </tr>
        </thead>
        <tbody>
          {attributes.slice(0, MOST).map((a) => (
            <tr key={a.name + '\0' + a.value}>
              <th scope="row">
                <a
                  href={encodeTraces({
                    ...newTraces(state.service, state),
                    name: state.name,
                    attribute: `${a.name}=${a.value}`,
                  })}
                >
                  <bdi>{shownName(`${a.name}=${a.value}`, 120)}</bdi>
                </a>
              </th>
              <td class="number">{formatShare(a.slow, 1)}</td>
              <td class="number">{formatShare(a.typical, 1)}</td>
              <td class="number">{a.q < 0.001 ? '<0.001' : a.q.toPrecision(2)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}

const TraceLinks = ({ ids }: { ids: string[] }) => (
  <>
    {ids.slice(0, 5).map((id, i) => (
      <a key={id} href={encodeTrace({ ...newTrace(id), scope: 'critical' })}>
        {i > 0 && ' '}
        {id.slice(0, 8)}
      </a>
    ))}
  </>
);
