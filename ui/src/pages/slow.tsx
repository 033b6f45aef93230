// Slow versus typical: what the slow requests of an endpoint do that typical ones do not. The server compares; every
// number here is its own.
import { getJson } from '../core/api';
import { now } from '../core/clock';
import { slowIncident } from '../core/incident';
import { go, url } from '../core/location';
import { rangeOf } from '../core/presets';
import { decodeSlow, encodeSlow, encodeTraces, newTraces, timeOf, type SlowState } from '../core/state';
import { Choice } from '../parts/choice';
import { Answer, QueryState, useQuery } from '../parts/query';
import { RangePicker } from '../parts/range';
import { copyText, Shell } from '../parts/shell';
import { SlowResult } from '../parts/slow_result';
import { useNames } from './traces';

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
          <SlowResult state={state} slow={found.data} all={all} />
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
