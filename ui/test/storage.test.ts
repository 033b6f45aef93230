import { expect, test } from 'vitest';
import type { Storage as Stored, StoredDay } from '../src/core/answers';
import { nextToGo, tableOf } from '../src/core/storage';

const row = (kind: StoredDay['kind'], day: string, bytes: number | string, more: Partial<StoredDay> = {}) => ({
  ...{ kind, day, bytes, rows: 1, pinned: false },
  ...more,
});

test('what is stored: a row for each day, newest first, with what goes at the same time', () => {
  const soon = '2026-11-18T00:00:00.000Z';
  const later = '2026-12-16T00:00:00.000Z';
  const table = tableOf({
    days: [
      row('spans', '2026-11-14', 10, { goes: soon }),
      row('samples', '2026-11-14', '9007199254740993', { goes: later }),
      row('links', '2026-11-14', 20, { goes: later }),
      row('hours', '2026-11-14', 5),
      row('samples', '2026-11-15', 7, { pinned: true }),
      row('samples', '2026-09', 1, { goes: '2026-11-20T00:00:00.000Z' }),
    ],
  })!;
  expect(table.rows.map((r) => r.day)).toEqual(['2026-11-15', '2026-11-14', '2026-09']);
  expect(table.rows[1].goes).toEqual([
    { at: Date.parse(soon), kinds: ['spans'] },
    { at: Date.parse(later), kinds: ['links', 'samples'] },
    { at: null, kinds: ['hours'] },
  ]);
  expect(table.rows[0].pinned).toBe(true);
  expect([table.totals.get('spans'), table.totals.get('hours'), table.unread]).toEqual([10, 5, 0]);
  expect(nextToGo(table)).toEqual({ at: Date.parse(soon), day: '2026-11-14', kinds: ['spans'], bytes: 10 });
  expect(table.kinds).toEqual(['spans', 'links', 'samples', 'hours', 'profiles and names']);
});

test('an answer of another version or damaged: unknown kinds get a column, what cannot be read is counted', () => {
  expect(tableOf({} as Stored)).toBeNull();
  const odd = [null, { day: 3 }, row('traces' as 'spans', '2026-11-14', 4), row('spans', '2026-11-14', 'many')];
  const table = tableOf({ days: odd as StoredDay[] })!;
  expect(table.kinds.at(-1)).toBe('traces');
  expect(table.unread).toBe(3);
  expect(table.total).toBe(4);
  expect(table.rows[0].bytes.get('spans')).toBeNaN();
  const empty = tableOf({ days: [] })!;
  expect([empty.rows, empty.total, nextToGo(empty)]).toEqual([[], 0, null]);
});
