// Alerts: what fires and is pending, when it did, the rules, who is told, silences, and dry runs of rules. The server
// judges once a minute; the page asks again every ten seconds.
import { EXAMPLE_RULE, durationText, matchersOf, matchersText, ruleFile, stretchesOf } from '../core/alerts';
import type { Alert, AlertReceiver, AlertRule, Alerts } from '../core/answers';
import { now } from '../core/clock';
import { getKnown } from '../core/api';
import { formatMany, formatTime } from '../core/format';
import { go, url } from '../core/location';
import { windowOfAlert } from '../core/pins';
import { rangeOf } from '../core/presets';
import { said, zone } from '../core/settings';
import { decodeAlerts, encodeAlerts, timeOf, type AlertsState } from '../core/state';
import { safe, shownName } from '../draw/flame';
import { Ago } from '../parts/ago';
import { Strips, Times } from '../parts/alert_times';
import { DryRun } from '../parts/dry_run';
import { KeepButton } from '../parts/pins';
import { Answer, QueryState, useQuery } from '../parts/query';
import { RangePicker } from '../parts/range';
import { copyText, Command, Shell } from '../parts/shell';
import { SilenceForm, Silences } from '../parts/silences';
import { TableBox } from '../parts/table_box';
import { useTick } from '../parts/tick';

const AGAIN_MS = 10_000;
const set = (change: Partial<AlertsState>) => go(encodeAlerts({ ...decodeAlerts(url.value), ...change }));

export function AlertsPage() {
  const state = decodeAlerts(url.value);
  const { alert, service } = state;
  const tick = useTick(true, AGAIN_MS);
  const seen = useQuery('alerts' + tick, (s) => getKnown('alerts', {}, s));
  const silences = useQuery('silences' + tick, (s) => getKnown('silences', {}, s));
  const answer = seen.data;
  const mine = (a: { alert: string; service: string }) =>
    (alert === '' || a.alert === alert) && (service === '' || a.service === service);
  const alerts = answer?.alerts.filter(mine) ?? [];
  const reload = () => {
    seen.retry();
    silences.retry();
  };
  return (
    <Shell title="Alerts">
      <div class="toolbar">
        <h1>Alerts</h1>
        <RangePicker time={state} onChange={set} />
        {(alert !== '' || service !== '') && (
          <button type="button" onClick={() => set({ alert: '', service: '' })}>
            Show all
          </button>
        )}
        {answer && (
          <>
            <button type="button" onClick={() => set({ silence: '' })}>
              Silence…
            </button>
            <button type="button" onClick={() => set({ test: '' })}>
              Dry run…
            </button>
          </>
        )}
        <span class="grow" />
        {answer && (
          <p role="status" data-testid="counts">
            {countsOf(answer)}
          </p>
        )}
      </div>
      <QueryState query={seen} what="alerts" />
      {answer === null && <p class="note">This server does not judge alerts.</p>}
      {answer?.problems.map((p) => (
        <p key={p} class="note error rule-problem" role="alert">
          {said(p)}
        </p>
      ))}
      {answer && state.silence !== null && (
        <SilenceForm
          key={state.silence}
          matchers={state.silence}
          onDone={() => {
            set({ silence: null });
            reload();
          }}
          onCancel={() => set({ silence: null })}
        />
      )}
      {answer && state.test !== null && (
        <DryRun
          key={state.test}
          rules={rulesFor(state.test, answer.rules)}
          time={state}
          onClose={() => set({ test: null })}
        />
      )}
      {answer && (
        <Answer query={seen}>
          {alerts.map((a) => (
            <One key={a.fingerprint} alert={a} />
          ))}
          {alerts.length === 0 && <p class="note">{quietText(answer, state)}</p>}
          {answer.rules.length === 0 && <NoRules />}
          <History state={state} alerts={alerts} tick={tick} />
          {answer.rules.length > 0 && <Rules rules={answer.rules.filter((r) => alert === '' || r.alert === alert)} />}
          {silences.data && silences.data.silences.length > 0 && (
            <>
              <h2>Silences</h2>
              <Silences silences={silences.data.silences} onChange={reload} />
            </>
          )}
          {answer.receivers.length > 0 && <Receivers receivers={answer.receivers} />}
        </Answer>
      )}
    </Shell>
  );
}

