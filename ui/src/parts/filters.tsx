// Label filters: the text inside the selector's braces, with the names and values there are to choose from.
import { useEffect, useState } from 'preact/hooks';
import { getNames } from '../core/api';
import { filterExample } from '../core/entered';
import { isCut, OFFERED } from '../core/many';
import { Choice } from './choice';
import { useQuery } from './query';
import { useUnused } from './shell';

export interface FilterProps { q: string; service: string; selector: string; time: Record<string, string>; by: string; onQ: (q: string) => void; onBy: (by: string) => void }

const quoted = (v: string) => '"' + v.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n') + '"';

export function Filters(p: FilterProps) {
  const [text, setText] = useState(p.q);
  const [label, setLabel] = useState('');
  useEffect(() => setText(p.q), [p.q]);
  const asked = { query: p.selector, ...p.time };
  const find = (path: string) => (search: string, limit: string, s: AbortSignal) => getNames(path, { ...asked, search, limit }, s);
  const of = `labels/${encodeURIComponent(label)}/values`;
  const labels = useQuery(JSON.stringify(['labels', asked]), (s) => find('labels')('', String(OFFERED), s));
  const values = useQuery(label ? JSON.stringify(['values', label, asked]) : null, (s) => find(of)('', String(OFFERED), s));
  const names = (labels.data?.names ?? []).filter((n) => n !== 'service_name' && n !== 'service.name');
  const choices = { ...labels, data: labels.data && { names, total: labels.data.total - labels.data.names.length + names.length } };
  // As the server reads them: a dot is an underscore.
  const same = (name: string) => name.replace(/\W/g, '_');
  const known = labels.loading || names.length === 0 || p.by === '' || isCut(labels.data) || labels.data!.names.some((n) => same(n) === same(p.by));
  useUnused(known ? '' : `“by” in this page's address, ${p.by.slice(0, 40)}, is no label of this service at this time. The timeline is not split.`);
  const add = (value: string) => {
    setLabel('');
    p.onQ([text.trim().replace(/,\s*$/, ''), `${label}=${quoted(value)}`].filter(Boolean).join(', '));
  };
  return (
    <form class="filters" onSubmit={(e) => { e.preventDefault(); p.onQ(text.trim()); }}>
      <label>Filter <span class="braces">{'{'}<input size={34} value={text} placeholder={filterExample(names)} spellcheck={false} onInput={(e) => setText(e.currentTarget.value)} />{'}'}</span></label>
      {text.trim() !== p.q && <button type="submit">Apply</button>}
      {p.q !== '' && <button type="button" onClick={() => p.onQ('')}>Clear</button>}
      {names.length > 0 && <Choice label="Add" none="label…" value={label} list={choices} of={JSON.stringify(['labels', asked])} find={find('labels')} onChoose={setLabel} />}
      {label && <Choice label="is" none={values.loading ? 'loading…' : 'value…'} value="" list={values} of={JSON.stringify(['values', label, asked])} find={find(of)} onChoose={add} />}
      {names.length > 0 && <Choice label="Split by" none="nothing" value={p.by} list={choices} of={JSON.stringify(['labels', asked])} find={find('labels')} onChoose={p.onBy} />}
    </form>
  );
}
