// Scales for an axis. Pure.

// Logarithmic if the values differ by orders of magnitude, so that one slow trace does not flatten all others.
export function scaleOf(least: number, most: number): { share: (v: number) => number; ticks: number[] } {
  if (most / least < 30) return { share: (v) => v / most, ticks: [0, most / 2, most] };
  const [low, high] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))];
  const ticks = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
  return {
    share: (v) => (Math.log10(Math.max(v, ticks[0])) - low) / (high - low),
    ticks: ticks.length > 5 ? ticks.filter((_, i) => (ticks.length - 1 - i) % 2 === 0) : ticks,
  };
}
