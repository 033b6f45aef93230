// Self and total of each line of a function, as the profiles name them. Line numbers only; source.tsx shows the text.
import type { Int64 } from '../core/answers';
import { getJson } from '../core/api';
import { formatShare, formatValue } from '../core/format';
import { exactly } from '../core/names';
import { QueryState, useQuery } from './query';
import { TableBox } from './table_box';

export function Lines({ asked, fn, mod }: { asked: Record<string, string>; fn: string; mod: string | null }) {
  const { lens: _, ...selection } = asked;
  const params = { ...selection, function: exactly(fn), module: mod ?? undefined };
  const list = useQuery(JSON.stringify(['lines', params]), (s) => getJson('list', params, s));
  const answer = list.data;
  const value = (v: Int64) => formatValue(Number(v), answer!.unit, answer!.scale);
  const known = answer?.functions.filter((f) => f.lines.some(([line]) => Number(line) > 0)) ?? [];
  return (
    <section aria-label="Lines">
      <div class="toolbar">
        <h3>Its lines</h3>
      </div>
      <QueryState query={list} what="lines" />
      {answer && known.length === 0 && <p class="note">The profiles have no line numbers for it.</p>}
      {known.map((f) => (
        <TableBox label={`Lines in ${f.file || f.module || 'no source file named'}`} key={f.module + f.file}>
          <table class="top">
            <caption>
              {f.file || f.module || 'no source file named'}
              {asked.lens ? ' (without the lens)' : ''}
            </caption>
            <thead>
              <tr>
                <th scope="col" class="number">
                  Line
                </th>
                <th scope="col" class="number">
                  Self
                </th>
                <th scope="col" class="number">
                  Total
                </th>
                <th scope="col">Share of everything</th>
              </tr>
            </thead>
            <tbody>
              {[...f.lines]
                .sort((a, b) => Number(a[0]) - Number(b[0]))
                .map(([line, self, total]) => (
                  <tr key={line}>
                    <th scope="row" class="number">
                      {line || '?'}
                    </th>
                    <td class="number">{value(self)}</td>
                    <td class="number">{value(total)}</td>
                    <td>{formatShare(Number(total), Number(answer!.total))}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        </TableBox>
      ))}
    </section>
  );
}
