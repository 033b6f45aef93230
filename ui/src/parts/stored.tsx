// What is stored, a row for each day: bytes of each kind, and when they go.
import { useState } from 'preact/hooks';
import type { Storage as Stored } from '../core/answers';
import { now } from '../core/clock';
import { formatCount, formatMany, formatValue } from '../core/format';
import { nextToGo, tableOf, type DayRow, type StoredTable } from '../core/storage';
import { safe } from '../draw/flame';
import { Ago } from './ago';
import { TableBox } from './table_box';

const FIRST = 31; // days that are listed at first

const bytesText = (v?: number) => (v === undefined ? '–' : Number.isNaN(v) ? '?' : formatValue(v, 'bytes'));
const list = (names: string[]) =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names[names.length - 1]}`;

export function StoredDays({ answer }: { answer: Stored }) {
  const [all, setAll] = useState(false);
  const table = tableOf(answer);
  if (!table)
    return (
      <p class="note error" role="alert">
        What the server says is stored cannot be read: another version of the page may be open. Reload it.
      </p>
    );
  if (table.rows.length === 0 && table.unread === 0) return <p class="note">Nothing is stored yet.</p>;
  return (
    <>
      <Summary table={table} />
      <TableBox label="What is stored, by day and kind">
        <DayTable table={table} rows={all ? table.rows : table.rows.slice(0, FIRST)} />
      </TableBox>
      {!all && table.rows.length > FIRST && (
        <p>
          <button type="button" onClick={() => setAll(true)}>
            Show all {formatCount(table.rows.length)} days
          </button>
        </p>
      )}
    </>
  );
}

function Summary({ table }: { table: StoredTable }) {
  const next = nextToGo(table);
  const pinned = table.rows.filter((r) => r.pinned);
  return (
    <p data-testid="stored">
      {bytesText(table.total)} in {formatMany(table.rows.length, 'day')}.{' '}
      {next ? (
        <>
          Next to go: {list(next.kinds)} of {safe(next.day)}, {bytesText(next.bytes)}, <Goes at={next.at} />.
        </>
      ) : (
        'Nothing goes: no retention is set, or all of it is pinned.'
      )}
      {pinned.length > 0 && ` ${formatMany(pinned.length, 'day is', 'days are')} pinned.`}
      {table.unread > 0 && <em class="bad"> {formatMany(table.unread, 'entry', 'entries')} cannot be read.</em>}
    </p>
  );
}

const DayTable = ({ table: { kinds, totals, total }, rows }: { table: StoredTable; rows: DayRow[] }) => (
  <table class="stored">
    <caption class="hidden">Bytes on disk by day and kind, and when they go</caption>
    <thead>
      <tr>
        <th scope="col">Day</th>
        {kinds.map((k) => (
          <th key={k} scope="col" class="number">
            {safe(k)}
          </th>
        ))}
        <th scope="col" class="number">
          Total
        </th>
        <th scope="col">Goes</th>
      </tr>
    </thead>
    <tbody>
      {rows.map((r) => (
        <tr key={r.day} data-day={r.day}>
          <th scope="row">{safe(r.day)}</th>
          {kinds.map((k) => (
            <td key={k} class="number">
              {bytesText(r.bytes.get(k))}
            </td>
          ))}
          <td class="number">{bytesText(r.total)}</td>
          <td class="goes">
            <WhenItGoes row={r} />
          </td>
        </tr>
      ))}
    </tbody>
    <tfoot>
      <tr>
        <th scope="row">All days</th>
        {kinds.map((k) => (
          <td key={k} class="number">
            {bytesText(totals.get(k))}
          </td>
        ))}
        <td class="number">{bytesText(total)}</td>
        <td />
      </tr>
    </tfoot>
  </table>
);

const Goes = ({ at }: { at: number }) => (at <= now() ? <>with the next round</> : <Ago at={at} />);

function WhenItGoes({ row: { pinned, goes } }: { row: DayRow }) {
  if (pinned) return <b class="state pinned">pinned</b>;
  return (
    <>
      {goes.map(({ at, kinds }, i) => (
        <span key={String(at)}>
          {i > 0 && ' · '}
          {goes.length > 1 && `${safe(kinds.join(', '))} `}
          {at === null ? goes.length > 1 && kinds.length > 1 ? 'stay' : 'stays' : <Goes at={at} />}
        </span>
      ))}
    </>
  );
}
