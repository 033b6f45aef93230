// How the server is: facts and problems of each part, as it tells them itself.
import { getJson } from '../core/api';
import { QueryState, useQuery } from '../parts/query';
import { Command, Shell } from '../parts/shell';

interface Part { part: string; facts: Record<string, string>; problems: { what: string; fix: string; blocks_writes: boolean }[] }

export function StatusPage() {
  const status = useQuery('status', (s) => getJson<{ version: string; parts: Part[] }>('status', {}, s));
  const host = location.hostname;
  return (
    <Shell title="Status">
      <div class="toolbar"><h1>Status</h1>{status.data && <p>Wherefore {status.data.version}</p>}<span class="grow" /><button type="button" onClick={status.retry}>Reload</button></div>
      <QueryState query={status} what="status" />
      {status.data?.parts.flatMap((p) => p.problems.map((q) => <p key={p.part + q.what} class="note error" role="alert"><strong>{p.part}:</strong> {q.what}. {q.fix}</p>))}
      {status.data && status.data.parts.every((p) => p.problems.length === 0) && <p class="note">No problems.</p>}
      <div class="cards">
        {status.data?.parts.map((p) => (
          <section key={p.part} class="card" aria-label={p.part}>
            <h2>{p.part}</h2>
            <dl>{Object.entries(p.facts).map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{v}</dd></div>)}</dl>
          </section>
        ))}
      </div>
      <h2>Send something</h2>
      <ul class="connect">
        <li>OpenTelemetry (profiles and traces): <Command text={`export OTEL_EXPORTER_OTLP_ENDPOINT=http://${host}:4318`} /></li>
        <li>Pyroscope's SDKs and agents: <Command text={`export PYROSCOPE_SERVER_ADDRESS=${location.origin}`} /></li>
        <li>A file (pprof, folded, JFR, …): <Command text={`wherefore push profile.pb.gz --service my-service --server ${location.origin}`} /></li>
      </ul>
    </Shell>
  );
}
