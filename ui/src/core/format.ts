// Formats numbers for people. Pure; one locale, so that a shared link shows the same everywhere.

const short = (x: number) => (Math.abs(x) >= 99.95 ? x.toFixed(0) : Math.abs(x) >= 9.995 ? x.toFixed(1) : x.toFixed(2));

function scaled(v: number, steps: [number, string][], last: string): string {
  for (const [size, name] of steps) if (Math.abs(v) >= size) return short(v / size) + ' ' + name;
  return Number(v.toFixed(2)) + ' ' + last;
}

export function formatValue(value: number, unit: string, scale = 1): string {
  const v = value / scale;
  if (unit === 'nanoseconds')
    return scaled(
      v,
      [
        [3600e9, 'h'],
        [60e9, 'min'],
        [1e9, 's'],
        [1e6, 'ms'],
        [1e3, 'µs'],
      ],
      'ns',
    );
  if (unit === 'bytes')
    return scaled(
      v,
      [
        [2 ** 60, 'EiB'],
        [2 ** 50, 'PiB'],
        [2 ** 40, 'TiB'],
        [2 ** 30, 'GiB'],
        [2 ** 20, 'MiB'],
        [2 ** 10, 'KiB'],
      ],
      'B',
    );
  return formatCount(v);
}

export const formatCount = (v: number) => v.toLocaleString('en', { maximumFractionDigits: 2 });

// Two digits, or all before the point: "0.023", "2.3", "230".
export const formatRough = (v: number) => (Math.abs(v) < 99.5 ? v.toPrecision(2) : formatCount(Math.round(v)));

export const formatCores = (v: number) => (v > 0 && v < 0.005 ? '<0.01' : v.toFixed(2));

// Enough digits for small values on a chart's axis: "0.0023".
export const formatFine = (v: number) =>
  v !== 0 && Math.abs(v) < 0.1 ? String(Number(v.toPrecision(2))) : v.toFixed(2);

// "1 frame", "2,000 frames"
export const formatMany = (n: number, one: string, many = one + 's') => `${formatCount(n)} ${n === 1 ? one : many}`;

export function formatShare(part: number, whole: number): string {
  if (!(whole > 0)) return '0 %';
  const percent = (100 * part) / whole;
  return (percent !== 0 && Math.abs(percent) < 0.1 ? percent.toPrecision(1) : percent.toFixed(1)) + ' %';
}

// The error of a share seen in n of `all` observations, in percentage points: the distance to the farther end of
// Wilson's 95 % interval, as in src/profile/share_error.h. A share of 0 or 1 has an error too.
export function shareError(n: number, all: number): number {
  if (!(all > 0)) return 0;
  const z2 = 1.96 ** 2;
  const p = Math.min(Math.max(n, 0) / all, 1);
  const center = (p + z2 / (2 * all)) / (1 + z2 / all);
  return 100 * (Math.sqrt(z2 * ((p * (1 - p)) / all + z2 / (4 * all * all))) / (1 + z2 / all) + Math.abs(center - p));
}

export function formatError(n: number, all: number): string {
  const e = shareError(n, all);
  return '±\u00a0' + (e >= 10 ? e.toFixed(0) : e >= 0.05 || e === 0 ? e.toFixed(1) : e.toPrecision(1));
}

export function formatTime(ms: number, utc: boolean, seconds = true): string {
  const d = new Date(ms);
  const two = (n: number) => String(n).padStart(2, '0');
  const [y, mo, da, h, mi, s] = utc
    ? [d.getUTCFullYear(), d.getUTCMonth(), d.getUTCDate(), d.getUTCHours(), d.getUTCMinutes(), d.getUTCSeconds()]
    : [d.getFullYear(), d.getMonth(), d.getDate(), d.getHours(), d.getMinutes(), d.getSeconds()];
  return `${y}-${two(mo + 1)}-${two(da)} ${two(h)}:${two(mi)}${seconds ? ':' + two(s) : ''}${utc ? 'Z' : ''}`;
}

// A message of the server with its times (2026-11-15T18:00:00.123Z) formatted as on the page.
export const withTimes = (text: string, utc: boolean) =>
  text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (t) =>
    Number.isNaN(Date.parse(t)) ? t : formatTime(Date.parse(t), utc),
  );

// "10 s", "60 min", "3 d"
export function formatSpan(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 90) return `${s} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  if (s < 129600) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} d`;
}

export const formatAgo = (ms: number, now: number) => formatSpan(now - ms) + ' ago';

const MS: Record<string, number> = { s: 1e3, m: 60e3, h: 3600e3, d: 86400e3, w: 604800e3 };
// The sum of single looks at a thread: "12.0 ms ± 12.0 ms in 3 looks".
export const formatLooks = (v: number, unit: string, errorNs: number, looks: number): string =>
  `${formatValue(v, unit)} ±\u00a0${formatValue(errorNs, 'nanoseconds')} in ${formatMany(looks, 'look')}`;

// "15m", "1h", "7d" in milliseconds; NaN if it is not a time span.
export function parseSpan(text: string): number {
  const match = /^(\d+)([smhdw])$/.exec(text.trim());
  return match ? Number(match[1]) * MS[match[2]] : NaN;
}