function countsOf({ alerts, rules, receivers }: Alerts): string {
  const of = (state: Alert['state']) => alerts.filter((a) => a.state === state).length;
  const silenced = alerts.filter((a) => a.silencedBy.length > 0).length;
  return [
    `${of('firing')} firing`,
    `${of('pending')} pending`,
    silenced > 0 && `${silenced} silenced`,
    formatMany(rules.length, 'rule'),
    formatMany(receivers.length, 'receiver'),
  ]
    .filter(Boolean)
    .join(' · ');
}

const quietText = (answer: Alerts, { alert, service }: AlertsState) =>
  answer.alerts.length > 0
    ? `Nothing of ${[alert, service].filter(Boolean).map(safe).join(', ')} fires.`
    : 'Nothing fires, nothing is pending.';

const rulesFor = (name: string, rules: AlertRule[]) => {
  const rule = rules.find((r) => r.alert === name);
  return rule ? ruleFile(rule) : EXAMPLE_RULE;
};

const NoRules = () => (
  <div class="empty">
    <p>
      <strong>No rules yet.</strong> Give the server a file of them, which it reads again when it changes, or one group
      that it keeps itself:
    </p>
    <ul>
      <li>
        <Command text="wherefore serve --alerts alerts.yaml" />
      </li>
      <li>
        <Command text={`wherefore alerts set group.yaml --server ${location.origin}`} />
      </li>
    </ul>
    <p>
      <button type="button" onClick={() => set({ test: '' })}>
        Try a rule on what is stored
      </button>
    </p>
  </div>
);

// The address in an alert is for receivers; here it is a step on this page.
function graphOf(address: string): string {
  const to = new URL(address, location.href);
  return to.pathname + to.search;
}

function One({ alert: a }: { alert: Alert }) {
  const utc = zone.value === 'utc';
  const silenced = a.silencedBy.length > 0;
  const since = Date.parse(a.startsAt ?? a.activeAt);
  const { alertname: _, service: _service, ...labels } = a.labels;
  return (
    <article
      class={`worse-card alert ${silenced ? 'silenced' : a.state}`}
      aria-label={`${a.alert}, ${a.service}`}
      data-state={a.state}
    >
      <h2>
        <b class={`state ${a.state}`}>{a.state}</b> {safe(a.alert)} · <bdi>{shownName(a.service, 80)}</bdi>
        {silenced && <small> silenced: nobody is told</small>}
      </h2>
      <p>
        <b class="figures">{safe(a.text)}</b> <small>{safe(a.when)}</small>
        {` · ${a.state} since ${formatTime(since, utc)}, `}
        <Ago at={since} />
      </p>
      {a.annotations.summary && <p>{safe(a.annotations.summary)}</p>}
      {Object.keys(labels).length > 0 && (
        <p>
          <small>{safe(matchersText(matchersOf(labels)))}</small>
        </p>
      )}
      <p class="actions">
        <a class="button" href={graphOf(a.generatorURL)}>
          Graph
        </a>
        <button type="button" onClick={() => set({ alert: a.alert, service: a.service })}>
          History
        </button>
        {!silenced && (
          <button
            type="button"
            onClick={() => set({ silence: matchersText(matchersOf({ alertname: a.alert, service: a.service })) })}
          >
            Silence…
          </button>
        )}
        <KeepButton wanted={() => windowOfAlert(a, now())} />
        <button
          type="button"
          onClick={() =>
            copyText(
              `${a.alert} ${a.state} since ${formatTime(since, utc)}: ${a.service}, ${a.text}, ${a.when}\n` +
                `${new URL(graphOf(a.generatorURL), location.href)}\n`,
            )
          }
        >
          Copy
        </button>
      </p>
    </article>
  );
}

