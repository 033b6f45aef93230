// The two sides of a difference in a few words: what they share is left out, never what they differ in. Pure.
import { formatTime } from './format';
import { serviceIn, valueIn } from './presets';
import type { DiffState } from './state';

const MOST = 60;

// "orders v1", "checkout{host="h0"}", with the time where it is fixed.
export function sidesInWords(s: DiffState): [string, string] {
  const before = nameOf(s.baseQuery || s.query);
  const after = nameOf(s.query);
  const time = (from: number | null, to: number | null) =>
    from === null || to === null
      ? ''
      : ` ${formatTime(from, true).slice(11, 16)}–${formatTime(to, true).slice(11, 16)}Z`;
  const own = s.baseFrom !== null;
  const same = before === after;
  return [
    cutFrom(before, after) + (own ? time(s.baseFrom, s.baseTo) : same ? ', before' : ''),
    cutFrom(after, before) + time(s.from, s.to),
  ];
}

function nameOf(query: string): string {
  const one = serviceIn(query);
  if (!one) return query;
  const version = valueIn(one.q, 'service.version');
  if (one.q === '') return one.service;
  return version !== '' && !one.q.includes(',') ? `${one.service} ${version}` : `${one.service}{${one.q}}`;
}

// Cut in the middle of what both begin with, if it is too long.
function cutFrom(text: string, other: string): string {
  if (text.length <= MOST) return text;
  let same = 0;
  while (same < text.length && text[same] === other[same]) same++;
  const from = Math.max(0, Math.min(same - 8, text.length - MOST));
  return (from > 0 ? '…' : '') + text.slice(from, from + MOST) + (from + MOST < text.length ? '…' : '');
}
