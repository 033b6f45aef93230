// Lists that may be longer than anybody reads: how many there are, and what to do to see the others. Pure.
import { formatCount } from './format';

export interface Listed { names: string[]; total: number }

// So many are offered at once; of more the server is asked for a part of the name.
export const OFFERED = 200;

export const isCut = (list: Listed | undefined): boolean => list !== undefined && list.total > list.names.length;

// What lies beyond those that are shown; "" when nothing does.
export function moreText(total: number, shown: number, how: string): string {
  return total > shown ? `${formatCount(total - shown)} more: ${how}` : '';
}

// What is chosen is always among what can be chosen.
export const withChosen = (names: string[], chosen: string): string[] => (chosen === '' || names.includes(chosen) ? names : [chosen, ...names]);