function History({ state, alerts, tick }: { state: AlertsState; alerts: Alert[]; tick: number }) {
  const { alert, service } = state;
  const asked = { ...timeOf(state), alert, service };
  const found = useQuery(JSON.stringify(['alert history', asked, tick]), (s) => getKnown('alerts/history', asked, s));
  const range = rangeOf(state, found.at || now());
  const stretches = stretchesOf(found.data?.events ?? [], alerts).filter(
    (s) => (s.to ?? range[1]) >= range[0] && s.from <= range[1],
  );
  const one = alert !== '' || service !== '';
  return (
    <section aria-label="History">
      <h2>History</h2>
      <QueryState query={found} what="the history" />
      {found.data && stretches.length === 0 && <p class="note">No alert was pending or fired in this time.</p>}
      {stretches.length > 0 && (
        <Strips
          label="History of alerts"
          stretches={stretches}
          range={range}
          name={(s) => <a href={encodeAlerts({ ...state, alert: s.alert, service: s.service })}>{safe(s.alert)}</a>}
        />
      )}
      {one && stretches.length > 0 && <Times label="Each time" stretches={stretches} end={range[1]} />}
    </section>
  );
}

function Rules({ rules }: { rules: AlertRule[] }) {
  return (
    <>
      <h2>Rules</h2>
      <TableBox label="Rules">
        <table class="alert-rules">
          <caption class="hidden">Rules</caption>
          <thead>
            <tr>
              <th scope="col">Rule</th>
              <th scope="col">Services</th>
              <th scope="col">Holds when</th>
              <th scope="col">Now</th>
              <th scope="col">Judged</th>
              <th scope="col">From</th>
              <th scope="col">
                <span class="hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rules.map((r) => (
              <tr key={r.group + '\0' + r.alert} data-rule={r.alert}>
                <th scope="row">
                  {safe(r.alert)} <small>{safe(r.group)}</small>
                </th>
                <td>
                  <code>{safe(r.select) || 'all'}</code> <small>{formatMany(r.services, 'service')}</small>
                </td>
                <td>{conditionOf(r)}</td>
                <td>{nowOf(r)}</td>
                <td>
                  {r.judgedAt ? <Ago at={Date.parse(r.judgedAt)} /> : 'not yet'}
                  {r.problem && <em class="bad"> {said(r.problem)}</em>}
                </td>
                <td>{safe(r.from)}</td>
                <td>
                  <button type="button" aria-label={`Dry run of ${r.alert}`} onClick={() => set({ test: r.alert })}>
                    Dry run
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableBox>
    </>
  );
}

// "share of cpu in ^Parser:: over 10m above 20%, for 5m"
const conditionOf = (r: AlertRule) =>
  safe(
    [
      `${r.measure ? `${r.measure.replace('_', ' ')} of ${r.type}` : r.type}`,
      r.function && `in ${r.function}`,
      `over ${durationText(r.over_s)}`,
      r.when + (r.for_s > 0 ? `, for ${durationText(r.for_s)}` : ''),
    ]
      .filter(Boolean)
      .join(' '),
  );

const nowOf = (r: AlertRule) =>
  [r.firing > 0 && `${r.firing} firing`, r.pending > 0 && `${r.pending} pending`].filter(Boolean).join(', ') || 'quiet';

const Receivers = ({ receivers }: { receivers: AlertReceiver[] }) => (
  <>
    <h2>Who is told</h2>
    <TableBox label="Receivers">
      <table>
        <caption class="hidden">Receivers</caption>
        <thead>
          <tr>
            <th scope="col">Receiver</th>
            <th scope="col">Told</th>
            <th scope="col" class="number">
              Waiting
            </th>
            <th scope="col">Problem</th>
          </tr>
        </thead>
        <tbody>
          {receivers.map((r) => (
            <tr key={r.receiver}>
              <th scope="row">{safe(r.receiver)}</th>
              <td>{r.toldAt ? <Ago at={Date.parse(r.toldAt)} /> : 'nothing yet'}</td>
              <td class="number">{r.waiting}</td>
              <td>{r.problem ? <em class="bad">{said(r.problem)}</em> : '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  </>
);
