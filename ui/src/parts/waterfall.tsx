// The waterfall of a trace: one row per span, only those in view are elements. Arrow keys walk, left and right fold
// and unfold, Enter (or a click) shows the span.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { formatMany, formatValue } from '../core/format';
import { colourIndex, DARK, LIGHT } from '../core/palette';
import { dark } from '../core/settings';
import { visibleRows, type Row } from '../core/waterfall';
import { shownName } from '../draw/flame';

const ROW = 26;
const MOST_ROWS = 16;

export interface WaterfallProps { rows: Row[]; duration: number; selected: string; values: Record<string, number>; onSelect: (span: string, walked: boolean) => void }

const ms = (v: number) => formatValue(v * 1e6, 'nanoseconds');

// Beside the bar where there is room, else inside it at the right.
function timePlace(r: Row, whole: number): Record<string, string> {
  const [from, to] = [r.start / (whole || 1), (r.start + r.duration) / (whole || 1)];
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
    const to = e.key === 'ArrowDown' ? at + 1 : e.key === 'ArrowUp' ? at - 1 : e.key === 'Home' ? 0 : e.key === 'End' ? rows.length - 1 : -1;
    const row = rows[at];
    if (rows[to]) p.onSelect(rows[to].id, true);
    else if (row && row.children > 0 && (e.key === 'ArrowLeft') !== folded.has(row.id) && /^Arrow(Left|Right)$/.test(e.key)) toggle(row.id);
    else return;
    e.preventDefault();
  };
  return (
    <div class="waterfall">
      <div class="wf-head" aria-hidden="true"><span>Span</span><span class="wf-scale"><span>0</span><span>{ms(p.duration / 2)}</span><span>{ms(p.duration)}</span></span></div>
      <div ref={box} class="wf-box" style={{ height }} role="tree" tabIndex={0} aria-label={`Waterfall, ${formatMany(p.rows.length, 'span')}`}
        aria-activedescendant={at >= 0 ? `span-${p.selected}` : undefined} onKeyDown={onKey} onScroll={(e) => setTop(e.currentTarget.scrollTop)}>
        <div role="presentation" style={{ height: rows.length * ROW, position: 'relative' }}>
          {shown.map((r, i) => {
            const name = shownName(r.name, 200);
            const fill = palette.boxes[colourIndex('', r.service)];
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
                  <span class={'wf-bar' + (r.error ? ' bad' : '')} style={{ left: `${100 * r.start / (p.duration || 1)}%`, width: `max(2px, ${100 * r.duration / (p.duration || 1)}%)`, background: fill }} />
                  <span class="wf-time" style={timePlace(r, p.duration)}>
                    {ms(r.duration)}{p.values[r.id] ? ' · profiled' : ''}
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
