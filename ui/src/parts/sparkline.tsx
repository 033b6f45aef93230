// A trend in a table's cell.
export function Sparkline({ values, label }: { values: number[]; label: string }) {
  const [w, h] = [160, 28];
  const most = Math.max(...values, 1e-12);
  const x = (i: number) => (values.length > 1 ? i / (values.length - 1) * (w - 2) + 1 : w / 2);
  const y = (v: number) => h - 2 - v / most * (h - 4);
  const line = values.map((v, i) => `${x(i).toFixed(1)},${y(v).toFixed(1)}`).join(' ');
  return (
    <svg class="spark" width={w} height={h} viewBox={`0 0 ${w} ${h}`} preserveAspectRatio="none" role="img" aria-label={`${label}: from ${values[0]?.toFixed(2)} to ${values[values.length - 1]?.toFixed(2)}, peak ${most.toFixed(2)}`}>
      <polygon points={`1,${h - 2} ${line} ${w - 1},${h - 2}`} />
      <polyline points={line} />
    </svg>
  );
}
