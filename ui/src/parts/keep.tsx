// The form to keep a file: asks for a service name, says which time it will have, and links to the stored profile.
import type { FileFacts } from '../core/answers';
import { useRef, useState } from 'preact/hooks';
import { now } from '../core/clock';
import { getJson } from '../core/api';
import { formatTime } from '../core/format';
import { defaultTime, keep, type KeptTime } from '../core/keep';
import { zone } from '../core/settings';
import { encodeService, newService } from '../core/state';
import { safe } from '../draw/flame';
import { useQuery } from './query';

// A minute on either side of the file's time, because its profiles may last a little longer than they say.
function linkOf(service: string, time: KeptTime, facts: FileFacts): string {
  const from = facts.time_ms ?? 0;
  return encodeService(
    newService(service, {
      since: '1h',
      from: time === 'now' ? null : from - 60e3,
      to: time === 'now' ? null : from + Math.ceil(Number(facts.duration_ns ?? 0) / 1e6) + 60e3,
    }),
  );
}

interface Keeping {
  step: 'asking' | 'sending' | 'kept';
  problem?: string;
  link?: string;
}

function useKeeping(file: File, facts: FileFacts) {
  const [state, setState] = useState<Keeping>({ step: 'asking' });
  const request = useRef<AbortController | null>(null);
  const send = async (service: string, time: KeptTime) => {
    const own = new AbortController();
    request.current = own;
    setState({ step: 'sending' });
    try {
      await keep(file, service, time, own.signal);
      setState({ step: 'kept', link: linkOf(service, time, facts) });
    } catch (e) {
      const said = e instanceof Error ? e.message : String(e);
      const problem = own.signal.aborted ? 'Stopped; it may have been stored already.' : said;
      setState({ step: 'asking', problem });
    }
  };
  return { state, send, stop: () => request.current?.abort() };
}

export function Keep({ file, facts }: { file: File; facts: FileFacts }) {
  const settings = useQuery('settings', (s) => getJson('settings', {}, s));
  const [service, setService] = useState(facts.services[0] ?? '');
  const [wanted, setWanted] = useState<KeptTime | null>(null);
  const { state, send, stop } = useKeeping(file, facts);
  if (!facts.can_be_kept)
    return <p class="note">A saved flame graph has no samples: it can be viewed, but not kept.</p>;
  const usual = defaultTime(facts, settings.data?.retention_ms ?? 0, now());
  const time = wanted ?? usual.time;
  if (state.step === 'kept')
    return (
      <p class="note" role="status" data-testid="kept">
        <bdi>{safe(file.name)}</bdi> is kept{' '}
        {time === 'now' ? 'as of now' : `under ${formatTime(facts.time_ms!, zone.value === 'utc')}`}.{' '}
        <a href={state.link}>
          Open <bdi>{safe(service.trim())}</bdi>
        </a>
      </p>
    );
  return (
    <form
      class="keep"
      onSubmit={(e) => {
        e.preventDefault();
        void send(service.trim(), time);
      }}
    >
      {facts.services.length > 0 ? (
        <span>
          Service <b>{safe(facts.services.join(', '))}</b>, as the file says
        </span>
      ) : (
        <label>
          Service{' '}
          <input required value={service} placeholder="my-service" onInput={(e) => setService(e.currentTarget.value)} />
        </label>
      )}
      {facts.time_ms !== undefined && (
        <label>
          Time{' '}
          <select value={time} onChange={(e) => setWanted(e.currentTarget.value as KeptTime)}>
            <option value="own">{formatTime(facts.time_ms, zone.value === 'utc')}, as the file says</option>
            <option value="now">now</option>
          </select>
        </label>
      )}
      <button type="submit" disabled={state.step === 'sending' || service.trim() === ''}>
        {state.step === 'sending' ? 'Keeping…' : 'Keep'}
      </button>
      {state.step === 'sending' && (
        <button type="button" onClick={stop}>
          Stop
        </button>
      )}
      {wanted === null && <small>{usual.why}</small>}
      {state.problem !== undefined && (
        <em class="bad" role="alert">
          Not kept: {state.problem}
        </em>
      )}
    </form>
  );
}
