// The table of functions. Its numbers come from the server and are exact, not added up from the drawn frames.
import type { Found, Int64, Top, TopRow } from '../core/answers';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { formatCount, formatError, formatMany, formatShare, formatValue } from '../core/format';
import { shortName } from '../core/names';
import { patternOf } from '../core/pattern';
import { safe, shownName } from '../draw/flame';
import type { FrameLink } from './actions';
import { findKey, SearchBox } from './search_box';
import { SortHeader } from './sort_header';
import { TableBox } from './table_box';

const PAGE = 100;

export interface TableProps {
  top: Top;
  sort: 'self' | 'total';
  query: string;
  found?: Top; // the matching rows, if `top` is incomplete
  selected?: { name: string; module: string }; // the frame chosen in another view
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
    return {
      wanted: p.found
        ? p.found.rows
        : pattern
          ? top.rows.filter((r) => pattern.test(r.name) || pattern.test(r.module))
          : top.rows,
      problem: pattern?.problem() ?? '',
    };
  }, [top, p.query, p.found]);
  const input = useRef<HTMLInputElement>(null);
  const chosen = useRef<HTMLTableRowElement>(null);
  const place = p.selected
    ? wanted.findIndex((r) => r.name === p.selected!.name && r.module === p.selected!.module)
    : -1;
  const most = Math.max(rows, place + 1);
  useEffect(() => chosen.current?.scrollIntoView({ block: 'nearest' }), [place]);
  return (
    <div
      onKeyDown={(e) => {
        findKey(e, input.current);
      }}
    >
      <SearchBox query={p.query} onQuery={p.onQuery} input={input} />
      <TableBox label="Functions">
        {problem !== '' && (
          <p class="note error" role="status">
            The search: {problem}.
          </p>
        )}
        <table class="top">
          <Caption top={top} listed={wanted.length} query={p.query} all={p.found?.search} />
          <Head sort={p.sort} onSort={p.onSort} />
          <tbody>
            {wanted.slice(0, most).map((r, i) => (
              <tr
                key={r.module + '\0' + r.name}
                ref={i === place ? chosen : undefined}
                class={i === place ? 'selected' : undefined}
                aria-current={i === place ? 'true' : undefined}
              >
                <Cells row={r} top={top} onPick={p.onPick} links={p.links} />
              </tr>
            ))}
          </tbody>
        </table>
        {wanted.length === 0 && <p>No function matches “{p.query}”.</p>}
        {wanted.length > most && (
          <p>
            <button type="button" onClick={() => setRows(most + 5 * PAGE)}>
              Show more ({formatCount(wanted.length - most)})
            </button>
          </p>
        )}
      </TableBox>
    </div>
  );
}

const valueIn = (top: Top, v: Int64) => formatValue(Number(v), top.unit, top.scale);

interface CaptionProps {
  top: Top;
  listed: number;
  query: string;
  all?: Found; // what the search found among all functions
}

function Caption({ top, listed, query, all }: CaptionProps) {
  return (
    <caption>
      {query !== '' && !all && `${formatCount(listed)} of `}
      {formatMany(top.functions, 'function')}, {valueIn(top, top.total)} in all,{' '}
      {formatMany(Number(top.count), 'sample')}
      {!all && top.rows.length < top.functions ? `; the ${formatCount(top.rows.length)} largest are listed` : ''}
      {all && `; ${formatCount(all.functions)} match, ${formatShare(Number(all.value), Number(top.total))}`}
      {all && listed < all.functions && `, the ${formatCount(listed)} largest of them are listed`}
    </caption>
  );
}

const Head = (order: Pick<TableProps, 'sort' | 'onSort'>) => (
  <thead>
    <tr>
      <SortHeader by="self" text="Self" {...order} />
      <th scope="col" class="number">
        Share
      </th>
      <SortHeader by="total" text="Total" {...order} />
      <th scope="col" class="number">
        Share
      </th>
      <th scope="col" class="number">
        Samples
      </th>
      <th scope="col">Function</th>
      <th scope="col">Module</th>
      <th scope="col">
        <span class="hidden">More about it</span>
      </th>
    </tr>
  </thead>
);

type CellsProps = { row: TopRow } & Pick<TableProps, 'top' | 'onPick' | 'links'>;

function Cells({ row: r, top, onPick, links }: CellsProps) {
  const share = (value: Int64, count: Int64) => (
    <td class="number">
      {formatShare(Number(value), Number(top.total))} <small>{formatError(Number(count), Number(top.count))}</small>
    </td>
  );
  return (
    <>
      <td class="number">{valueIn(top, r.self)}</td>
      {share(r.self, r.self_count)}
      <td class="number">{valueIn(top, r.total)}</td>
      {share(r.total, r.total_count)}
      <td class="number">{formatCount(Number(r.total_count))}</td>
      <th scope="row">
        <button type="button" class="link" title={safe(r.name).slice(0, 1000)} onClick={() => onPick(r)}>
          <bdi>{shownName(shortName(r.name))}</bdi>
        </button>
      </th>
      <td>{r.module}</td>
      <td class="more">
        {links.map((l) => (
          <a key={l.text} href={l.href(r, '')} aria-label={`${l.text} of ${safe(shortName(r.name))}`}>
            {l.text.split(' ')[0].toLowerCase()}
          </a>
        ))}
      </td>
    </>
  );
}
