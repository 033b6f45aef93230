// What the page knows of a function beside its frame: how it changed since the last version, its hottest lines, the
// traces it was seen in. Asked for when a frame is selected, and only then.
import { getJson } from '../core/api';
import { formatTested, intervalText } from '../core/difference';
import { formatMany, formatShare, formatValue } from '../core/format';
import { exactly } from '../core/names';
import { costsOf } from '../core/source';
import { encodeTrace, newTrace, type View } from '../core/state';
import type { Marker } from '../core/trend';
import { safe, shownName } from '../draw/flame';
import { useQuery } from './query';

interface FunctionFactsProps {
  asked: Record<string, string>;
  service: string;
  markers: Marker[];
  fn: string;
  mod: string;
  href: (view: View) => string;
}

export function FunctionFacts(p: FunctionFactsProps) {
  return (
    <>
      <Since {...p} />
      <HotLines {...p} />
      <SeenIn {...p} />
    </>
  );
}

// Against the version before, per request; of the functions that changed most.
function Since({ asked, markers, fn, mod }: FunctionFactsProps) {
  const newest = markers.at(-1);
  const side = (version: string) =>
    asked.query.replace(/}$/, () => `, service.version="${version.replace(/[\\"]/g, '\\$&')}"}`);
  const { lens: _, ...selection } = asked;
  const params = newest && {
    ...selection,
    query: side(newest.to),
    base_query: side(newest.from),
    mode: 'share',
    max_nodes: '1',
  };
  const diff = useQuery(params ? JSON.stringify(['since', params]) : null, (s) => getJson('diff', params!, s));
  if (!newest || !diff.data) return null;
  const found = diff.data.changes?.find((c) => c.name === fn && c.module === mod)?.total;
  const how = [diff.data.unit, diff.data.scale, 'share'] as const;
  const sure = found && (found.verdict === 'more' || found.verdict === 'less');
  return (
    <p data-testid="since">
      <b>{sure ? (found.change > 0 ? '▲ +' : '▼ −') + formatTested(found.change, ...how) : 'No certain change'}</b>{' '}
      since {safe(newest.from)} → {safe(newest.to)}
      {found && <small> ({intervalText(found, ...how)})</small>}
    </p>
  );
}

const LINES = 4;

function HotLines({ asked, fn, mod, href }: FunctionFactsProps) {
  const { lens: _, ...selection } = asked;
  const params = { ...selection, function: exactly(fn), module: mod };
  const list = useQuery(JSON.stringify(['lines', params]), (s) => getJson('list', params, s));
  const functions = list.data?.functions ?? [];
  const file = functions.find((f) => f.file !== '')?.file ?? '';
  const text = useQuery<string[]>(
    file === '' ? null : JSON.stringify(['inspected source', selection.query, selection.from, selection.since, file]),
    async (s) => {
      try {
        return (await getJson('source', { ...selection, file }, s)).text.split('\n');
      } catch {
        return []; // the lines' numbers stay
      }
    },
  );
  const costs = [...costsOf(functions.filter((f) => f.file === file))].filter(([line]) => line > 0);
  if (!list.data || costs.length === 0) return null;
  const hottest = costs
    .sort((a, b) => b[1].total - a[1].total)
    .slice(0, LINES)
    .sort(([a], [b]) => a - b);
  return (
    <section aria-label="Its hottest lines">
      <ol class="hot-lines">
        {hottest.map(([line, cost]) => (
          <li key={line}>
            <span class="figures">{line}</span>
            <code>{safe((text.data?.[line - 1] ?? '').trim().slice(0, 120))}</code>
            <span class="figures">{formatShare(cost.total, Number(list.data!.total))}</span>
          </li>
        ))}
      </ol>
      <a href={href('source')}>{safe(file.slice(file.lastIndexOf('/') + 1))}</a>
    </section>
  );
}

function SeenIn({ asked, fn, mod, href }: FunctionFactsProps) {
  const { lens: _, ...selection } = asked;
  const params = { ...selection, function: fn, module: mod, limit: '3' };
  const found = useQuery(JSON.stringify(['seen in', params]), (s) => getJson('function-traces', params, s));
  const answer = found.data;
  if (!answer || answer.traces.length === 0) return null;
  return (
    <section aria-label="Traces with it">
      <p>
        In <a href={href('traces')}>{formatMany(answer.found, 'trace')}</a>:
      </p>
      <ul class="neighbours">
        {answer.traces
          .filter((t) => t.trace !== '')
          .map((t) => (
            <li key={t.trace}>
              <a href={encodeTrace(newTrace(t.trace, { span: t.seen_in[0].span, type: answer.type }))}>
                <bdi>{shownName(t.seen_in[0].name || t.root_name, 40)}</bdi>
              </a>{' '}
              <small class="figures">
                {formatValue(Number(t.value), answer.unit)} of {formatValue(Number(t.duration_ns), 'nanoseconds')}
              </small>
            </li>
          ))}
      </ul>
    </section>
  );
}
