// Regressions: what surely got dearer with a version, one row for each cause, kept until it is gone. A timeline with
// the new versions, before and after, traces of both sides, and what was decided about it.
import type { LookedAtVersion, Regression, Regressions } from '../core/answers';
import { now } from '../core/clock';
import { getKnown } from '../core/api';
import { formatCount, formatMany, formatRough, formatSpan } from '../core/format';
import { go, replace, url } from '../core/location';
import { rangeOf } from '../core/presets';
import { lanesOf, quietText } from '../core/regressions';
import { said } from '../core/settings';
import { decodeRegressions, encodeRegressions, REGRESSION_STATES, timeOf, type RegressionsState } from '../core/state';
import { safe, shownName } from '../draw/flame';
import { Ago } from '../parts/ago';
import { useSettled } from '../parts/choice';
import { Answer, QueryState, useQuery } from '../parts/query';
import { RangePicker } from '../parts/range';
import { COLUMNS, RegressionRows } from '../parts/regression';
import { RegressionLanes } from '../parts/regression_lanes';
import { Shell } from '../parts/shell';
import { TableBox } from '../parts/table_box';
import { useTick } from '../parts/tick';

const AGAIN_MS = 30_000;
const LISTED = '200';

const set = (change: Partial<RegressionsState>, how = go) =>
  how(encodeRegressions({ ...decodeRegressions(url.value), ...change }));

export function RegressionsPage() {
  const state = decodeRegressions(url.value);
  const { service, show, id } = state;
  const tick = useTick(true, AGAIN_MS);
  const { since, from } = timeOf(state);
  const asked = { since: since ?? from, service, search: useSettled(state.search), limit: LISTED };
  const found = useQuery(JSON.stringify(['regressions', asked, tick]), (s) => getKnown('regressions', asked, s));
  const answer = found.data;
  const range = rangeOf(state, found.at || now());
  const all = answer?.regressions.filter((r) => Number(r.first_seen_ms) <= range[1]) ?? [];
  const shown = all.filter((r) => show === 'all' || r.state === show || r.id === id);
  const lanes = answer ? lanesOf(answer, shown, range) : [];
  return (
    <Shell title="Regressions">
      <div class="toolbar">
        <h1>Regressions</h1>
        <RangePicker time={state} onChange={set} />
        <label>
          Search{' '}
          <input
            type="search"
            value={state.search}
            placeholder="service or function"
            spellcheck={false}
            maxLength={200}
            onInput={(e) => set({ search: e.currentTarget.value }, replace)}
          />
        </label>
        {service !== '' && (
          <button type="button" onClick={() => set({ service: '' })}>
            All services
          </button>
        )}
        <span class="grow" />
        {answer && (
          <p role="status" data-testid="counts">
            {formatCount(Number(answer.open))} open · {formatMany(Number(answer.total), 'regression')}
            {service !== '' && ` of ${safe(service)}`}
          </p>
        )}
      </div>
      <QueryState query={found} what="regressions" />
      {answer === null && <p class="note">This server does not look for regressions.</p>}
      {answer && (
        <Answer query={found}>
          {all.length > 0 && (
            <div role="group" aria-label="Which regressions" class="switch choices">
              {(['all', ...REGRESSION_STATES] as const).map((s) => (
                <button key={s} type="button" aria-pressed={show === s} onClick={() => set({ show: s })}>
                  {s} {formatCount(s === 'all' ? all.length : all.filter((r) => r.state === s).length)}
                </button>
              ))}
            </div>
          )}
          {lanes.length > 0 && (
            <RegressionLanes
              lanes={lanes}
              range={range}
              selected={id}
              href={(one) => encodeRegressions({ ...state, id: one, act: '' })}
            />
          )}
          {Number(answer.open) === 0 && <p class="note">{quietText(answer)}</p>}
          {shown.length > 0 && <Rows state={state} rows={shown} onChange={found.retry} />}
          <Beyond state={state} answer={answer} shown={shown} />
          {shown.length === 0 && all.length > 0 && <p class="note">None is {show}.</p>}
          {answer.regressions.length < Number(answer.total) && (
            <p class="note">The {formatCount(answer.regressions.length)} that cost most are listed.</p>
          )}
          {answer.versions.length > 0 && <Versions versions={answer.versions} />}
          <Watch watch={answer.watch} />
        </Answer>
      )}
    </Shell>
  );
}

