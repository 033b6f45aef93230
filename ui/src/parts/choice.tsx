// A choice among names. A short list is a select; a long one is a text field, for which the server finds names as the
// reader types, so that the page never holds more names than it shows.
import { useEffect, useId, useState } from 'preact/hooks';
import { isCut, moreText, withChosen, type Listed } from '../core/many';
import { safe } from '../draw/flame';
import { useQuery, type Query } from './query';

const SETTLED_MS = 200;
const SUGGESTED = 50;

// The value once it has not changed for a moment: one request per word, not per letter.
export function useSettled(value: string): string {
  const [settled, set] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => set(value), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

export interface ChoiceProps {
  label: string;
  value: string;
  none: string; // the label for no choice
  list: Query<Listed>; // the first names
  of: string; // identifies the list in requests
  find: (search: string, limit: string, signal: AbortSignal) => Promise<Listed>;
  onChoose: (value: string) => void;
}

export function Choice(p: ChoiceProps) {
  if (isCut(p.list.data)) return <LongChoice {...p} />;
  return (
    <label>
      {p.label}{' '}
      <select value={p.value} onChange={(e) => p.onChoose(e.currentTarget.value)}>
        <option value="">{p.none}</option>
        {withChosen(p.list.data?.names ?? [], p.value).map((n) => (
          <option key={n} value={n}>
            {safe(n).slice(0, 80)}
          </option>
        ))}
      </select>
    </label>
  );
}

function LongChoice(p: ChoiceProps) {
  const [text, setText] = useState(p.value);
  useEffect(() => setText(p.value), [p.value]);
  const search = useSettled(text.trim());
  const asked = search !== '' && search !== p.value;
  const found = useQuery(asked ? JSON.stringify([p.of, search]) : null, (s) => p.find(search, String(SUGGESTED), s));
  const list = (asked ? found.data : undefined) ?? p.list.data!;
  const names = list.names.slice(0, SUGGESTED);
  const id = useId();
  // Leaving the field does not take half a name; Enter or a choice does.
  const choose = (typed: string, said: boolean) => {
    const name = typed.trim();
    if (name !== p.value && (said || name === '' || names.includes(name))) p.onChoose(name);
  };
  return (
    <span class="choice">
      <label>
        {p.label}{' '}
        <input
          type="search"
          list={id}
          value={text}
          placeholder={p.none}
          spellcheck={false}
          autocomplete="off"
          aria-describedby={id + 'more'}
          onInput={(e) => setText(e.currentTarget.value)}
          onChange={(e) => choose(e.currentTarget.value, false)}
          onKeyDown={(e) => {
            if (e.key === 'Enter') {
              e.preventDefault();
              choose(e.currentTarget.value, true);
            }
          }}
        />
        <datalist id={id}>
          {names.map((n) => (
            <option key={n} value={n} />
          ))}
        </datalist>
      </label>
      <small id={id + 'more'} role="status">
        {asked && found.data?.total === 0
          ? 'none has that in its name'
          : moreText(list.total, names.length, 'type a part')}
      </small>
    </span>
  );
}
