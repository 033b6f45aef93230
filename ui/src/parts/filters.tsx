// Label filters: the text inside the selector's braces, with names and values to choose from.
import { useEffect, useState } from 'preact/hooks';
import { getNames } from '../core/api';
import { filterExample } from '../core/entered';
import { isCut, OFFERED } from '../core/many';
import { Choice } from './choice';
import { useQuery } from './query';
import { useUnused } from './shell';

export interface FilterProps {
  q: string;
  service: string;
  selector: string;
  time: Record<string, string>;
  by: string;
  onQ: (q: string) => void;
  onBy: (by: string) => void;
}

const quoted = (v: string) => '"' + v.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n') + '"';

export function Filters(p: FilterProps) {
  const [text, setText] = useState(p.q);
  const [label, setLabel] = useState('');
  useEffect(() => setText(p.q), [p.q]);
  const { names, labels, values } = useLabels(p, label);
  const add = (value: string) => {
    setLabel('');
    p.onQ([text.trim().replace(/,\s*$/, ''), `${label}=${quoted(value)}`].filter(Boolean).join(', '));
  };
  return (
    <form
      class="filters"
      onSubmit={(e) => {
        e.preventDefault();
        p.onQ(text.trim());
      }}
    >
      <label>
        Filter{' '}
        <span class="braces">
          {'{'}
          <input
            size={34}
            value={text}
            placeholder={filterExample(names)}
            spellcheck={false}
            onInput={(e) => setText(e.currentTarget.value)}
          />
          {'}'}
        </span>
      </label>
      {text.trim() !== p.q && <button type="submit">Apply</button>}
      {p.q !== '' && (
        <button type="button" onClick={() => p.onQ('')}>
          Clear
        </button>
      )}
      {names.length > 0 && <Choice label="Add" none="label…" value={label} {...labels} onChoose={setLabel} />}
      {label && (
        <Choice label="is" none={values.list.loading ? 'loading…' : 'value…'} value="" {...values} onChoose={add} />
      )}
      {names.length > 0 && <Choice label="Split by" none="nothing" value={p.by} {...labels} onChoose={p.onBy} />}
    </form>
  );
}

// The labels of the service, and the values of the chosen one, for Choice. Reports a label to split by that is not
// there.
function useLabels({ selector, time, by }: FilterProps, label: string) {
  const asked = { query: selector, ...time };
  const findLabels = (search: string, limit: string, s: AbortSignal) =>
    getNames('labels', { ...asked, search, limit }, s);
  const findValues = (search: string, limit: string, s: AbortSignal) =>
    getNames('labels/{name}/values', { ...asked, name: label, search, limit }, s);
  const [ofLabels, ofValues] = [JSON.stringify(['labels', asked]), JSON.stringify(['values', label, asked])];
  const labels = useQuery(ofLabels, (s) => findLabels('', String(OFFERED), s));
  const values = useQuery(label ? ofValues : null, (s) => findValues('', String(OFFERED), s));
  const names = (labels.data?.names ?? []).filter((n) => n !== 'service_name' && n !== 'service.name');
  const known =
    labels.loading ||
    names.length === 0 ||
    by === '' ||
    isCut(labels.data) ||
    labels.data!.names.some((n) => same(n) === same(by));
  useUnused(
    known
      ? ''
      : `“by” in this page's address, ${by.slice(0, 40)}, is not a label of this service in this time range. ` +
          'The timeline is not split.',
  );
  const data = labels.data && { names, total: labels.data.total - labels.data.names.length + names.length };
  return {
    names,
    labels: { list: { ...labels, data }, of: ofLabels, find: findLabels },
    values: { list: values, of: ofValues, find: findValues },
  };
}

// The server treats a dot and an underscore alike.
const same = (name: string) => name.replace(/\W/g, '_');
