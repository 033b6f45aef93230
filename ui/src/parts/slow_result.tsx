// What a comparison of slow requests with typical ones, or of selected ones with all others, found. The server
// compares; every number here is its own.
import type { NameAccounting, Slow, SlowAttribute, SlowRow } from '../core/answers';
import { partsOf } from '../core/accounting';
import { formatCount, formatShare, formatValue } from '../core/format';
import { said } from '../core/settings';
import { rowName, signed } from '../core/slow_text';
import {
  encodeService,
  encodeSlow,
  encodeTrace,
  encodeTraces,
  newService,
  newSlow,
  newTrace,
  newTraces,
  type TimeState,
} from '../core/state';
import { safe, shownName } from '../draw/flame';
import { AccountBar, AccountLegend } from './account_bar';
import type { Query } from './query';
import { TableBox } from './table_box';

const ns = (v: number) => formatValue(Math.round(v), 'nanoseconds');

// Whose requests are compared, and where its links lead.
export interface ComparedState extends TimeState {
  service: string;
  name: string;
  attribute: string;
}

const sidesOf = (selected: boolean) => (selected ? ['Selected', 'Others'] : ['Slow', 'Typical']);

interface SlowResultProps {
  state: ComparedState;
  slow: Slow;
  all?: Query<NameAccounting>;
  selected?: boolean; // it is a selection against all others
}

export function SlowResult({ state, slow: s, all, selected = false }: SlowResultProps) {
  const compared = s.parts.length > 0;
  const [these, those] = sidesOf(selected);
  return (
    <>
      <p class="sentence" data-testid="gap">
        {compared ? (
          <>
            {these} requests take <b>{ns(s.mean_slow_ns)}</b>, {those.toLowerCase()} <b>{ns(s.mean_typical_ns)}</b>: a
            gap of <b>{ns(Number(s.gap_ns))}</b>.
          </>
        ) : (
          <b>{s.note ? said(s.note) : 'There is nothing to compare'}.</b>
        )}{' '}
        <span class="small">
          {formatCount(s.slow)} {these.toLowerCase()} {!selected && `(from ${ns(Number(s.slow_from_ns))}) `}and{' '}
          {formatCount(s.typical)} {those.toLowerCase()}{' '}
          {!selected && `(${ns(Number(s.typical_from_ns))} to ${ns(Number(s.typical_to_ns))}) `}of{' '}
          {formatCount(s.requests)}
          {s.more ? ', the newest,' : ''} requests
        </span>
      </p>
      {all?.data && Number(all.data.duration_ns) > 0 && <WhereAll account={all.data} />}
      {compared && (
        <>
          <Causes state={state} slow={s} />
          <Gap slow={s} selected={selected} />
          <Rows state={state} label="Children" rows={s.children} selected={selected} />
          <Rows state={state} label="Functions" rows={s.functions} selected={selected} />
        </>
      )}
      {s.attributes.length > 0 && <Attributes state={state} attributes={s.attributes} selected={selected} />}
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

function Causes({ state, slow: s }: { state: ComparedState; slow: Slow }) {
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
function Gap({ slow: s, selected }: { slow: Slow; selected: boolean }) {
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
      <Table label="Parts" rows={s.parts} selected={selected} />
    </section>
  );
}

function Rows(p: TableProps) {
  return p.rows.length === 0 ? null : <Table {...p} />;
}

const MOST = 30;

interface TableProps {
  state?: ComparedState;
  label: string;
  rows: SlowRow[];
  selected: boolean;
}

function Table({ state, label, rows, selected }: TableProps) {
  const [these, those] = sidesOf(selected);
  return (
    <TableBox label={label}>
      <table class="slow" aria-label={label}>
        <thead>
          <tr>
            <th scope="col">{label}</th>
            <th scope="col" class="number">
              {these}
            </th>
            <th scope="col" class="number">
              {those}
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
                {!r.significant && (
                  <>
                    {' '}
                    <small>may be chance</small>
                  </>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}

// A function leads to its callers, a child to its own comparison.
function Name({ state, row }: { state: ComparedState; row: SlowRow }) {
  const text = <bdi>{safe(rowName(row))}</bdi>;
  if (row.part === 'children' && row.name)
    return (
      <a href={encodeSlow({ ...newSlow(state), service: row.service ?? state.service, name: row.name })}>{text}</a>
    );
  if (!row.function) return text;
  const at = newService(state.service, state);
  return <a href={encodeService({ ...at, view: 'sandwich', fn: row.function, mod: row.module ?? null })}>{text}</a>;
}

interface AttributesProps {
  state: ComparedState;
  attributes: SlowAttribute[];
  selected: boolean;
}

function Attributes({ state, attributes, selected }: AttributesProps) {
  const [these, those] = sidesOf(selected);
  return (
    <TableBox label="Attributes">
      <table class="slow" aria-label="Attributes">
        <thead>
          <tr>
            <th scope="col">Attribute</th>
            <th scope="col" class="number">
              Of {these.toLowerCase()}
            </th>
            <th scope="col" class="number">
              Of {those.toLowerCase()}
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
