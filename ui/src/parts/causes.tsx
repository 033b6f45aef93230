// What explains a difference, before the picture of it: a sentence about the whole, and one row for each cause.
import type { Cause } from '../core/answers';
import type { FlameMeta, Rounded } from '../core/flame';
import { exactly, shortName } from '../core/names';
import { encodeTrace, newTrace } from '../core/state';
import { safe } from '../draw/flame';

const SIGNS: Record<Cause['kind'], string> = {
  more: '▲',
  new: '▲',
  everywhere: '▲',
  less: '▼',
  gone: '▼',
  moved: '↔',
};
const BASES = {
  endpoints: 'per request of each endpoint',
  requests: 'per request',
  unchanged: 'measured against what did not change',
};
const MOST = 8;

const percent = (part: number) => `${part > 0 ? '+' : part < 0 ? '−' : ''}${(100 * Math.abs(part)).toFixed(1)} %`;

export function Causes({ meta, onSearch }: { meta: FlameMeta; onSearch: (text: string) => void }) {
  const { statistics, causes = [] } = meta;
  if (!statistics) return null;
  if (statistics.groups === 'none') return <p class="note">Not tested: {statistics.note}.</p>;
  return (
    <section class="causes" aria-label="Causes">
      <h2>{causes.length === 0 ? 'No function surely explains a difference' : 'What explains it'}</h2>
      {causes.length > 0 && (
        <>
          <p class="small">Changes of the cost before, {BASES[statistics.cause_basis]}, with 95 % intervals.</p>
          <ol>
            {causes.slice(0, MOST).map((cause) => (
              <Row key={cause.module + '\0' + cause.function} cause={cause} onSearch={onSearch} />
            ))}
          </ol>
        </>
      )}
      <p class="small">
        Compared by {statistics.groups} ({statistics.groups_before} and {statistics.groups_after}). {statistics.note}.
      </p>
    </section>
  );
}

function Row({ cause, onSearch }: { cause: Rounded<Cause>; onSearch: (text: string) => void }) {
  // The interval as parts of everything before.
  const scale = cause.change === 0 ? 0 : cause.share_of_before / cause.change;
  const caller = cause.callers[0]?.name;
  return (
    <li data-kind={cause.kind}>
      <b>
        <span aria-hidden="true">{cause.kind === 'everywhere' && cause.change < 0 ? '▼' : SIGNS[cause.kind]}</span>{' '}
        {cause.kind} {percent(cause.share_of_before)}
      </b>{' '}
      <span class="small">
        ({percent(cause.low * scale)} to {percent(cause.high * scale)})
      </span>{' '}
      <button type="button" class="link" title={safe(cause.function)} onClick={() => onSearch(exactly(cause.function))}>
        <bdi>{safe(shortName(cause.function))}</bdi>
      </button>
      {cause.partner ? (
        <span>
          {' '}
          from <bdi>{safe(shortName(cause.partner.name))}</bdi>
        </span>
      ) : (
        caller && (
          <span>
            {' '}
            called by <bdi>{safe(shortName(caller))}</bdi>
          </span>
        )
      )}
      {cause.traces.map((trace, i) => (
        <a key={trace} href={encodeTrace(newTrace(trace))}>
          {' '}
          {i === 0 ? 'traces 1' : i + 1}
        </a>
      ))}
    </li>
  );
}