// What this time does not have: the record of the address, and what is still open from another time.
function Beyond({ state, answer, shown }: { state: RegressionsState; answer: Regressions; shown: Regression[] }) {
  const { id, service, search, show } = state;
  const missing = id !== '' && !shown.some((r) => r.id === id);
  const all = service === '' && search === '' && (show === 'all' || show === 'open');
  const listed = shown.filter((r) => r.state === 'open').length;
  const open = all && answer.regressions.length === Number(answer.total) ? Number(answer.open) - listed : 0;
  if (!missing && open <= 0) return null;
  return (
    <p class="note">
      {missing
        ? 'The regression of this address is not among those of this time. '
        : `${formatMany(open, 'open regression is', 'open regressions are')} from another time. `}
      <button type="button" onClick={() => set({ since: '3650d', from: null, to: null, search: '', show: 'all' })}>
        Look at all time
      </button>
    </p>
  );
}

interface RowsProps {
  state: RegressionsState;
  rows: Regression[];
  onChange: () => void;
}

const Rows = ({ state: { id, act }, rows, onChange }: RowsProps) => (
  <TableBox label="Regressions">
    <table class="regressions">
      <caption class="hidden">Regressions, one row for each cause</caption>
      <thead>
        <tr>
          {COLUMNS.map((name) => (
            <th key={name} scope="col" class={name === 'Change' || name === 'Cores' ? 'number' : undefined}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((r) => (
          <RegressionRows
            key={r.id}
            regression={r}
            selected={r.id === id}
            act={r.id === id ? act : ''}
            onSelect={() => set({ id: r.id === id ? '' : r.id, act: '' })}
            onAct={(next) => set({ act: next })}
            onChange={() => {
              set({ act: '' });
              onChange();
            }}
          />
        ))}
      </tbody>
    </table>
  </TableBox>
);

// What was looked at, and how small a change would have been found.
const Versions = ({ versions }: { versions: LookedAtVersion[] }) => (
  <>
    <h2>New versions</h2>
    <TableBox label="New versions">
      <table class="versions">
        <caption class="hidden">New versions that were looked at</caption>
        <thead>
          <tr>
            <th scope="col">Service</th>
            <th scope="col">Version</th>
            <th scope="col">Since</th>
            <th scope="col">Looks</th>
            <th scope="col" class="number">
              Regressions
            </th>
            <th scope="col">Would have found</th>
          </tr>
        </thead>
        <tbody>
          {versions.map((v) => (
            <tr key={[v.service, v.label, v.before, v.after, v.at_ms].join('\0')}>
              <th scope="row">
                <bdi>{shownName(v.service, 80)}</bdi>
              </th>
              <td>{safe(`${v.before} → ${v.after}`).slice(0, 100)}</td>
              <td>
                <Ago at={Number(v.at_ms)} />
              </td>
              <td>
                {v.looks} of 4
                {Number(v.next_ms) > 0 && (
                  <small>
                    {'\u00a0'}
                    {Number(v.next_ms) > now() ? (
                      <>
                        next <Ago at={Number(v.next_ms)} />
                      </>
                    ) : (
                      'the next is due'
                    )}
                  </small>
                )}
              </td>
              <td class="number">{formatCount(Number(v.regressions))}</td>
              <td>
                {v.detectable_share ? `a change of ${formatRough(100 * v.detectable_share)} %` : '–'}
                {v.note && <small>{'\u00a0' + said(v.note)}</small>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  </>
);

function Watch({ watch: { note, ...watch } }: { watch: Regressions['watch'] }) {
  const [looks, skipped, failed, last] = [watch.looks, watch.skipped, watch.failed, watch.last_ms].map(Number);
  return (
    <p class="small">
      {formatMany(looks, 'look')}
      {last > 0 && `, the last ${formatSpan(now() - last)} ago`}
      {skipped > 0 && `, ${formatCount(skipped)} skipped`}
      {failed > 0 && `, ${formatCount(failed)} failed`}
      {note && `: ${said(note)}`}
    </p>
  );
}
