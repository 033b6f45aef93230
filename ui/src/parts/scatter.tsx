// Latency over time: one dot per trace, linked to it. The table below has the same data, so the dots are for the mouse
// only.
import { formatTime, formatValue } from '../core/format';
import { go } from '../core/location';
import { scaleOf } from '../core/scale';
import { zone } from '../core/settings';
import { useWidth } from './width';

export interface Point {
  x: number;
  y: number;
  bad: boolean;
  profiled: boolean;
  label: string;
  note: string;
  href: string;
}

const Dot = ({ kind = '' }: { kind?: string }) => (
  <svg class="dot" width={14} height={14}>
    <circle cx={7} cy={7} r={5} class={kind} />
  </svg>
);

export function Scatter({ points }: { points: Point[] }) {
  const { box, width } = useWidth<HTMLElement>(Math.max(innerWidth - 40, 280));
  const [w, h, left, bottom] = [width, 150, 64, 20]; // drawn at its real width, so that text is not scaled
  const xs = points.map((p) => p.x);
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const most = Math.max(...points.map((p) => p.y), 1);
  const least = Math.max(Math.min(...points.map((p) => p.y)), most / 1e6);
  const { share, ticks } = scaleOf(least, most);
  const x = (v: number) => left + (x1 > x0 ? (v - x0) / (x1 - x0) : 0.5) * (w - left - 12);
  const y = (v: number) => h - bottom - share(v) * (h - bottom - 10);
  const when = (ms: number) => formatTime(ms, zone.value === 'utc').slice(w < 450 ? 11 : 0);
  return (
    <figure class="scatter" ref={box}>
      <svg viewBox={`0 0 ${w} ${h}`} aria-hidden="true">
        {ticks.map((t) => (
          <g key={t}>
            <line x1={left} x2={w} y1={y(t)} y2={y(t)} />
            <text x={left - 6} y={y(t) + 4} text-anchor="end">
              {formatValue(t, 'nanoseconds')}
            </text>
          </g>
        ))}
        <text x={left} y={h - 4}>
          {when(x0)}
        </text>
        <text x={w} y={h - 4} text-anchor="end">
          {when(x1)}
        </text>
        {points.map((p, i) => (
          <circle
            key={i}
            cx={x(p.x)}
            cy={y(p.y)}
            r={5}
            class={`${p.bad ? 'bad' : ''} ${p.profiled ? '' : 'hollow'}`}
            onClick={() => go(p.href)}
          >
            <title>{`${p.label.slice(0, 120)}: ${formatValue(p.y, 'nanoseconds')}, samples: ${p.note}`}</title>
          </circle>
        ))}
      </svg>
      <figcaption aria-hidden="true">
        <Dot /> with profile samples <Dot kind="hollow" /> without
        {points.some((p) => p.bad) && (
          <>
            {' '}
            <Dot kind="bad" /> with errors
          </>
        )}
      </figcaption>
    </figure>
  );
}
