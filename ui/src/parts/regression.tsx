// One regression: the row of a table and, below it, everything known about it, with what can be done about it.
import { useState } from 'preact/hooks';
import type { Int64, Regression } from '../core/answers';
import { send } from '../core/api';
import { formatMany, formatTime } from '../core/format';
import { fitName } from '../core/names';
import {
  ACTIONS,
  amountText,
  coresText,
  culpritOf,
  functionIn,
  shareText,
  sinceText,
  traceAddress,
} from '../core/regressions';
import { windowOfRegression } from '../core/pins';
import { zone } from '../core/settings';
import { safe, shownName } from '../draw/flame';
import { Ago } from './ago';
import { KeepButton } from './pins';
import { useSending } from './sending';
import { copyText } from './shell';

const at = (ms: Int64) => formatTime(Number(ms), zone.value === 'utc');
const fileName = (path: string) => path.slice(path.lastIndexOf('/') + 1);

export interface RegressionProps {
  regression: Regression;
  selected: boolean;
  act: '' | 'acknowledge' | 'mute'; // the form that is open
  onSelect: () => void; // opens or closes the details
  onAct: (act: '' | 'acknowledge' | 'mute') => void;
  onChange: () => void; // its state is another
}

export const COLUMNS = ['State', 'Service', 'Since', 'Cause', 'Change', 'Cores', 'First seen'];

export function RegressionRows(p: RegressionProps) {
  const { regression: r, selected } = p;
  const { name, file, line } = culpritOf(r);
  return (
    <>
      <tr class={selected ? 'selected' : undefined} data-regression={r.id}>
        <td>
          <b class={`state ${r.state}`}>{r.state}</b>
        </td>
        <td>
          <bdi>{shownName(r.service, 80)}</bdi>
        </td>
        <td>{safe(sinceText(r)).slice(0, 60)}</td>
        <th scope="row">
          <button
            type="button"
            class="link"
            aria-expanded={selected}
            title={safe(name).slice(0, 500)}
            onClick={p.onSelect}
          >
            {safe(fitName(name, 60))}
          </button>
          {file !== '' && (
            <small>
              {' '}
              {safe(fileName(file))}
              {line > 0 && `:${line}`}
            </small>
          )}
        </th>
        <td class="number">{shareText(r)}</td>
        <td class="number">{coresText(r)}</td>
        <td>
          <Ago at={Number(r.first_seen_ms)} />
        </td>
      </tr>
      {selected && (
        <tr class="detail">
          <td colSpan={COLUMNS.length}>
            <Details {...p} />
          </td>
        </tr>
      )}
    </>
  );
}

function Details(p: RegressionProps) {
  const { regression: r, act, onAct, onChange } = p;
  const to = functionIn(r, culpritOf(r));
  const sending = useSending();
  const reopen = async () => {
    if (await sending.act(() => send('POST', 'regressions/{id}/reopen', { id: r.id }, '{}'), 'Open again.')) onChange();
  };
  return (
    <article class="regression" aria-label={`${r.service}: ${r.function.name}`}>
      <p>{safe(r.sentence)}</p>
      <BeforeAfter regression={r} />
      <Facts regression={r} />
      <Traces regression={r} />
      <p class="actions">
        <a class="button" href={r.address}>
          Diff
        </a>
        <a class="button" href={to.line}>
          Line
        </a>
        <a class="button" href={to.traces}>
          Traces
        </a>
        {ACTIONS[r.state].map((a) =>
          a === 'reopen' ? (
            <button key={a} type="button" disabled={sending.busy} onClick={() => void reopen()}>
              Reopen
            </button>
          ) : (
            <button key={a} type="button" aria-expanded={act === a} onClick={() => onAct(act === a ? '' : a)}>
              {a === 'mute' ? 'Mute…' : 'Acknowledge…'}
            </button>
          ),
        )}
        <KeepButton wanted={() => windowOfRegression(r)} />
        <button
          type="button"
          onClick={() => copyText(`${r.service}: ${r.sentence}\n${new URL(r.address, location.href)}\n${r.command}\n`)}
        >
          Copy
        </button>
      </p>
      {sending.problem && (
        <p class="note error" role="alert">
          {sending.problem}
        </p>
      )}
      {act !== '' && ACTIONS[r.state].includes(act) && (
        <StateForm key={r.id + act} id={r.id} act={act} onDone={onChange} onCancel={() => onAct('')} />
      )}
    </article>
  );
}

