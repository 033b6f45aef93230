// The search field of every view, its result, and the key that focuses it.
import type { RefObject } from 'preact';
import { go, url } from '../core/location';
import { escaped, searchedAs, shownSearch } from '../core/search_text';
import { formatCount, formatMany, formatShare } from '../core/format';
import { patternOf } from '../core/pattern';
import { search, type Tree } from '../core/tree';
import type { Searched } from './searched';

const hasAddress = location.protocol !== 'file:'; // a saved file has no address to keep settings in

export interface SearchBoxProps {
  query: string;
  onQuery: (text: string, typed: boolean) => void;
  onStep?: (by: 1 | -1) => void;
  input?: RefObject<HTMLInputElement>;
}

export function SearchBox({ query, onQuery, onStep, input }: SearchBoxProps) {
  const wanted = url.value.searchParams.get('plain') === '1';
  const { text, plain } = shownSearch(query, wanted);
  return (
    <span class="search">
      <label>
        Search{' '}
        <input
          ref={input}
          type="search"
          value={text}
          placeholder={plain ? 'plain text' : 'regular expression'}
          onInput={(e) => onQuery(plain ? escaped(e.currentTarget.value) : e.currentTarget.value, true)}
          onKeyDown={(e) => {
            if (e.key === 'Enter' && onStep) {
              e.preventDefault();
              onStep(e.shiftKey ? -1 : 1);
            }
            if (e.key === 'Escape') onQuery('', true);
          }}
        />
      </label>
      {hasAddress && (
        <button
          type="button"
          aria-pressed={!plain}
          title="Regular expression; off: plain text"
          onClick={() => go(searchedAs(url.value, !plain))}
        >
          .*<span class="hidden"> Regular expression</span>
        </button>
      )}
    </span>
  );
}

// What a search matches in a tree; null without a search. `problem`: why the pattern cannot be used.
export function searchFor(tree: Tree, text: string) {
  const wanted = patternOf(text);
  return wanted && { ...search(tree, wanted), problem: wanted.problem() };
}
export type Found = ReturnType<typeof searchFor>;

// Ctrl+F inside a graph, tree or table focuses its own search; elsewhere it is the browser's.
export function findKey(e: KeyboardEvent, input: HTMLInputElement | null | undefined): boolean {
  if (!(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey || e.key.toLowerCase() !== 'f' || !input) return false;
  e.preventDefault();
  input.focus();
  input.select();
  return true;
}

// How much matches. If frames are folded only the server knows; until it answers, the numbers cover what is drawn.
interface MatchedProps {
  tree: Tree;
  found: { first: number[]; value: number; problem: string } | null;
  searched?: Searched;
  frame?: number; // the selected one
}

function Figures({ tree, found, searched, frame = -1 }: MatchedProps) {
  const drawn = found!;
  const at = drawn.first.indexOf(frame);
  const place = at >= 0 && <>{`${formatCount(at + 1)} of ${formatCount(drawn.first.length)}`} · </>;
  const all = searched?.found;
  const frames = drawn.first.length;
  if (all)
    return (
      <>
        {place}
        {formatMany(all.nodes, 'frame')}, {formatShare(all.value, tree.total[0])}
        {all.nodes > frames && ` · ${formatCount(frames)} drawn`}
      </>
    );
  const query = searched?.query;
  return (
    <>
      {place}
      {formatMany(frames, 'frame')}, {formatShare(drawn.value, tree.total[0])}
      {query && ' of what is drawn'}
      {query?.error && !query.loading && <em class="bad"> · the rest: {query.error.message}</em>}
      {query?.slow && query.loading && (
        <>
          {' '}
          · <span class="spinner" aria-hidden="true" /> searching the rest…{' '}
          <button type="button" onClick={query.cancel}>
            Stop
          </button>
        </>
      )}
    </>
  );
}

export function Matched(p: MatchedProps) {
  const { found } = p;
  return (
    <span class="matched" role="status">
      {found && (
        <>
          {found.problem !== '' && <em class="bad">{found.problem} · </em>}
          <Figures {...p} />
        </>
      )}
    </span>
  );
}
