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

// Which of the rows of a long table are drawn: [first, end). `top`: how far its first row is above the window's edge.
export function windowOf(rows: number, height: number, top: number, seen: number, around: number): [number, number] {
  const first = Math.floor(top / height) - around;
  const end = Math.ceil((top + seen) / height) + around;
  return [Math.max(0, Math.min(first, rows - 1)), Math.max(0, Math.min(end, rows))];
}
