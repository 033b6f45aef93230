// Functions as a real table, exact: it is asked from the server, never added up from what is drawn.
import { useMemo, useState } from 'preact/hooks';
import type { TopAnswer, TopRow } from '../core/api';
import { formatCount, formatError, formatMany, formatShare, formatValue } from '../core/format';
import { shortName } from '../core/names';
import { patternOf } from '../core/pattern';
import { safe, shownName } from '../draw/flame';
import { TableBox } from './table_box';

const PAGE = 100;

export interface TableProps {
  top: TopAnswer; sort: 'self' | 'total'; query: string;
  found?: TopAnswer;  // the rows that match, where `top` does not have all
  onSort: (sort: 'self' | 'total') => void;
  onPick: (name: string) => void;
  links: { text: string; say: string; href: (row: TopRow) => string }[];
}

export function TopTable(p: TableProps) {
  const [rows, setRows] = useState(PAGE);
  const { top } = p;
  const { wanted, problem } = useMemo(() => {
    const pattern = patternOf(p.query);
    return { wanted: p.found ? p.found.rows : pattern ? top.rows.filter((r) => pattern.test(r.name) || pattern.test(r.module)) : top.rows, problem: pattern?.problem() ?? '' };
  }, [top, p.query, p.found]);
  const all = p.found?.search;
  const [total, count] = [Number(top.total), Number(top.count)];
  const value = (v: number) => formatValue(Number(v), top.unit, top.scale);
  const header = (key: 'self' | 'total', text: string) => (
    <th scope="col" class="number" aria-sort={p.sort === key ? 'descending' : undefined}>
      <button type="button" onClick={() => p.onSort(key)}>{text}{p.sort === key ? ' ▾' : ''}</button>
    </th>
  );
  return (
    <TableBox label="Functions">
      {problem !== '' && <p class="note error" role="status">The search: {problem}.</p>}
      <table class="top">
        <caption>{formatMany(top.functions, 'function')}, {value(total)} in all, {formatMany(count, 'sample')}{!all && top.rows.length < top.functions ? `; the ${formatCount(top.rows.length)} largest are listed` : ''}{all && `; ${formatCount(all.functions)} match, ${formatShare(Number(all.value), total)}${wanted.length < all.functions ? `, the ${formatCount(wanted.length)} largest of them are listed` : ''}`}</caption>
        <thead><tr>{header('self', 'Self')}<th scope="col" class="number">Share</th>{header('total', 'Total')}<th scope="col" class="number">Share</th><th scope="col" class="number">Samples</th><th scope="col">Function</th><th scope="col">Module</th><th scope="col"><span class="hidden">More about it</span></th></tr></thead>
        <tbody>
          {wanted.slice(0, rows).map((r) => (
            <tr key={r.module + '\0' + r.name}>
              <td class="number">{value(r.self)}</td>
              <td class="number">{formatShare(Number(r.self), total)} <small>{formatError(Number(r.self_count), count)}</small></td>
              <td class="number">{value(r.total)}</td>
              <td class="number">{formatShare(Number(r.total), total)} <small>{formatError(Number(r.total_count), count)}</small></td>
              <td class="number">{formatCount(Number(r.total_count))}</td>
              <th scope="row"><button type="button" class="link" title={safe(r.name).slice(0, 1000)} onClick={() => p.onPick(r.name)}><bdi>{shownName(shortName(r.name))}</bdi></button></th>
              <td>{r.module}</td><td class="more">{p.links.map((l) => <a key={l.text} href={l.href(r)} aria-label={`${l.say} of ${safe(shortName(r.name))}`}>{l.text}</a>)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {wanted.length === 0 && <p>No function matches “{p.query}”.</p>}
      {wanted.length > rows && <p><button type="button" onClick={() => setRows(rows + 5 * PAGE)}>Show more ({formatCount(wanted.length - rows)})</button></p>}
    </TableBox>
  );
}
