// The traces in which a function was seen: by its value, longest or newest first. Each links to the span that ran it.
import type { Answers, FunctionTrace } from '../core/answers';
import { getJson } from '../core/api';
import { formatCount, formatLooks, formatShare, formatValue } from '../core/format';
import { said } from '../core/settings';
import { encodeTrace, newTrace } from '../core/state';
import { safe } from '../draw/flame';
import { Ago } from './ago';
import { QueryState, useQuery } from './query';
import { functionHeading } from './heading';
import { SortHeader } from './sort_header';
import { TableBox } from './table_box';

const LIMIT = 100;
type Sort = 'value' | 'duration' | 'time';
const LISTED: Record<Sort, string> = {
  value: 'where it took most',
  duration: 'that took longest',
  time: 'that are newest',
};
const keyOf = (t: FunctionTrace, sort: Sort) =>
  Number(sort === 'value' ? t.value : sort === 'duration' ? t.duration_ns : t.start_ns);

const spanLink = (trace: string, span: string, type: string) => encodeTrace(newTrace(trace, { span, type }));

interface FunctionTracesProps {
  asked: Record<string, string>;
  fn: string;
  mod: string | null;
  sort: Sort;
  onSort: (sort: Sort) => void;
}

export function FunctionTraces({ asked, fn, mod, sort, onSort }: FunctionTracesProps) {
  const { lens: _, ...selection } = asked;
  const params = { ...selection, function: fn, module: mod ?? undefined, limit: String(LIMIT) };
  const found = useQuery(fn === '' ? null : JSON.stringify(['function traces', params]), (s) =>
    getJson('function-traces', params, s),
  );
  // If not all are listed, another order needs another request.
  const cut = found.data !== undefined && found.data.found > found.data.traces.length;
  const sorted = useQuery(cut && sort !== 'value' ? JSON.stringify(['function traces', params, sort]) : null, (s) =>
    getJson('function-traces', { ...params, sort }, s),
  );
  if (fn === '') return <p class="note">Choose a function: a frame's “Traces with it”, or a row of the table.</p>;
  const answer = found.data;
  const rows = (sorted.data ?? answer)?.traces.slice().sort((a, b) => keyOf(b, sort) - keyOf(a, sort)) ?? [];
  return (
    <section aria-label="Traces with the function">
      {functionHeading(fn, mod)}
      <QueryState query={found} what="traces" />
      <QueryState query={sorted} what="traces" />
      {answer?.hint && (
        <p class="note" data-testid="no-traces">
          No traces: {said(answer.hint)}
        </p>
      )}
      {answer && rows.length > 0 && (
        <>
          <p data-testid="linked">
            Seen in {formatCount(answer.found)} {answer.found === 1 ? 'trace' : 'traces'}
            {answer.found > rows.length ? `; the ${formatCount(rows.length)} ${LISTED[sort]} are listed` : ''}.{' '}
            {formatShare(Number(answer.linked_value), Number(answer.value))} of its{' '}
            {formatValue(Number(answer.value), answer.unit)} belongs to spans{asked.lens ? ' (without the lens)' : ''}.
          </p>
          <TableBox label="Traces">
            <SeenTable rows={rows} of={answer} sort={sort} onSort={onSort} />
          </TableBox>
        </>
      )}
    </section>
  );
}

// `of`: type and unit of the values.
type Of = Pick<Answers['function-traces'], 'type' | 'unit'>;

interface SeenTableProps {
  rows: FunctionTrace[];
  of: Of;
  sort: Sort;
  onSort: (sort: Sort) => void;
}

function SeenTable({ rows, of, ...order }: SeenTableProps) {
  return (
    <table class="traces seen">
      <caption class="hidden">Traces in which the function was seen</caption>
      <thead>
        <tr>
          <SortHeader by="value" text="In it" {...order} />
          <th scope="col" class="number">
            Samples
          </th>
          <SortHeader by="duration" text="Trace took" {...order} />
          <th scope="col">Trace</th>
          <th scope="col">Span it ran in</th>
          <SortHeader by="time" text="Start" number={false} {...order} />
        </tr>
      </thead>
      <tbody>
        {rows.map((t, i) => (
          <SeenRow key={t.trace + i} trace={t} of={of} />
        ))}
      </tbody>
    </table>
  );
}

function SeenRow({ trace: t, of }: { trace: FunctionTrace; of: Of }) {
  return (
    <tr>
      <td class="number">
        {t.error_ns === undefined
          ? formatValue(Number(t.value), of.unit)
          : formatLooks(Number(t.value), of.unit, t.error_ns, Number(t.count))}
      </td>
      <td class="number">{formatCount(Number(t.count))}</td>
      <td class="number">{t.spans > 0 ? formatValue(Number(t.duration_ns), 'nanoseconds') : '–'}</td>
      <th scope="row">
        {t.trace === '' ? (
          <>
            span <code>{t.seen_in[0].span}</code>, not stored
          </>
        ) : (
          <a href={spanLink(t.trace, t.seen_in[0].span, of.type)}>
            <b>{t.root_service || t.seen_in[0].service}</b> <bdi>{safe(t.root_name).slice(0, 120) || t.trace}</bdi>
          </a>
        )}
        {t.root_missing && <small> (its root span has not arrived)</small>}
        {t.errors > 0 && (
          <em class="bad">
            {' '}
            {formatCount(t.errors)} {t.errors === 1 ? 'error' : 'errors'}
          </em>
        )}
      </th>
      <td>
        {t.seen_in.slice(0, 3).map((s) => (
          <span key={s.span} class="top-name">
            {t.trace !== '' && s.name !== '' ? (
              <a href={spanLink(t.trace, s.span, of.type)}>
                <bdi>{safe(s.name).slice(0, 60)}</bdi>
              </a>
            ) : (
              s.span
            )}{' '}
            {formatValue(Number(s.value), of.unit)}
          </span>
        ))}
        {t.seen_in.length > 3 && <small>and {formatCount(t.seen_in.length - 3)} more</small>}
      </td>
      <td>{t.spans > 0 ? <Ago at={Number(t.start_ns) / 1e6} /> : '–'}</td>
    </tr>
  );
}
