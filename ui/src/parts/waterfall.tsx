// The waterfall of a trace: one row per span, of which only those in view are elements. Up and down select, left and
// right fold, Enter or a click shows the span; W, S, A, D and F move the time axis. A bar is filled with
// what the span's time went to; the line below it is the critical path.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { accountText, type Account, type Accounts } from '../core/accounting';
import type { PathOnRows, Stretch } from '../core/critical';
import { formatMany, formatValue } from '../core/format';
import { colourIndex, DARK, LIGHT } from '../core/palette';
import { dark } from '../core/settings';
import { visibleRows, type Row } from '../core/waterfall';
import { shownName } from '../draw/flame';
import { PartFill } from './account_bar';
import { useTimeKeys } from './time_keys';

const ROW = 26;
const MOST_ROWS = 16;

export interface WaterfallProps {
  rows: Row[];
  duration: number;
  selected: string;
  values: Record<string, number>;
  looks?: Record<string, { count: number }>;
  accounts: Accounts; // by span, as far as they are known
  path?: PathOnRows;
  onSelect: (span: string, walked: boolean) => void;
  onRange: (row: Row, range: [number, number]) => void;
}

const ms = (v: number) => formatValue(v * 1e6, 'nanoseconds');

// Start and end of a span's bar as shares of the visible time, clipped to it.
function placeOf(r: Row, [from, to]: [number, number]): [number, number] {
  const at = (t: number) => Math.max(0, Math.min((t - from) / (to - from || 1), 1));
  return [at(r.start), at(r.start + r.duration)];
}

// The duration stands beside the bar if there is room, else inside it at the right.
function timePlace([from, to]: [number, number]): Record<string, string> {
  if (to < 0.78) return { left: `${100 * to}%` };
  return from > 0.5 ? { right: `${100 * (1 - from)}%` } : { right: `${100 * (1 - to)}%` };
}

