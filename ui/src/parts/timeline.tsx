// The timeline: values per second over time, and how much of them matches the search. Dragging selects a range,
// Ctrl+drag picks the baseline of a diff, a double click clears the selection; two times can be typed instead. There is
// no line where nothing was stored. timeline_plot.tsx draws it.
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Series } from '../core/answers';
import { formatFine, formatShare, formatTime, formatValue } from '../core/format';
import { zone } from '../core/settings';
import type { Mark, MarkKind } from '../core/marks';
import { linesOf, matchedOf, peakOf, shareAt, type Lines } from '../core/steps';
import { stepAfter } from '../core/time_keys';
import type { Marker } from '../core/trend';
import { MarkLane } from './marks';
import { TimeForm } from './range';
import { useTimeKeys } from './time_keys';
import { Plot, rateOf, rateText, settledOf } from './timeline_plot';

const TIMELINE_KEYS =
  'W and S zoom, A and D move, F shows all of it, R selects what is in view; left and right walk its steps.';
const spanText = (r: [number, number]) => r.map((t) => formatTime(t, zone.value === 'utc')).join(' – ');

export interface TimelineProps {
  of: string; // the requested time range
  series: Series;
  search: string;
  lens: string;
  selection: [number, number] | null;
  onSelect: (range: [number, number] | null) => void;
  onBaseline: (range: [number, number]) => void; // compares the selection, or the whole range, with this
  markers: Marker[];
  marks: Mark[];
  listOf: (kind: MarkKind) => string; // the page with all marks of a kind
}

export function Timeline(props: TimelineProps) {
  const p = { ...props, shown: useMemo(() => linesOf(props.series), [props.series]) };
  const whole: [number, number] = [p.shown.startMs, p.shown.startMs + p.shown.all.length * p.shown.stepMs];
  const { view, zoomed, onTimeKey } = useTimeKeys(p.of, whole, 4 * p.shown.stepMs, spanText, (r) =>
    p.onSelect([Math.round(r[0]), Math.round(r[1])]),
  );
  const { walked, step, onWalk } = useWalk(p, view);
  const inView: [number, number] = zoomed ? view : [view[0], view[1] - p.shown.stepMs];
  useEffect(() => {
    const page = window as unknown as { __wherefore?: object };
    page.__wherefore = { ...page.__wherefore, timeline: p.shown };
  }, [p.shown]);
  return (
    <figure class="timeline">
      <div
        class="axis"
        role="application"
        tabIndex={0}
        aria-label={`Timeline, ${spanText(whole)}. ${TIMELINE_KEYS}`}
        onKeyDown={(e) => {
          if (!onWalk(e)) onTimeKey(e);
        }}
      >
        <Plot {...p} view={inView} step={step} />
      </div>
      {p.marks.length > 0 && <MarkLane marks={p.marks} view={inView} list={p.listOf} />}
      <p class="walked" role="status">
        {walked}
      </p>
      <figcaption>
        {p.selection && (
          <>
            selected {spanText(p.selection)}{' '}
            <button type="button" class="quiet" onClick={() => p.onSelect(null)}>
              Whole range
            </button>{' '}
            ·{' '}
          </>
        )}
        <TypedTimes range={p.selection ?? whole} onSelect={p.onSelect} onBaseline={p.onBaseline} />
        {zoomed && <> · in view {spanText(view)}</>}
        {' · '}
        <Facts series={p.series} shown={p.shown} lens={p.lens !== ''} />
        <span class="hint"> · drag: select · Ctrl+drag: baseline of a diff · double click: all</span>
      </figcaption>
    </figure>
  );
}

