// Keys of a time axis: W and S zoom, A and D move, F shows everything, R selects what is visible. Pure.
export type Span = [number, number];
export type TimeMove = { view: Span } | { range: Span };

export const TIME_KEYS: [string, string][] = [
  ['W, S', 'zoom in, out'],
  ['A, D', 'earlier, later'],
  ['F', 'all of it'],
  ['R', "what is in view becomes the range; in a waterfall: of the span's service"],
];

const ZOOM = 0.6;
const STEP = 0.25; // of the visible range

// `least`: the smallest visible range. Null if the key is not one of these.
export function timeMove(key: string, view: Span, whole: Span, least: number): TimeMove | null {
  const width = view[1] - view[0];
  const middle = (view[0] + view[1]) / 2;
  const wide = (w: number) => {
    const now = Math.min(Math.max(w, Math.min(least, whole[1] - whole[0])), whole[1] - whole[0]);
    return moved([middle - now / 2, middle + now / 2], 0, whole);
  };
  switch (key.toLowerCase()) {
    case 'w':
      return { view: wide(width * ZOOM) };
    case 's':
      return { view: wide(width / ZOOM) };
    case 'a':
      return { view: moved(view, -width * STEP, whole) };
    case 'd':
      return { view: moved(view, width * STEP, whole) };
    case 'f':
      return { view: whole };
    case 'r':
      return { range: view };
    default:
      return null;
  }
}

// The step that an arrow, Home or End leads to, from `first` to `last`; without a current step an arrow starts at an
// end. Null if the key is not one of these or there is no step.
export function stepAfter(key: string, at: number | null, first: number, last: number): number | null {
  const to = {
    ArrowLeft: at === null ? last : at - 1,
    ArrowRight: at === null ? first : at + 1,
    Home: first,
    End: last,
  }[key];
  return to === undefined || last < first ? null : Math.max(first, Math.min(to, last));
}

// The visible part of a range that has moved on: the same times while they are inside it. Null: all of it.
export const seenIn = (view: Span | null, whole: Span): Span => (view ? moved(view, 0, whole) : whole);

// Moved into the whole, with the same width.
function moved([from, to]: Span, by: number, whole: Span): Span {
  const at = Math.max(whole[0], Math.min(from + by, whole[1] - (to - from)));
  return [at, Math.min(at + to - from, whole[1])];
}
