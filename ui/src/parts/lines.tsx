// Which lines of a function it was: self and total per line, as the profiles named them. The text of the source is not
// here; the line numbers are.
import { getJson } from '../core/api';
import { formatShare, formatValue } from '../core/format';
import { exactly } from '../core/names';
import { QueryState, useQuery } from './query';
import { TableBox } from './table_box';

interface ListAnswer {
  unit: string; scale: number; total: number; hint?: string;
  functions: { name: string; module: string; file: string; start_line: number; self: number; total: number; lines: [number, number, number][] }[];
}

export function Lines({ asked, fn, mod }: { asked: Record<string, string>; fn: string; mod: string | null }) {
  const { lens: _, ...selection } = asked;
  const params = { ...selection, function: exactly(fn), module: mod ?? undefined };
  const list = useQuery(JSON.stringify(['lines', params]), (s) => getJson<ListAnswer>('list', params, s));
  const answer = list.data;
  const value = (v: number) => formatValue(Number(v), answer!.unit, answer!.scale);
  const known = answer?.functions.filter((f) => f.lines.some(([line]) => line > 0)) ?? [];
  return (
    <section aria-label="Lines">
      <div class="toolbar"><h3>Its lines</h3></div>
      <QueryState query={list} what="lines" />
      {answer && known.length === 0 && <p class="note">The profiles have no line numbers for it.</p>}
      {known.map((f) => (
        <TableBox label={`Lines in ${f.file || f.module || 'no source file named'}`} key={f.module + f.file}>
          <table class="top">
            <caption>{f.file || f.module || 'no source file named'}{asked.lens ? ' (without the lens)' : ''}</caption>
            <thead><tr><th scope="col" class="number">Line</th><th scope="col" class="number">Self</th><th scope="col" class="number">Total</th><th scope="col">Share of everything</th></tr></thead>
            <tbody>{[...f.lines].sort((a, b) => a[0] - b[0]).map(([line, self, total]) => (
              <tr key={line}><th scope="row" class="number">{line || '?'}</th><td class="number">{value(self)}</td><td class="number">{value(total)}</td><td>{formatShare(Number(total), Number(answer!.total))}</td></tr>
            ))}</tbody>
          </table>
        </TableBox>
      ))}
    </section>
  );
}
