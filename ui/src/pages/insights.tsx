// Insights: known patterns that cost more than they must, those that would save most first. Every number is the
// server's; the evidence of a finding is the graph with its frames searched.
import type { Insight } from '../core/answers';
import { getJson } from '../core/api';
import { formatCores, formatCount, formatMany, formatShare, formatValue } from '../core/format';
import { go, url } from '../core/location';
import { fitName } from '../core/names';
import { said } from '../core/settings';
import {
  decodeInsights,
  encodeInsights,
  encodeService,
  encodeTraces,
  newService,
  newTraces,
  timeOf,
  type InsightsState,
  type TimeState,
} from '../core/state';
import { safe, shownName } from '../draw/flame';
import { Answer, QueryState, useQuery } from '../parts/query';
import { RangePicker } from '../parts/range';
import { copyText, Shell } from '../parts/shell';

const set = (change: Partial<InsightsState>) => go(encodeInsights({ ...decodeInsights(url.value), ...change }));

export function InsightsPage() {
  const state = decodeInsights(url.value);
  const asked = { ...timeOf(state), query: state.query, rule: state.rule };
  const found = useQuery(JSON.stringify(['insights', asked]), (s) => getJson('insights', asked, s));
  const answer = found.data;
  return (
    <Shell title="Insights">
      <div class="toolbar">
        <h1>Insights</h1>
        <RangePicker time={state} onChange={set} />
        {(state.query !== '' || state.rule !== '') && (
          <button type="button" onClick={() => set({ query: '', rule: '' })}>
            Show all
          </button>
        )}
        <span class="grow" />
        {answer && (
          <p role="status" data-testid="looked">
            {formatMany(answer.total, 'finding')} of {formatMany(answer.rules, 'rule')} in{' '}
            {formatMany(answer.looked_at, 'service')}
            {answer.looked_at < answer.services && ` of ${formatCount(answer.services)}, those that use most CPU`}
          </p>
        )}
      </div>
      <QueryState query={found} what="insights" />
      {answer && (
        <Answer query={found}>
          {answer.findings.length === 0 && (
            <p class="note">
              {answer.hint ? said(answer.hint) : 'None of the known patterns surely costs more than it must.'}
            </p>
          )}
          {answer.findings.map((f) => (
            <Finding key={f.rule + '\0' + f.service + '\0' + f.function.name} finding={f} time={state} />
          ))}
          {answer.findings.length < answer.total && (
            <p class="note">The {formatCount(answer.findings.length)} that would save most are listed.</p>
          )}
        </Answer>
      )}
    </Shell>
  );
}

const SPANS = 'spans'; // rules about spans have no graph

// The graph with everything, for what a rule names is often a library's.
export const evidenceOf = (f: Insight, time: TimeState) =>
  f.type === SPANS
    ? encodeTraces({ ...newTraces(f.service, time), name: f.function.name })
    : encodeService({ ...newService(f.service, time), lens: '', type: f.type, search: f.search });

const noteOf = (f: Insight) =>
  `${f.title}: ${f.service}, ${formatShare(f.share, 1)} of ${f.type}, ` +
  `about ${formatCores(f.cores_saved)} cores to save. ${f.fix}`;

function Finding({ finding: f, time }: { finding: Insight; time: TimeState }) {
  return (
    <article class="worse-card finding" aria-label={`${f.title}, ${f.service}`} data-rule={f.rule}>
      <h2>
        {f.cores_saved > 0 && <span class="figures">{formatCores(f.cores_saved)} cores to save: </span>}
        {f.title}
      </h2>
      <p>
        <b>{shownName(f.service, 80)}</b> ·{' '}
        <span class="figures">
          {formatShare(f.share, 1)} of {f.type} ({formatShare(f.low, 1)} to {formatShare(f.high, 1)}),{' '}
          {f.type === SPANS ? formatCount(f.value) : formatValue(f.value, f.unit)},{' '}
          {formatMany(f.observations, 'observation')}
        </span>
        {f.since !== '' && ` · since ${safe(f.since)}`}
      </p>
      <p>
        <code title={safe(f.function.name).slice(0, 500)}>{safe(fitName(f.function.name, 90))}</code>
        {f.callers.length > 0 && (
          <>
            {' '}
            called by{' '}
            {f.callers.slice(0, 3).map((c, i) => (
              <code key={i} title={safe(c.name).slice(0, 500)}>
                {i > 0 && ', '}
                {safe(fitName(c.name, 60))}
              </code>
            ))}
          </>
        )}
        {f.endpoints.length > 0 && (
          <small>
            {' '}
            in{' '}
            {f.endpoints
              .slice(0, 4)
              .map((e) => safe(e).slice(0, 60))
              .join(', ')}
          </small>
        )}
      </p>
      <p>{f.fix}</p>
      <p class="actions">
        <a class="button" href={evidenceOf(f, time)}>
          {f.type === SPANS ? 'Traces' : 'Evidence'}
        </a>
        <button type="button" onClick={() => set({ rule: f.rule })}>
          Only this rule
        </button>
        <button
          type="button"
          onClick={() => copyText(`${noteOf(f)}\n${new URL(evidenceOf(f, time), location.href)}\n`)}
        >
          Copy
        </button>
      </p>
    </article>
  );
}
