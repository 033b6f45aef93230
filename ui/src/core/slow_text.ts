// Rows of "slow versus typical" in words. Pure.
import { PART_NAMES } from './accounting';
import type { SlowRow } from './answers';
import { formatValue } from './format';
import { shortName } from './names';

export const signed = (v: number) =>
  `${v > 0 ? '+' : v < 0 ? '−' : ''}${formatValue(Math.abs(Math.round(v)), 'nanoseconds')}`;

// "on CPU, Inventory::Reprice", "child checkout Reserve", "lock"
export function rowName(row: SlowRow): string {
  if (row.part === 'children' && row.name) return `child ${row.service ?? ''} ${row.name}`.replace('  ', ' ');
  return row.function ? `${PART_NAMES[row.part]}: ${shortName(row.function)}` : PART_NAMES[row.part];
}
