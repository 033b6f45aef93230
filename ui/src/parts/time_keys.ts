// The part of a time axis that is in view, moved by the keys of core/time_keys.ts while the axis has the focus. What was in
// view goes when the axis is of another time.
import { useState } from 'preact/hooks';
import { plain } from '../core/keys';
import { timeMove, type Span } from '../core/time_keys';
import { announce } from './shell';

export interface TimeView { view: Span; zoomed: boolean; onTimeKey: (e: KeyboardEvent) => boolean }

// `text`: what is in view, in words.
export function useTimeKeys(whole: Span, least: number, text: (view: Span) => string, onRange: (range: Span) => void): TimeView {
  const key = whole.join();
  const [seen, setSeen] = useState({ key, view: whole });
  const view = seen.key === key ? seen.view : whole;
  const onTimeKey = (e: KeyboardEvent) => {
    const move = plain(e) ? timeMove(e.key, view, whole, least) : null;
    if (!move) return false;
    e.preventDefault();
    if ('range' in move) { onRange(move.range); return true; }
    setSeen({ key, view: move.view });
    announce(text(move.view));
    return true;
  };
  return { view, zoomed: view[0] > whole[0] || view[1] < whole[1], onTimeKey };
}
