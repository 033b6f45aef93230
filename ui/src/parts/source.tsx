// The source of a function with the cost of each line. Without access to the file, only line numbers. A file may have
// 100,000 lines, so only rows in view are elements. Arrow keys move, n and N jump to the next hot line.
import type { List } from '../core/answers';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, getJson } from '../core/api';
import { formatMany, formatShare, formatValue } from '../core/format';
import { said } from '../core/settings';
import { plain } from '../core/keys';
import { exactly } from '../core/names';
import { costsOf, hottestLine, repositoryLink, type LineCost } from '../core/source';
import { safe } from '../draw/flame';
import { functionHeading } from './heading';
import { QueryState, useQuery } from './query';
import { Command, copyText } from './shell';
import { TableBox } from './table_box';

interface Text {
  path: string;
  lines: string[];
}

const ROW = 20;
const HEIGHT = 560;

export interface SourceProps {
  asked: Record<string, string>;
  service: string;
  version: string;
  fn: string;
  mod: string | null;
  line: number;
  onLine: (line: number) => void;
}

export function Source(p: SourceProps) {
  const { lens: _, ...selection } = p.asked;
  const own = useQuery(p.fn === '' ? null : JSON.stringify(['lines', selection, p.fn]), (s) =>
    getJson('list', { ...selection, function: exactly(p.fn) }, s),
  );
  const wanted = own.data?.functions.filter((f) => p.mod === null || f.module === p.mod) ?? [];
  const file = wanted.find((f) => f.file !== '')?.file ?? '';
  const whole = useQuery(file === '' ? null : JSON.stringify(['file lines', selection, file]), (s) =>
    getJson('list', { ...selection, function: '.', file }, s),
  );
  const text = useQuery<Text | { missing: string }>(
    file === '' ? null : JSON.stringify(['source', selection.query, selection.from, selection.since, file]),
    async (s) => {
      try {
        const answer = await getJson('source', { ...selection, file }, s);
        return { path: answer.path, lines: answer.text.replace(/\n$/, '').split('\n') };
      } catch (e) {
        // A file that is missing, too large or binary is an answer to show, not a failure.
        if (e instanceof ApiError && [400, 404, 429].includes(e.status)) return { missing: e.message };
        throw e;
      }
    },
  );
  const settings = useQuery('settings', (s) => getJson('settings', {}, s));
  const costs = useMemo(() => costsOf(whole.data?.functions ?? []), [whole.data]);
  // The functions of the file that is shown.
  const hottest = useMemo(() => hottestLine(costsOf(wanted.filter((f) => f.file === file))), [own.data, p.mod]);
  if (p.fn === '') return <p class="note">Choose a function: a frame's “Source”, or a row of the table.</p>;
  const found = text.data && 'lines' in text.data ? text.data : null;
  const template = settings.data?.repository_template ?? '';
  const link = (line: number) =>
    template === '' || file === ''
      ? ''
      : repositoryLink(template, { service: p.service, version: p.version, path: found?.path ?? file, line });
  const line = p.line || hottest;
  return (
    <section aria-label="Source">
      {functionHeading(p.fn, p.mod)}
      <QueryState query={own} what="lines" />
      <QueryState query={whole} what="the file's lines" />
      <QueryState query={text} what="the source" />
      {own.data && file === '' && (
        <p class="note" data-testid="no-source">
          {said(own.data.hint ?? 'The profiles name no source file for it.')}
        </p>
      )}
      {file !== '' && (
        <div class="toolbar">
          <p data-testid="source-path">
            <bdi>{found ? found.path : safe(file)}</bdi>
            {line > 0 && `, line ${line}`}
            {p.asked.lens ? ' (without the lens)' : ''}
          </p>
          <button type="button" onClick={() => copyText(`${found?.path ?? file}:${line}`)}>
            Copy place
          </button>
          {link(line) !== '' && (
            <a class="button" href={link(line)} target="_blank" rel="noreferrer">
              Open in the repository
            </a>
          )}
        </div>
      )}
      {text.data && 'missing' in text.data && (
        <div class="note" data-testid="no-source">
          <p>The text is not here: {text.data.missing}.</p>
          {settings.data?.source === false && (
            <p>
              To show source: <Command text="wherefore serve --source-root /path/to/the/source" />
            </p>
          )}
        </div>
      )}
      {found && whole.data && (
        <Listing lines={found.lines} costs={costs} unit={whole.data} line={line} onLine={p.onLine} />
      )}
      {!found && whole.data && text.data && <Numbers costs={costs} unit={whole.data} link={link} />}
    </section>
  );
}

