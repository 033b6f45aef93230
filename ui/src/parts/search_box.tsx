// The search as every view has it: the field, what it finds, and the key that leads to it.
import type { RefObject } from 'preact';
import { go, url } from '../core/location';
import { escaped, searchedAs, shownSearch } from '../core/search_text';
import { formatCount, formatMany, formatShare } from '../core/format';
import { patternOf } from '../core/pattern';
import { search, type Tree } from '../core/tree';
import type { Searched } from './searched';

const hasAddress = location.protocol !== 'file:';  // a saved graph has none to keep it in

export interface SearchBoxProps { query: string; onQuery: (text: string, typed: boolean) => void; onStep?: (by: 1 | -1) => void; input?: RefObject<HTMLInputElement> }

export function SearchBox({ query, onQuery, onStep, input }: SearchBoxProps) {
  const wanted = url.value.searchParams.get('plain') === '1';
  const { text, plain } = shownSearch(query, wanted);
  return (
    <span class="search">
      <label>Search <input ref={input} type="search" value={text} placeholder={plain ? 'plain text' : 'regular expression'} onInput={(e) => onQuery(plain ? escaped(e.currentTarget.value) : e.currentTarget.value, true)} onKeyDown={(e) => {
        if (e.key === 'Enter' && onStep) { e.preventDefault(); onStep(e.shiftKey ? -1 : 1); }
        if (e.key === 'Escape') onQuery('', true);
      }} /></label>
      {hasAddress && <button type="button" aria-pressed={!plain} title="Regular expression; off: plain text" onClick={() => go(searchedAs(url.value, !plain))}>.*<span class="hidden"> Regular expression</span></button>}
    </span>
  );
}

// What a text somebody typed matches of a tree; null for none. `problem`: what to say about it.
export function searchFor(tree: Tree, text: string) {
  const wanted = patternOf(text);
  return wanted && { ...search(tree, wanted), problem: wanted.problem() };
}

// Ctrl+F inside a graph, tree or table is its own search; everywhere else it is the browser's.
export function findKey(e: KeyboardEvent, input: HTMLInputElement | null | undefined): boolean {
  if (!(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey || e.key.toLowerCase() !== 'f' || !input) return false;
  e.preventDefault();
  input.focus();
  input.select();
  return true;
}

// How much matches. Where something is folded only the server knows; until it answers the figures are those of what is drawn.
function Figures({ tree, drawn, searched }: { tree: Tree; drawn: { first: number[]; value: number }; searched?: Searched }) {
  const all = searched?.found;
  const frames = drawn.first.length;
  if (all) return <>{formatMany(all.nodes, 'frame')}, {formatShare(all.value, tree.total[0])}{all.nodes > frames && ` · ${formatCount(frames)} drawn`}</>;
  const query = searched?.query;
  return (
    <>{formatMany(frames, 'frame')}, {formatShare(drawn.value, tree.total[0])}
      {query && ' of what is drawn'}
      {query?.error && !query.loading && <em class="bad"> · the rest: {query.error.message}</em>}
      {query?.slow && query.loading && <> · <span class="spinner" aria-hidden="true" /> searching the rest… <button type="button" onClick={query.cancel}>Stop</button></>}</>
  );
}

export function Matched({ tree, found, searched }: { tree: Tree; found: { first: number[]; value: number; problem: string } | null; searched?: Searched }) {
  return <span class="matched" role="status">{found && <>{found.problem !== '' && <em class="bad">{found.problem} · </em>}<Figures tree={tree} drawn={found} searched={searched} /></>}</span>;
}
