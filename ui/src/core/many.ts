// Lists that may be too long to show: how many entries there are, and how to find the others. Pure.
import { formatCount } from './format';

export interface Listed {
  names: string[];
  total: number;
}

// How many names to offer at once; beyond that the server searches by part of the name.
export const OFFERED = 200;

export const isCut = (list: Listed | undefined): boolean => list !== undefined && list.total > list.names.length;

// A note about the entries not shown; "" if there are none.
export function moreText(total: number, shown: number, how: string): string {
  return total > shown ? `${formatCount(total - shown)} more: ${how}` : '';
}

// The chosen name is always among the choices.
export const withChosen = (names: string[], chosen: string): string[] =>
  chosen === '' || names.includes(chosen) ? names : [chosen, ...names];
