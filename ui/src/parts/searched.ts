// A search over everything. The page matches what it has at once; if something was folded or left out, it asks the
// server shortly after the last key. A new text cancels the earlier request.
import type { Answers, Top } from '../core/answers';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { getFlame, getJson, type Params } from '../core/api';
import type { FlameColumns, FlameFound } from '../core/flame';
import { join } from '../core/join';
import { patternOf } from '../core/pattern';
import { matching } from '../core/tree';
import { useQuery, type Query } from './query';

const QUIET_MS = 250;

// The server's answer for the current search.
export interface Searched {
  found?: FlameFound;
  query: Query<unknown>;
}

// The pattern as the server reads it, once it has not changed for a moment; "" without a search.
function useSettled(source: string): string {
  const [settled, set] = useState(source);
  useEffect(() => {
    const id = setTimeout(() => set(source), source === '' ? 0 : QUIET_MS);
    return () => clearTimeout(id);
  }, [source]);
  return source === '' ? '' : settled;
}

// The flame graph to draw and what was found in all of it. `columns`: the answer without a search. `load`: how to ask
// with a search, if not by GET.
export function useSearchedFlame(
  columns: FlameColumns | undefined,
  path: string,
  params: Params,
  text: string,
  load = (p: Params, s: AbortSignal) => getFlame(path, p, s),
): { columns?: FlameColumns; searched?: Searched } {
  const pattern = useMemo(() => patternOf(text), [text]);
  const source = pattern?.source ?? '';
  const settled = useSettled(source);
  const folded = useMemo(() => columns?.hidden.some((n) => n > 0), [columns]);
  const total = columns?.meta.total;
  const query = useQuery(
    folded && settled !== '' ? JSON.stringify(['search', path, params, settled, total]) : null,
    async (s) => ({ source: settled, total, columns: await load({ ...params, search: settled }, s) }),
  );
  const drawn = useMemo(() => {
    if (!pattern || !columns || !folded) return 0;
    const hit = matching(columns, pattern);
    return columns.func.reduce((n, f) => n + (hit[f] ? 1 : 0), 0);
  }, [columns, pattern, folded]);
  const answer = query.data?.total === total ? query.data : undefined;
  const found = answer?.source === source ? answer!.columns.meta.search : undefined;
  const needed =
    columns && folded && source !== '' && answer && !(found && found.nodes <= drawn) ? answer.columns : undefined;
  // Join the found frames into the current tree, so that zoom and opened folds stay, unless the data has changed in
  // between. The previous result stays until the new one arrives.
  const both = useMemo(
    () =>
      needed &&
      (needed.meta.total === total
        ? { ...join(columns!, 0, needed), meta: { ...columns!.meta, search: needed.meta.search } }
        : needed),
    [columns, needed],
  );
  return folded && source !== '' ? { columns: both ?? columns, searched: { found, query } } : { columns };
}

// The matching rows of the table, if not all rows were sent.
export function useSearchedTop(
  top: Top | undefined,
  params: Params,
  text: string,
): { top?: Top; query: Query<unknown> } {
  const source = useMemo(() => patternOf(text)?.source ?? '', [text]);
  const settled = useSettled(source);
  const cut = top !== undefined && top.rows.length < top.functions;
  const query = useQuery(
    cut && settled !== '' ? JSON.stringify(['search top', params, settled, top.total]) : null,
    async (s) => ({ source: settled, top: await getJson('top', { ...params, search: settled }, s) }),
  );
  return { top: source !== '' && query.data?.source === source ? query.data.top : undefined, query };
}

// An answer over time with how much of it matches: the same request again, with the search. The plain answer is drawn
// until this one arrives, and stays if it fails.
export function useSearchedTimes<P extends 'series' | 'heatmap'>(
  path: P,
  params: Params,
  lens: string,
  text: string,
  tick: number,
): { data?: Answers[P]; query: Query<unknown> } {
  const source = useMemo(() => patternOf(text)?.source ?? '', [text]);
  const settled = useSettled(source);
  const of = JSON.stringify([path, params, lens]);
  const query = useQuery(
    settled !== '' ? JSON.stringify(['search over time', of, settled, tick]) : null,
    async (s) => ({ source: settled, of, answer: await getJson(path, { ...params, lens, search: settled }, s) }),
  );
  return {
    data: source !== '' && query.data?.source === source && query.data.of === of ? query.data.answer : undefined,
    query,
  };
}
