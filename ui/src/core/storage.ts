// What is stored, as a table by day and kind: how much it is, and when it goes. Pure.
import type { Storage as Stored, StoredDay } from './answers';

const KINDS: string[] = ['spans', 'links', 'samples', 'hours', 'profiles and names'];

// Kinds that go at the same time; null: they stay.
export interface Going {
  at: number | null;
  kinds: string[];
}

export interface DayRow {
  day: string;
  bytes: Map<string, number>; // by kind; NaN: the answer does not say it
  total: number;
  pinned: boolean;
  goes: Going[]; // first what goes first
}

export interface StoredTable {
  kinds: string[];
  rows: DayRow[]; // newest first
  totals: Map<string, number>; // by kind, of what can be read
  total: number;
  unread: number; // what the answer has that cannot be read
}

const bytesOf = (d: StoredDay) => {
  const bytes = Number(d.bytes);
  return bytes >= 0 ? bytes : NaN;
};
const sum = (values: Iterable<number>) => [...values].reduce((all, v) => all + (Number.isNaN(v) ? 0 : v), 0);
const timeOfGoing = (d: StoredDay) => {
  const at = Date.parse(d.goes ?? '');
  return Number.isNaN(at) ? null : at;
};

function goingOf(days: StoredDay[]): Going[] {
  const by = new Map<number | null, string[]>();
  for (const d of days) by.set(timeOfGoing(d), [...(by.get(timeOfGoing(d)) ?? []), d.kind]);
  return [...by]
    .map(([at, kinds]) => ({ at, kinds }))
    .sort((a, b) => (a.at ?? Number.POSITIVE_INFINITY) - (b.at ?? Number.POSITIVE_INFINITY));
}

// null: nothing of it can be read.
export function tableOf({ days }: Stored): StoredTable | null {
  if (!Array.isArray(days)) return null;
  const good = days.filter((d) => typeof d?.day === 'string' && typeof d.kind === 'string');
  const kinds = [...KINDS, ...new Set(good.map((d): string => d.kind).filter((k) => !KINDS.includes(k)))];
  const order = (d: StoredDay) => kinds.indexOf(d.kind);
  const rows = [...new Set(good.map((d) => d.day))]
    .sort((a, b) => (a < b ? 1 : -1))
    .map((day): DayRow => {
      const mine = good.filter((d) => d.day === day).sort((a, b) => order(a) - order(b));
      const bytes = new Map(mine.map((d): [string, number] => [d.kind, bytesOf(d)]));
      return {
        ...{ day, bytes, total: sum(bytes.values()) },
        ...{ pinned: mine.some((d) => d.pinned), goes: goingOf(mine) },
      };
    });
  const totals = new Map(kinds.map((k) => [k, sum(rows.map((r) => r.bytes.get(k) ?? 0))]));
  const unread = days.length - good.length + good.filter((d) => Number.isNaN(bytesOf(d))).length;
  return { kinds, rows, totals, total: sum(totals.values()), unread };
}

// What goes next, of all days.
export function nextToGo({ rows }: StoredTable): { at: number; day: string; kinds: string[]; bytes: number } | null {
  let next: ReturnType<typeof nextToGo> = null;
  for (const { day, goes, bytes } of rows)
    for (const { at, kinds } of goes)
      if (at !== null && (next === null || at < next.at))
        next = { at, day, kinds, bytes: sum(kinds.map((k) => bytes.get(k) ?? 0)) };
  return next;
}
