// The waterfall of a trace: one row per span, only those in view are elements. Arrow keys walk, left and right fold
// and unfold, Enter (or a click) shows the span; W, S, A, D and F move the time axis.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { formatMany, formatValue } from '../core/format';
import { colourIndex, DARK, LIGHT } from '../core/palette';
import { dark } from '../core/settings';
import { visibleRows, type Row } from '../core/waterfall';
import { shownName } from '../draw/flame';
import { useTimeKeys } from './time_keys';

const ROW = 26;
const MOST_ROWS = 16;

export interface WaterfallProps { rows: Row[]; duration: number; selected: string; values: Record<string, number>; looks?: Record<string, { count: number }>; onSelect: (span: string, walked: boolean) => void; onRange: (row: Row, range: [number, number]) => void }

const ms = (v: number) => formatValue(v * 1e6, 'nanoseconds');

// Where its bar is in what is in view, as shares; what lies outside is cut off.
function placeOf(r: Row, [from, to]: [number, number]): [number, number] {
  const at = (t: number) => Math.max(0, Math.min((t - from) / (to - from || 1), 1));
  return [at(r.start), at(r.start + r.duration)];
}

// Beside the bar where there is room, else inside it at the right.
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
  const palette = dark.value ? DARK : LIGHT;
  const { view, onTimeKey } = useTimeKeys(String(p.duration), [0, p.duration], p.duration / 1e5, ([a, b]) => `${ms(a)} – ${ms(b)}`, (range) => p.onRange(p.rows.find((r) => r.id === p.selected) ?? p.rows[0], range));
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
    const to = e.key === 'ArrowDown' ? at + 1 : e.key === 'ArrowUp' ? at - 1 : e.key === 'Home' ? 0 : e.key === 'End' ? rows.length - 1 : -1;
    const row = rows[at];
    if (rows[to]) p.onSelect(rows[to].id, true);
    else if (row && row.children > 0 && (e.key === 'ArrowLeft') !== folded.has(row.id) && /^Arrow(Left|Right)$/.test(e.key)) toggle(row.id);
    else return;
    e.preventDefault();
  };
  return (
    <div class="waterfall">
      <div class="wf-head" aria-hidden="true"><span>Span</span><span class="wf-scale"><span>{view[0] === 0 ? '0' : ms(view[0])}</span><span>{ms((view[0] + view[1]) / 2)}</span><span>{ms(view[1])}</span></span></div>
      <div ref={box} class="wf-box" style={{ height }} role="tree" tabIndex={0} aria-label={`Waterfall, ${formatMany(p.rows.length, 'span')}`}
        aria-activedescendant={at >= 0 ? `span-${p.selected}` : undefined} onKeyDown={onKey} onScroll={(e) => setTop(e.currentTarget.scrollTop)}>
        <div role="presentation" style={{ height: rows.length * ROW, position: 'relative' }}>
          {shown.map((r, i) => {
            const name = shownName(r.name, 200);
            const fill = palette.boxes[colourIndex('', r.service)];
            const place = placeOf(r, view);
            const [before, after] = [r.start + r.duration < view[0], r.start > view[1]];
            return (
              <div key={r.id + (first + i)} id={`span-${r.id}`} role="treeitem" class={'wf-row' + (r.id === p.selected ? ' selected' : '')}
                aria-level={r.depth + 1} aria-selected={r.id === p.selected} aria-expanded={r.children > 0 ? !folded.has(r.id) : undefined}
                style={{ top: (first + i) * ROW, height: ROW }} onClick={() => p.onSelect(r.id, false)}>
                <span class="wf-name" style={{ paddingLeft: Math.min(r.depth, 30) * 14 }}>
                  {r.children > 0
                    ? <span class="fold" aria-hidden="true" onClick={(e) => { e.stopPropagation(); toggle(r.id); }}>{folded.has(r.id) ? '▸' : '▾'}</span>
                    : <span class="fold" aria-hidden="true" />}
                  <i style={{ background: fill }} /><b>{r.service}</b> <bdi>{name}</bdi>
                  {folded.has(r.id) && <small> +{r.descendants}</small>}
                  {r.error && <em class="bad"> error</em>}
                  {r.orphan && <small> (its parent is not stored)</small>}
                </span>
                <span class="wf-line">
                  {!before && !after && <span class={'wf-bar' + (r.error ? ' bad' : '')} style={{ left: `${100 * place[0]}%`, width: `max(2px, ${100 * (place[1] - place[0])}%)`, background: fill }} />}
                  <span class="wf-time" style={timePlace(place)}>
                    {before && '◂ '}{after && '▸ '}{ms(r.duration)}{p.looks?.[r.id] ? ` · ${formatMany(p.looks[r.id].count, 'look')}` : p.values[r.id] ? ' · profiled' : ''}
                  </span>
                </span>
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
