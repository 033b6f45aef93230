// The source of what explains a difference most, in two columns: what each line had before and after. Own code is
// shown: the cause itself, or the nearest caller that is.
import type { Cause } from '../core/answers';
import { getJson, type Params } from '../core/api';
import { formatShare } from '../core/format';
import { exactly, shortName } from '../core/names';
import { colourIndex, isOwn } from '../core/palette';
import { costsOf, linesBeside, type LineBeside } from '../core/source';
import { safe } from '../draw/flame';
import { useQuery } from './query';
import { TableBox } from './table_box';

export interface CulpritProps {
  cause: Pick<Cause, 'function' | 'module' | 'callers'>;
  before: Params; // query, type and time of each side
  after: Params;
  href?: (f: { name: string; module: string }) => string; // its whole source
}

const MOST_TRIED = 4;

// The first that is own code; the cause itself if none is.
function culpritOf({ cause }: CulpritProps): { name: string; module: string } {
  const itself = { name: cause.function, module: cause.module };
  const all = [itself, ...cause.callers.slice(0, MOST_TRIED)];
  return all.find((f) => isOwn(colourIndex(f.name, f.module))) ?? itself;
}

function useLines(side: Params, f: { name: string; module: string }) {
  const asked = { ...side, function: exactly(f.name), module: f.module };
  return useQuery(JSON.stringify(['culprit', asked]), (s) => getJson('list', asked, s));
}

export function Culprit(p: CulpritProps) {
  const f = culpritOf(p);
  const [before, after] = [useLines(p.before, f), useLines(p.after, f)];
  const known = [...(after.data?.functions ?? []), ...(before.data?.functions ?? [])];
  const file = known.find((one) => one.file !== '')?.file ?? '';
  const text = useQuery<string[]>(file === '' ? null : JSON.stringify(['culprit text', p.after, file]), async (s) => {
    try {
      return (await getJson('source', { ...p.after, type: p.after.type, file }, s)).text.split('\n');
    } catch {
      return []; // the lines' numbers stay
    }
  });
  if (!before.data || !after.data || file === '') return null;
  const costs = [before.data, after.data].map((side) => ({
    costs: costsOf(side.functions.filter((one) => one.file === file)),
    total: Number(side.total),
  }));
  const rows = linesBeside(costs[0], costs[1]);
  if (rows.length === 0) return null;
  const name = safe(file.slice(file.lastIndexOf('/') + 1));
  return (
    <TableBox label="Source of the cause">
      <table class="top culprit" data-testid="culprit">
        <caption>
          <bdi>{safe(shortName(f.name))}</bdi> in {p.href ? <a href={p.href(f)}>{name}</a> : name}: each line's share of
          its side's whole
        </caption>
        <thead>
          <tr>
            <th scope="col" class="number">
              Line
            </th>
            <th scope="col" class="number">
              A before
            </th>
            <th scope="col" class="number">
              B after
            </th>
            <th scope="col">Source</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Line key={row.line} row={row} text={text.data?.[row.line - 1] ?? ''} />
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}

function Line({ row: { line, before, after }, text }: { row: LineBeside; text: string }) {
  const grew = after > before;
  return (
    <tr>
      <th scope="row" class="number">
        {line}
      </th>
      <td class="number">{before > 0 ? formatShare(before, 1) : ''}</td>
      <td class="number">
        {after > 0 ? formatShare(after, 1) : ''}
        <Bar share={after} more={grew} />
      </td>
      <td>
        <code>{safe(text.slice(0, 300).replace(/\t/g, '    '))}</code>
      </td>
    </tr>
  );
}

const Bar = ({ share, more }: { share: number; more: boolean }) => (
  <i
    class={`line-bar ${more ? 'more' : 'less'}`}
    style={{ width: `${Math.min(100 * share, 100)}%` }}
    aria-hidden="true"
  />
);
