// A trend in a table cell. Nothing is drawn where nothing was stored.
import { formatFine } from '../core/format';
import type { Values } from '../core/trend';

interface SparklineProps {
  values: Values;
  label: string;
  mark?: number | null; // where a new version began, as a share of the width
}

export function Sparkline({ values, label, mark = null }: SparklineProps) {
  const [w, h] = [160, 28];
  const stored = values.filter((v) => v !== null);
  const most = Math.max(...stored, 1e-12);
  const x = (i: number) => (values.length > 1 ? (i / (values.length - 1)) * (w - 2) + 1 : w / 2);
  const y = (v: number) => h - 2 - (v / most) * (h - 4);
  const [first, last] = [formatFine(stored[0] ?? 0), formatFine(stored[stored.length - 1] ?? 0)];
  const missing = Math.round((100 * (values.length - stored.length)) / values.length);
  const gaps = stored.length < values.length ? `, nothing stored for ${missing} percent of the time` : '';
  const marked = mark === null ? '' : ', with the mark of a new version';
  return (
    <svg
      class="spark"
      width={w}
      height={h}
      viewBox={`0 0 ${w} ${h}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}: from ${first} to ${last}, peak ${formatFine(most)}${gaps}${marked}`}
    >
      {runsOf(values).map(([from, to]) => {
        // A single value is drawn half a step wide.
        const at =
          from + 1 === to
            ? [
                [x(from) - 0.6, values[from]!],
                [x(from) + 0.6, values[from]!],
              ]
            : values.slice(from, to).map((v, k) => [x(from + k), v!]);
        const line = at.map(([px, v]) => `${px.toFixed(1)},${y(v).toFixed(1)}`).join(' ');
        return (
          <g key={from}>
            <polygon points={`${at[0][0].toFixed(1)},${h - 2} ${line} ${at[at.length - 1][0].toFixed(1)},${h - 2}`} />
            <polyline points={line} />
          </g>
        );
      })}
      {mark !== null && <line class="deploy-mark" x1={mark * w} x2={mark * w} y1={0} y2={h} />}
    </svg>
  );
}

// Runs of steps without a gap: [first, end].
function runsOf(values: Values): [number, number][] {
  const out: [number, number][] = [];
  values.forEach((v, i) => {
    if (v === null) return;
    if (out.length > 0 && out[out.length - 1][1] === i) out[out.length - 1][1] = i + 1;
    else out.push([i, i + 1]);
  });
  return out;
}