// The cost of the whole service on both sides, to scale, and what of it is the cause's.
function BeforeAfter({ regression: r }: { regression: Regression }) {
  const { before, after } = r.change;
  const most = Math.max(before, after, 1e-300);
  const per = r.mode === 'request' ? `${r.type} per request` : `share of ${r.type}`;
  const sides = [
    { name: r.since.before || 'before', value: before, more: 0 },
    { name: r.since.after || 'after', value: after, more: Math.min(r.change.change, after) },
  ];
  return (
    <table class="before-after">
      <caption class="hidden">Before and after</caption>
      <tbody>
        {sides.map((s, i) => (
          <tr key={i}>
            <th scope="row">{safe(s.name).slice(0, 60)}</th>
            <td class="number">{amountText(r, s.value)}</td>
            <td class="wide">
              <span class="amount" style={{ width: `${(100 * s.value) / most}%` }}>
                {s.more > 0 && s.value > 0 && <i style={{ width: `${(100 * s.more) / s.value}%` }} />}
              </span>
            </td>
            <td>{i === 0 ? per : `${amountText(r, r.change.change)} of it is this cause`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Facts({ regression: r }: { regression: Regression }) {
  return (
    <>
      <p>
        <code title={safe(r.function.name).slice(0, 500)}>{safe(fitName(r.function.name, 90))}</code>
        {r.callers.length > 0 && ' called by '}
        {r.callers.map((c, i) => (
          <code key={i} title={safe(c.name).slice(0, 500)}>
            {i > 0 && ', '}
            {safe(fitName(c.name, 60))}
          </code>
        ))}
        {r.endpoints.length > 0 && ' '}
        {r.endpoints.length > 0 && <small>in {r.endpoints.map((e) => safe(e).slice(0, 60)).join(', ')}</small>}
      </p>
      <p>
        <small>
          seen in {formatMany(Number(r.looks), 'look')}, first at {at(r.first_seen_ms)}, last at {at(r.looked_ms)}
          {' · q '}
          {r.q < 0.001 ? 'below 0.001' : r.q.toPrecision(2)}
        </small>
      </p>
      {r.state !== 'open' && (r.why !== '' || r.by !== '' || r.state === 'muted') && (
        <p data-testid="why-state">
          {r.state}
          {r.by !== '' && ` by ${safe(r.by)}`}
          {r.why !== '' && `: ${safe(r.why)}`}
          {r.state === 'muted' && (r.until_ms ? `, until ${at(r.until_ms)}` : ', for good')}
        </p>
      )}
    </>
  );
}

function Traces({ regression: { traces } }: { regression: Regression }) {
  if (traces.before.length + traces.after.length === 0) return null;
  return (
    <p>
      {(['before', 'after'] as const).map(
        (side) =>
          traces[side].length > 0 && (
            <span key={side} class="sample-traces">
              Traces {side}:{' '}
              {traces[side].map((t) => (
                <a key={t} href={traceAddress(t)} aria-label={`${t.slice(0, 8)}, a trace ${side}`}>
                  <code>{t.slice(0, 8)}</code>
                </a>
              ))}{' '}
            </span>
          ),
      )}
    </p>
  );
}

const UNTIL: [string, string][] = [
  ['1d', 'a day'],
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['', 'for good'],
];

interface StateFormProps {
  id: string;
  act: 'acknowledge' | 'mute';
  onDone: () => void;
  onCancel: () => void;
}

// Why, by whom and, for muting, until when.
function StateForm({ id, act, onDone, onCancel }: StateFormProps) {
  const [why, setWhy] = useState('');
  const [by, setBy] = useState('');
  const [until, setUntil] = useState(UNTIL[1][0]);
  const { busy, problem, act: sent } = useSending();
  const mute = act === 'mute';
  const change = async () => {
    const body = { why: why.trim(), by: by.trim(), ...(mute && until !== '' && { until }) };
    const done = mute ? 'Muted.' : 'Acknowledged.';
    if (await sent(() => send('POST', 'regressions/{id}/{act}', { id, act }, JSON.stringify(body)), done)) onDone();
  };
  return (
    <form
      class="filters fields"
      aria-label={mute ? 'Mute' : 'Acknowledge'}
      onSubmit={(e) => {
        e.preventDefault();
        void change();
      }}
    >
      <label>
        Why <input value={why} required={mute} maxLength={500} onInput={(e) => setWhy(e.currentTarget.value)} />
      </label>
      {mute && (
        <label>
          For{' '}
          <select value={until} onChange={(e) => setUntil(e.currentTarget.value)}>
            {UNTIL.map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <label>
        By <input value={by} maxLength={100} onInput={(e) => setBy(e.currentTarget.value)} />
      </label>
      <button type="submit" disabled={busy || (mute && why.trim() === '')}>
        {mute ? 'Mute' : 'Acknowledge'}
      </button>
      <button type="button" onClick={onCancel}>
        Cancel
      </button>
      <span role="status">{problem && <em class="bad">{problem}</em>}</span>
    </form>
  );
}