interface ListingProps {
  lines: string[];
  costs: Map<number, LineCost>;
  unit: List;
  line: number;
  onLine: (line: number) => void;
}

function Listing({ lines, costs, unit, line, onLine }: ListingProps) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const value = (v: number) => (v === 0 ? '' : formatValue(v, unit.unit, unit.scale));
  const most = Math.max(1, ...[...costs.values()].map((c) => c.total));
  const first = Math.max(0, Math.floor(top / ROW) - 10);
  const shown = lines.slice(first, first + HEIGHT / ROW + 20);
  const hot = useMemo(
    () => [...costs.keys()].filter((l) => l > 0 && l <= lines.length).sort((a, b) => a - b),
    [costs, lines],
  );
  useEffect(() => {
    const b = box.current!;
    const y = (line - 1) * ROW;
    if (line > 0 && (y < b.scrollTop || y + ROW > b.scrollTop + b.clientHeight))
      b.scrollTop = Math.max(0, y - b.clientHeight / 3);
  }, [line, lines]);
  const onKey = (e: KeyboardEvent) => {
    if (!plain(e)) return;
    const to =
      e.key === 'ArrowDown'
        ? line + 1
        : e.key === 'ArrowUp'
          ? line - 1
          : e.key === 'Home'
            ? 1
            : e.key === 'End'
              ? lines.length
              : e.key === 'n'
                ? hot.find((l) => l > line)
                : e.key === 'N'
                  ? hot.filter((l) => l < line).pop()
                  : undefined;
    if (to === undefined || to < 1 || to > lines.length) return;
    e.preventDefault();
    onLine(to);
  };
  return (
    <div
      ref={box}
      class="source"
      style={{ height: Math.min(HEIGHT, lines.length * ROW + 2) }}
      role="table"
      tabIndex={0}
      aria-rowcount={lines.length}
      aria-label="Source, arrow keys walk, n goes to the next line that was seen"
      onKeyDown={onKey}
      onScroll={(e) => setTop(e.currentTarget.scrollTop)}
    >
      <div role="rowgroup" style={{ height: lines.length * ROW, position: 'relative' }}>
        {shown.map((text, i) => {
          const number = first + i + 1;
          const cost = costs.get(number);
          return (
            <div
              key={number}
              role="row"
              aria-rowindex={number}
              aria-current={number === line ? 'true' : undefined}
              class={'source-line' + (number === line ? ' selected' : '')}
              style={{ top: (number - 1) * ROW }}
              onClick={() => onLine(number)}
            >
              <span role="rowheader" class="number">
                {number}
              </span>
              <span role="cell" class="number">
                {cost ? value(cost.self) : ''}
              </span>
              <span role="cell" class="number">
                {cost ? value(cost.total) : ''}
              </span>
              <span role="cell" class="share">
                {cost && <i style={{ width: `${(100 * cost.total) / most}%` }} />}
                <span>{cost ? formatShare(cost.total, Number(unit.total)) : ''}</span>
              </span>
              <code role="cell">{safe(text.slice(0, 500).replace(/\t/g, '    ')) || ' '}</code>
            </div>
          );
        })}
      </div>
    </div>
  );
}

function Numbers({ costs, unit, link }: { costs: Map<number, LineCost>; unit: List; link: (line: number) => string }) {
  const rows = [...costs].filter(([line]) => line > 0).sort(([a], [b]) => a - b);
  const value = (v: number) => formatValue(v, unit.unit, unit.scale);
  if (rows.length === 0) return <p class="note">The profiles have no line numbers for it.</p>;
  return (
    <TableBox label="Lines">
      <table class="top">
        <caption>{formatMany(rows.length, 'line')} seen</caption>
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
          {rows.map(([line, c]) => (
            <tr key={line}>
              <th scope="row" class="number">
                {link(line) ? (
                  <a href={link(line)} target="_blank" rel="noreferrer">
                    {line}
                  </a>
                ) : (
                  line
                )}
              </th>
              <td class="number">{value(c.self)}</td>
              <td class="number">{value(c.total)}</td>
              <td>{formatShare(c.total, Number(unit.total))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}