// The caption: step, peak, gaps, matches.
function Facts({ series, shown, lens }: { series: Series; shown: Lines; lens: boolean }) {
  const utc = zone.value === 'utc';
  const { label, factor, unit } = rateOf({ ...series, step_ms: shown.stepMs });
  const settled = settledOf(series, shown);
  const peak = peakOf(shown, settled);
  const empty = shown.all.slice(0, settled).filter((v) => v === null).length;
  return (
    <>
      {label} over time, in steps of {formatValue(shown.stepMs * 1e6, 'nanoseconds').replace(/\.0+ /, ' ')}
      {peak && `, peak ${rateText(peak.value * factor, unit)} at ${formatTime(peak.at, utc)}`}
      {empty > 0 && `, nothing stored in ${empty} of ${shown.all.length} steps`}
      <Matches series={series} shown={shown} lens={lens} utc={utc} />
    </>
  );
}

type TypedTimesProps = Pick<TimelineProps, 'onSelect' | 'onBaseline'> & { range: [number, number] };

// Selects a range without a pointer.
function TypedTimes({ range, onSelect, onBaseline }: TypedTimesProps) {
  const [typing, setTyping] = useState(false);
  const select = (r: [number, number]) => {
    setTyping(false);
    onSelect(r);
  };
  if (!typing)
    return (
      <button type="button" class="quiet" onClick={() => setTyping(true)}>
        Type times
      </button>
    );
  return (
    <TimeForm
      range={range}
      actions={[
        ['Select', select],
        ['Baseline of a diff', onBaseline],
      ]}
      onCancel={() => setTyping(false)}
    />
  );
}

// Arrow keys move a cursor from step to step and announce its values. The cursor is kept as a time, because in live
// mode the steps move on.
function useWalk(
  p: TimelineProps & { shown: Lines },
  view: [number, number],
): { walked: string; step: number | null; onWalk: (e: KeyboardEvent) => boolean } {
  const [time, setTime] = useState<number | null>(null);
  const { startMs, stepMs, all, matched, lines } = p.shown;
  const first = Math.max(0, Math.ceil((view[0] - startMs) / stepMs));
  const last = Math.min(settledOf(p.series, p.shown) - 1, Math.floor((view[1] - startMs) / stepMs));
  const at = time === null ? null : Math.round((time - startMs) / stepMs);
  const there = at !== null && at >= first && at <= last;
  const onWalk = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) return false;
    const to = stepAfter(e.key, at, first, last);
    if (to === null && (e.key !== 'Escape' || time === null)) return false;
    setTime(to === null ? null : startMs + to * stepMs);
    e.preventDefault();
    return true;
  };
  if (!there) return { walked: '', step: null, onWalk };
  const { label, factor, unit } = rateOf({ ...p.series, step_ms: stepMs });
  const fill = p.shown.fill[at];
  const text = (v: number | null) =>
    v === null
      ? 'nothing stored'
      : unit === 'cores'
        ? `${formatFine(v * factor * fill)} ${label}`
        : formatValue(v * factor * fill, unit) + (p.series.averaged ? '' : ' per s');
  const values =
    lines.length === 1 ? text(all[at]) : lines.map((l) => `${l.name} ${text(l.values[at] ?? null)}`).join(', ');
  const does = p.lens !== '' ? 'is left by the lens and matches' : 'matches';
  const part = matched && all[at] ? `, ${formatShare(shareAt(p.shown, at), 1)} of it ${does}` : '';
  return { walked: `${formatTime(startMs + at * stepMs, zone.value === 'utc')}: ${values}${part}`, step: at, onWalk };
}

// The line shows everything; matches are counted after the lens.
function Matches({ series, shown, lens, utc }: { series: Series; shown: Lines; lens: boolean; utc: boolean }) {
  const found = matchedOf(shown, settledOf(series, shown));
  return (
    found && (
      <>
        ,{' '}
        <b class="matches">
          {formatShare(found.part, found.whole)} of it {lens ? 'is left by the lens and matches' : 'matches'}
        </b>
        {found.most && `, most ${formatShare(found.most.share, 1)} at ${formatTime(found.most.at, utc)}`}
      </>
    )
  );
}
