// Cores out of CPU time per step. Pure.
//
// A service that was there for five minutes of an hour used its cores for five minutes: the average is taken from the
// first step with something in it to the last one.

function edges(values: number[]): [number, number] {
  let first = values.findIndex((v) => v !== 0);
  let last = values.length - 1;
  while (last >= 0 && values[last] === 0) last--;
  if (first < 0) first = 0;
  return [first, last];
}

export function coresOf(values: number[], stepMs: number, scale: number): number {
  const [first, last] = edges(values);
  if (last < first) return 0;
  let sum = 0;
  for (const v of values) sum += v;
  return sum / scale / 1e6 / ((last - first + 1) * stepMs);
}

// At most `points` averages over the range, in cores.
export function trendOf(values: number[], stepMs: number, scale: number, points = 60): number[] {
  const per = Math.max(1, Math.ceil(values.length / points));
  const out: number[] = [];
  for (let i = 0; i < values.length; i += per) {
    const part = values.slice(i, i + per);
    out.push(part.reduce((a, b) => a + b, 0) / scale / 1e6 / (part.length * stepMs));
  }
  return out;
}
