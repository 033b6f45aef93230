// The server's status: problems first, then facts about each part, what is stored and when it goes, what is kept of it,
// who sends what, and how to connect a program.
import { useState } from 'preact/hooks';
import type { ServiceOverview, Settings, StatusPart } from '../core/answers';
import { now } from '../core/clock';
import { getJson, getKnown } from '../core/api';
import { formatAgo, formatCount } from '../core/format';
import { url } from '../core/location';
import { moreText } from '../core/many';
import { said } from '../core/settings';
import { decodeStatus, encodeService, encodeStatus, newService } from '../core/state';
import { safe, shownName } from '../draw/flame';
import { CONNECT } from '../parts/connect';
import { pinChanges, Pins, usePins } from '../parts/pins';
import { QueryState, useQuery } from '../parts/query';
import { Command, Shell } from '../parts/shell';
import { StoredDays } from '../parts/stored';
import { TableBox } from '../parts/table_box';

const DAY = { since: '1d', from: null, to: null };

export function StatusPage() {
  const [round, setRound] = useState(0);
  const status = useQuery('status' + round, (s) => getJson('status', {}, s));
  const senders = useQuery('senders' + round, (s) => getJson('overview', { since: DAY.since, limit: '100' }, s));
  const stored = useQuery('stored' + round + pinChanges.value, (s) => getKnown('storage', {}, s));
  const settings = useQuery('settings' + round, (s) => getJson('settings', {}, s));
  return (
    <Shell title="Status">
      <div class="toolbar">
        <h1>Status</h1>
        {status.data && <p>Wherefore {status.data.version}</p>}
        <span class="grow" />
        <button type="button" onClick={() => setRound(round + 1)}>
          Reload
        </button>
      </div>
      <QueryState query={status} what="status" />
      {status.data?.parts.flatMap((p) =>
        p.problems.map((q) => (
          <p key={p.part + q.what} class="note error" role="alert">
            <strong>{p.part}:</strong> {q.what}. {q.fix}
          </p>
        )),
      )}
      {status.data?.parts.every((p) => p.problems.length === 0) && <p class="note">No problems.</p>}
      <div class="cards">
        {status.data?.parts.filter(isCard(stored.data)).map((p) => (
          <section key={p.part} class="card" aria-label={p.part}>
            <h2>{p.part}</h2>
            <dl>
              {Object.entries(p.facts).map(([k, v]) => (
                <div key={k}>
                  <dt>{k}</dt>
                  <dd>{said(v)}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <h2>What is stored</h2>
      <QueryState query={stored} what="what is stored" />
      {stored.data === null && <p class="note">This server does not say what it stores.</p>}
      {stored.data && <StoredDays answer={stored.data} />}
      <Kept round={round} />
      <h2>Senders of the last day</h2>
      <QueryState query={senders} what="senders" />
      {senders.data && senders.data.services.length === 0 && <p class="note">Nothing has been sent yet.</p>}
      {senders.data && senders.data.services.length > 0 && (
        <TableBox label="Senders">
          <Senders services={senders.data.services} />
        </TableBox>
      )}
      {senders.data && senders.data.total > senders.data.services.length && (
        <p class="note">
          The {formatCount(senders.data.services.length)} that use most are listed.{' '}
          {moreText(senders.data.total, senders.data.services.length, 'search for a part of a name among the ')}
          <a href="/?since=1d">services</a>.
        </p>
      )}
      <h2>Connect a program</h2>
      <Connect settings={settings.data} />
    </Shell>
  );
}

// What is kept of each kind has a table of its own below, where the server says it.
const isCard = (stored?: object | null) => (p: StatusPart) => p.part !== 'kept' || stored === null;

// Windows that retention leaves alone; of one service where the address names it.
function Kept({ round }: { round: number }) {
  const { service } = decodeStatus(url.value);
  const found = usePins(true, round);
  const all = found.data?.pins;
  const shown = all?.filter((p) => service === '' || p.service === service) ?? [];
  return (
    <Pins pins={shown} heading="Windows that are kept">
      <QueryState query={found} what="pins" />
      {found.data === null && <p class="note">This server keeps no windows.</p>}
      {all?.length === 0 && (
        <p class="note">
          None. “Keep this window…” in a service's menu, on a trace, an alert or a regression keeps its days, whatever
          the retention says.
        </p>
      )}
      {all && all.length > 0 && (
        <p>
          Their days stay whole, with all services and every kind of data. Removed, what is older than the retention
          goes with the next round.{' '}
          {service !== '' && (
            <>
              {shown.length === 0 && `Nothing is kept of ${shownName(service, 80)}. `}
              <a href={encodeStatus({ service: '' })}>All services</a>
            </>
          )}
        </p>
      )}
    </Pins>
  );
}

const Senders = ({ services }: { services: ServiceOverview[] }) => (
  <table class="senders">
    <caption class="hidden">Who sent what in the last day</caption>
    <thead>
      <tr>
        <th scope="col">Service</th>
        <th scope="col">Last profile</th>
        <th scope="col" class="number">
          Profiles
        </th>
        <th scope="col" class="number">
          Instances
        </th>
        <th scope="col">Version</th>
        <th scope="col">Types</th>
        <th scope="col" class="number">
          Requests traced
        </th>
        <th scope="col">Sent by</th>
      </tr>
    </thead>
    <tbody>
      {services.map((s) => (
        <tr key={s.name}>
          <th scope="row">
            <a href={encodeService(newService(s.name, DAY))}>
              <bdi>{shownName(s.name)}</bdi>
            </a>
          </th>
          <td>{s.last ? formatAgo(Date.parse(s.last), now()) : '–'}</td>
          <td class="number">{formatCount(s.profiles)}</td>
          <td class="number">{s.instances > 0 ? formatCount(s.instances) : '–'}</td>
          <td>{safe(s.versions.join(', ')) || '–'}</td>
          <td>{s.types.join(', ') || '–'}</td>
          <td class="number">{s.latency ? formatCount(s.latency.requests) : '–'}</td>
          <td>{safe(s.senders.join(', ')) || 'does not say'}</td>
        </tr>
      ))}
    </tbody>
  </table>
);

function Connect({ settings }: { settings?: Settings }) {
  return (
    <>
      <p>
        Profiles and traces both go to <Command text={location.origin} />, OTLP over HTTP included.{' '}
        {settings && (
          <>
            OTLP also has ports of its own: <code>{settings.otlp_grpc_port}</code> (gRPC) and{' '}
            <code>{settings.otlp_http_port}</code> (HTTP).
          </>
        )}
      </p>
      <div class="connect">
        {CONNECT(location.origin).map((c) => (
          <details key={c.name}>
            <summary>{c.name}</summary>
            <p>{c.how}</p>
            {c.commands.map((text) => (
              <p key={text}>
                <Command text={text} />
              </p>
            ))}
          </details>
        ))}
      </div>
    </>
  );
}
