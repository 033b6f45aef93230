// The visible part of a time axis, moved by the keys of core/time_keys.ts while the axis has the focus. In live mode
// the visible part stays while the axis moves on; another time range resets it.
import { useState } from 'preact/hooks';
import { plain } from '../core/keys';
import { seenIn, timeMove, type Span } from '../core/time_keys';
import { announce } from './shell';

export interface TimeView {
  view: Span;
  zoomed: boolean;
  onTimeKey: (e: KeyboardEvent) => boolean;
}

// `of`: the time range that was asked for. `text`: formats the visible part.
export function useTimeKeys(
  of: string,
  whole: Span,
  least: number,
  text: (view: Span) => string,
  onRange: (range: Span) => void,
): TimeView {
  const [seen, setSeen] = useState<{ of: string; view: Span | null }>({ of, view: null });
  const view = seenIn(seen.of === of ? seen.view : null, whole);
  const onTimeKey = (e: KeyboardEvent) => {
    const move = plain(e) ? timeMove(e.key, view, whole, least) : null;
    if (!move) return false;
    e.preventDefault();
    if ('range' in move) {
      onRange(move.range);
      return true;
    }
    setSeen({ of, view: move.view[0] > whole[0] || move.view[1] < whole[1] ? move.view : null });
    announce(text(move.view));
    return true;
  };
  return { view, zoomed: view[0] > whole[0] || view[1] < whole[1], onTimeKey };
}