export function Waterfall(p: WaterfallProps) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => visibleRows(p.rows, folded), [p.rows, folded]);
  const at = rows.findIndex((r) => r.id === p.selected);
  const height = Math.min(rows.length, MOST_ROWS) * ROW;
  const first = Math.max(0, Math.floor(top / ROW) - 4);
  const shown = rows.slice(first, first + MOST_ROWS + 9);
  const { view, onTimeKey } = useTimeKeys(
    String(p.duration),
    [0, p.duration],
    p.duration / 1e5,
    ([a, b]) => `${ms(a)} – ${ms(b)}`,
    (range) => p.onRange(p.rows.find((r) => r.id === p.selected) ?? p.rows[0], range),
  );
  const toggle = (id: string) => {
    const next = new Set(folded);
    if (!next.delete(id)) next.add(id);
    setFolded(next);
  };
  useEffect(() => {
    if (at < 0 || !box.current) return;
    const b = box.current;
    if (at * ROW < b.scrollTop) b.scrollTop = at * ROW;
    if ((at + 1) * ROW > b.scrollTop + b.clientHeight) b.scrollTop = (at + 1) * ROW - b.clientHeight;
  }, [at]);
  const onKey = (e: KeyboardEvent) => {
    if (onTimeKey(e)) return;
    const walk: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 };
    const to = walk[e.key] ?? -1;
    const row = rows[at];
    if (rows[to]) p.onSelect(rows[to].id, true);
    else if (
      row &&
      row.children > 0 &&
      (e.key === 'ArrowLeft') !== folded.has(row.id) &&
      /^Arrow(Left|Right)$/.test(e.key)
    )
      toggle(row.id);
    else return;
    e.preventDefault();
  };
  return (
    <div class="waterfall">
      <div class="wf-head" aria-hidden="true">
        <span>Span</span>
        <span class="wf-scale">
          <span>{view[0] === 0 ? '0' : ms(view[0])}</span>
          <span>{ms((view[0] + view[1]) / 2)}</span>
          <span>{ms(view[1])}</span>
        </span>
      </div>
      <div
        ref={box}
        class="wf-box"
        style={{ height }}
        role="tree"
        tabIndex={0}
        aria-label={`Waterfall, ${formatMany(p.rows.length, 'span')}`}
        aria-activedescendant={at >= 0 ? `span-${p.selected}` : undefined}
        onKeyDown={onKey}
        onScroll={(e) => setTop(e.currentTarget.scrollTop)}
      >
        <div role="presentation" style={{ height: rows.length * ROW, position: 'relative' }}>
          {shown.map((r, i) => (
            <SpanRow
              key={r.id + (first + i)}
              row={r}
              top={(first + i) * ROW}
              view={view}
              selected={r.id === p.selected}
              folded={folded.has(r.id)}
              note={noteOf(p, r.id)}
              account={p.accounts.get(r.id)}
              stretches={p.path?.bySpan.get(r.id)}
              said={saidOf(p, r.id)}
              onSelect={() => p.onSelect(r.id, false)}
              onToggle={() => toggle(r.id)}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

// What the row says about the span's samples.
function noteOf({ looks, values }: WaterfallProps, id: string): string {
  if (looks?.[id]) return ` · ${formatMany(looks[id].count, 'look')}`;
  return values[id] ? ' · profiled' : '';
}

// What bar and line show, in words.
function saidOf({ accounts, path }: WaterfallProps, id: string): string {
  const account = accounts.get(id);
  const onPath = path?.total.get(id);
  return [
    onPath ? `${formatValue(onPath, 'nanoseconds')} on the critical path` : '',
    account && account.duration > 0 ? accountText(account, 3) : '',
  ]
    .filter(Boolean)
    .join(', ');
}

interface SpanRowProps {
  row: Row;
  top: number;
  view: [number, number];
  selected: boolean;
  folded: boolean;
  note: string;
  account?: Account;
  stretches?: Stretch[];
  said: string;
  onSelect: () => void;
  onToggle: () => void;
}

function SpanRow(p: SpanRowProps) {
  const { row: r, top, selected, folded, onSelect, onToggle } = p;
  const fill = (dark.value ? DARK : LIGHT).boxes[colourIndex('', r.service)];
  return (
    <div
      id={`span-${r.id}`}
      role="treeitem"
      class={'wf-row' + (selected ? ' selected' : '')}
      aria-level={r.depth + 1}
      aria-selected={selected}
      aria-expanded={r.children > 0 ? !folded : undefined}
      style={{ top, height: ROW }}
      onClick={onSelect}
    >
      <span class="wf-name" style={{ paddingLeft: Math.min(r.depth, 30) * 14 }}>
        {r.children > 0 ? (
          <span
            class="fold"
            aria-hidden="true"
            onClick={(e) => {
              e.stopPropagation();
              onToggle();
            }}
          >
            {folded ? '▸' : '▾'}
          </span>
        ) : (
          <span class="fold" aria-hidden="true" />
        )}
        <i style={{ background: fill }} />
        <b>{r.service}</b> <bdi>{shownName(r.name, 200)}</bdi>
        {folded && <small> +{r.descendants}</small>}
        {r.error && <em class="bad"> error</em>}
        {r.orphan && <small> (its parent is not stored)</small>}
      </span>
      <Bar {...p} fill={fill} />
    </div>
  );
}

function Bar({ row: r, view, fill, note, account, stretches, said }: SpanRowProps & { fill: string }) {
  const place = placeOf(r, view);
  const [before, after] = [r.start + r.duration < view[0], r.start > view[1]];
  const filled = account && account.duration > 0 && account.filedUnder === '';
  return (
    <span class="wf-line">
      {!before && !after && (
        <span
          class={'wf-bar' + (r.error ? ' bad' : '')}
          style={{
            left: `${100 * place[0]}%`,
            width: `max(2px, ${100 * (place[1] - place[0])}%)`,
            background: fill,
          }}
        >
          {filled && (
            <span class="wf-fill" style={fullWidth(r, view, place)}>
              <PartFill parts={account.parts} duration={account.duration} />
            </span>
          )}
        </span>
      )}
      {stretches && <PathLine stretches={stretches} view={view} />}
      <span class="wf-time" style={timePlace(place)}>
        {before && '◂ '}
        {after && '▸ '}
        {ms(r.duration)}
        {note}
      </span>
      {said && <span class="hidden">, {said}</span>}
    </span>
  );
}

// The fill is of the whole span, though its bar may be cut at the window's edges.
function fullWidth(r: Row, [from, to]: [number, number], place: [number, number]): Record<string, string> {
  const seen = (place[1] - place[0]) * (to - from);
  if (!(seen > 0) || seen >= r.duration) return {};
  const before = Math.max(0, from - r.start);
  return { left: `${(-100 * before) / seen}%`, width: `${(100 * r.duration) / seen}%` };
}

const MOST_STRETCHES = 400;

function PathLine({ stretches, view: [from, to] }: { stretches: Stretch[]; view: [number, number] }) {
  const scale = 100 / (to - from || 1);
  const seen = stretches.filter(([a, b]) => b > from && a < to).slice(0, MOST_STRETCHES);
  return (
    <>
      {seen.map(([a, b]) => {
        const [left, right] = [Math.max(a, from), Math.min(b, to)];
        return (
          <i
            key={a}
            class="wf-path"
            style={{ left: `${(left - from) * scale}%`, width: `max(1px, ${(right - left) * scale}%)` }}
          />
        );
      })}
    </>
  );
}
