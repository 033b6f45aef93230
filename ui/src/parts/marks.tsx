// Marks of alerts, regressions, insights and pins: asked of the server when a service's graph is there, drawn on its
// timeline, counted beside the newest version. Where there is nothing, nothing is shown.
import { useMemo } from 'preact/hooks';
import type { Worse } from '../core/answers';
import { getKnown } from '../core/api';
import { countsOf, drawnOf, listOf, type Drawn, type Found, type Mark, type MarkKind } from '../core/marks';
import { selectorOf, timeOf, type TimeState } from '../core/state';
import { safe } from '../draw/flame';
import { usePins } from './pins';
import { useQuery } from './query';
import { useWidth } from './width';
import { useWorse } from './worse';

const SIGNS: Record<MarkKind, string> = { alert: '!', regression: '▲', insight: '◆', pin: '■' };
const MARK_PX = 18;
const signOf = (m: Drawn) => (m.count > 1 ? String(m.count) : SIGNS[m.kind]);

// `ready`: what the reader came for is there.
export function useFound(
  service: string,
  time: TimeState,
  tick: number,
  ready: boolean,
): Found & { worse?: Worse | null } {
  const range = timeOf(time);
  const key = (what: string, ...more: unknown[]) => (ready ? JSON.stringify([what, service, ...more]) : null);
  const alerts = useQuery(key('its alerts', tick), (s) => getKnown('alerts', {}, s));
  const events = useQuery(key('its alert history', range, tick), (s) =>
    getKnown('alerts/history', { service, ...range }, s),
  );
  const worse = useWorse(ready ? service : null).data;
  const regressions = useQuery(key('its regressions', tick), (s) =>
    getKnown('regressions', { service, limit: '50' }, s),
  );
  const query = selectorOf(service, '');
  const insights = useQuery(key('its insights', range), (s) => getKnown('insights', { query, ...range }, s));
  const pins = usePins(ready, tick);
  return useMemo(
    () => ({
      alerts: alerts.data?.alerts.filter((a) => a.service === service) ?? [],
      events: events.data?.events ?? [],
      regressions: regressions.data?.regressions ?? [],
      insights: insights.data?.findings ?? [],
      pins: pins.data?.pins.filter((p) => p.service === service) ?? [],
      worse,
    }),
    [alerts.data, events.data, regressions.data, insights.data, pins.data, worse],
  );
}

interface MarkLaneProps {
  marks: Mark[];
  view: [number, number];
  list: (kind: MarkKind) => string; // the page with all of them
}

export function MarkLane({ marks, view, list }: MarkLaneProps) {
  const { box, width } = useWidth<HTMLUListElement>();
  const drawn = drawnOf(marks, view, MARK_PX / Math.max(width, MARK_PX), list);
  return (
    <ul class="marks" ref={box} aria-label="Alerts, regressions, insights and kept windows in this time">
      {drawn.map((m) => (
        <li key={m.kind + m.left + m.href} data-mark={m.kind}>
          {m.right > m.left && (
            <i style={{ left: `${100 * m.left}%`, width: `${100 * (m.right - m.left)}%` }} aria-hidden="true" />
          )}
          <a
            href={m.href}
            style={{ left: `min(calc(${100 * m.left}% + ${MARK_PX * m.row}px), 100% - ${MARK_PX}px)` }}
            aria-label={`${signOf(m)} ${m.kind}: ${m.text}`.slice(0, 300)}
            title={safe(m.text).slice(0, 500)}
          >
            {signOf(m)}
          </a>
        </li>
      ))}
    </ul>
  );
}

export function Counts({ found, service, time }: { found: Found; service: string; time: TimeState }) {
  return (
    <>
      {countsOf(found).map(([kind, text]) => (
        <a key={kind} class={`mark-count ${kind}`} href={listOf(kind, service, time)}>
          {SIGNS[kind]} {text}
        </a>
      ))}
    </>
  );
}
