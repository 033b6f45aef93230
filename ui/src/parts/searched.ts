// A search that looks at everything: what the page has is matched by the page at once; where something was folded or left
// out, the server is asked a moment after the last key. A new text ends the question before.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { getFlame, getJson, type Params, type TopAnswer } from '../core/api';
import type { FlameColumns, FlameFound } from '../core/flame';
import { join } from '../core/join';
import { patternOf } from '../core/pattern';
import { matching } from '../core/tree';
import { useQuery, type Query } from './query';

const QUIET_MS = 250;

// What the server says about the text that is searched for now.
export interface Searched { found?: FlameFound; query: Query<unknown> }

// The pattern as the server reads it, once it stays the same for a moment; "" = nothing.
function useSettled(source: string): string {
  const [settled, set] = useState(source);
  useEffect(() => {
    const id = setTimeout(() => set(source), source === '' ? 0 : QUIET_MS);
    return () => clearTimeout(id);
  }, [source]);
  return source === '' ? '' : settled;
}

// The flame graph to draw, and what is found in all of it. `columns` is the answer without a search.
// `load`: another way to ask for it, with a pattern.
export function useSearchedFlame(columns: FlameColumns | undefined, path: string, params: Params, text: string, load = (p: Params, s: AbortSignal) => getFlame(path, p, s)): { columns?: FlameColumns; searched?: Searched } {
  const pattern = useMemo(() => patternOf(text), [text]);
  const source = pattern?.source ?? '';
  const settled = useSettled(source);
  const folded = useMemo(() => columns !== undefined && columns.hidden.some((n) => n > 0), [columns]);
  const total = columns?.meta.total;
  const query = useQuery(folded && settled !== '' ? JSON.stringify(['search', path, params, settled, total]) : null,
    async (s) => ({ source: settled, total, columns: await load({ ...params, search: settled }, s) }));
  const drawn = useMemo(() => {
    if (!pattern || !columns || !folded) return 0;
    const hit = matching(columns, pattern);
    return columns.func.reduce((n, f) => n + (hit[f] ? 1 : 0), 0);
  }, [columns, pattern, folded]);
  const answer = query.data?.total === total ? query.data : undefined;
  const found = answer?.source === source ? answer!.columns.meta.search : undefined;
  const needed = columns && folded && source !== '' && answer && !(found && found.nodes <= drawn) ? answer.columns : undefined;
  // Laid over what is there, so that nothing that was zoomed to or opened goes; unless the data moved on in between. Until
  // there is a new answer the one before stays; what has every match already stays as well.
  const both = useMemo(() => needed && (needed.meta.total === total ? { ...join(columns!, 0, needed), meta: { ...columns!.meta, search: needed.meta.search } } : needed), [columns, needed]);
  return folded && source !== '' ? { columns: both ?? columns, searched: { found, query } } : { columns };
}

// The rows of the table that match, where not all were sent.
export function useSearchedTop(top: TopAnswer | undefined, params: Params, text: string): { top?: TopAnswer; query: Query<unknown> } {
  const source = useMemo(() => patternOf(text)?.source ?? '', [text]);
  const settled = useSettled(source);
  const cut = top !== undefined && top.rows.length < top.functions;
  const query = useQuery(cut && settled !== '' ? JSON.stringify(['search top', params, settled, top.total]) : null,
    async (s) => ({ source: settled, top: await getJson<TopAnswer>('top', { ...params, search: settled }, s) }));
  return { top: source !== '' && query.data?.source === source ? query.data.top : undefined, query };
}

// An answer over time, with how much of it matches: the same question once more, with the text. What was asked without it is
// drawn until then, and stays when there is no answer.
export function useSearchedTimes<T>(path: string, params: Params, lens: string, text: string, tick: number): { data?: T; query: Query<unknown> } {
  const source = useMemo(() => patternOf(text)?.source ?? '', [text]);
  const settled = useSettled(source);
  const of = JSON.stringify([path, params, lens]);
  const query = useQuery(settled !== '' ? JSON.stringify(['search over time', of, settled, tick]) : null,
    async (s) => ({ source: settled, of, answer: await getJson<T>(path, { ...params, lens, search: settled }, s) }));
  return { data: source !== '' && query.data?.source === source && query.data.of === of ? query.data.answer : undefined, query };
}
