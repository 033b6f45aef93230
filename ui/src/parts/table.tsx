// Functions as a real table, exact: it is asked from the server, never added up from what is drawn.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { TopAnswer, TopRow } from '../core/api';
import { formatCount, formatError, formatMany, formatShare, formatValue } from '../core/format';
import { shortName } from '../core/names';
import { patternOf } from '../core/pattern';
import { safe, shownName } from '../draw/flame';
import type { FrameLink } from './actions';
import { findKey, SearchBox } from './search_box';
import { TableBox } from './table_box';

const PAGE = 100;

export interface TableProps {
  top: TopAnswer; sort: 'self' | 'total'; query: string;
  found?: TopAnswer;  // the rows that match, where `top` does not have all
  selected?: { name: string; module: string };  // the frame chosen in another view
  onQuery: (text: string, typed?: boolean) => void;
  onSort: (sort: 'self' | 'total') => void;
  onPick: (f: TopRow) => void;
  links: FrameLink[];
}

export function TopTable(p: TableProps) {
  const [rows, setRows] = useState(PAGE);
  const { top } = p;
  const { wanted, problem } = useMemo(() => {
    const pattern = patternOf(p.query);
    return { wanted: p.found ? p.found.rows : pattern ? top.rows.filter((r) => pattern.test(r.name) || pattern.test(r.module)) : top.rows, problem: pattern?.problem() ?? '' };
  }, [top, p.query, p.found]);
  const all = p.found?.search;
  const input = useRef<HTMLInputElement>(null);
  const chosen = useRef<HTMLTableRowElement>(null);
  const place = p.selected ? wanted.findIndex((r) => r.name === p.selected!.name && r.module === p.selected!.module) : -1;
  const most = Math.max(rows, place + 1);
  useEffect(() => chosen.current?.scrollIntoView({ block: 'nearest' }), [place]);
  const [total, count] = [Number(top.total), Number(top.count)];
  const value = (v: number) => formatValue(Number(v), top.unit, top.scale);
  const header = (key: 'self' | 'total', text: string) => (
    <th scope="col" class="number" aria-sort={p.sort === key ? 'descending' : undefined}>
      <button type="button" onClick={() => p.onSort(key)}>{text}{p.sort === key ? ' ▾' : ''}</button>
    </th>
  );
  return (
    <div onKeyDown={(e) => { findKey(e, input.current); }}>
      <SearchBox query={p.query} onQuery={p.onQuery} input={input} />
      <TableBox label="Functions">
        {problem !== '' && <p class="note error" role="status">The search: {problem}.</p>}
        <table class="top">
          <caption>{p.query !== '' && !all && `${formatCount(wanted.length)} of `}{formatMany(top.functions, 'function')}, {value(total)} in all, {formatMany(count, 'sample')}{!all && top.rows.length < top.functions ? `; the ${formatCount(top.rows.length)} largest are listed` : ''}{all && `; ${formatCount(all.functions)} match, ${formatShare(Number(all.value), total)}${wanted.length < all.functions ? `, the ${formatCount(wanted.length)} largest of them are listed` : ''}`}</caption>
          <thead><tr>{header('self', 'Self')}<th scope="col" class="number">Share</th>{header('total', 'Total')}<th scope="col" class="number">Share</th><th scope="col" class="number">Samples</th><th scope="col">Function</th><th scope="col">Module</th><th scope="col"><span class="hidden">More about it</span></th></tr></thead>
          <tbody>
            {wanted.slice(0, most).map((r, i) => (
              <tr key={r.module + '\0' + r.name} ref={i === place ? chosen : undefined} class={i === place ? 'selected' : undefined} aria-current={i === place ? 'true' : undefined}>
                <td class="number">{value(r.self)}</td>
                <td class="number">{formatShare(Number(r.self), total)} <small>{formatError(Number(r.self_count), count)}</small></td>
                <td class="number">{value(r.total)}</td>
                <td class="number">{formatShare(Number(r.total), total)} <small>{formatError(Number(r.total_count), count)}</small></td>
                <td class="number">{formatCount(Number(r.total_count))}</td>
                <th scope="row"><button type="button" class="link" title={safe(r.name).slice(0, 1000)} onClick={() => p.onPick(r)}><bdi>{shownName(shortName(r.name))}</bdi></button></th>
                <td>{r.module}</td><td class="more">{p.links.map((l) => <a key={l.text} href={l.href(r, '')} aria-label={`${l.text} of ${safe(shortName(r.name))}`}>{l.text.split(' ')[0].toLowerCase()}</a>)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {wanted.length === 0 && <p>No function matches “{p.query}”.</p>}
        {wanted.length > most && <p><button type="button" onClick={() => setRows(most + 5 * PAGE)}>Show more ({formatCount(wanted.length - most)})</button></p>}
      </TableBox>
    </div>
  );
}
