// Label filters: the text inside the selector's braces, with the names and values there are to choose from.
import { useEffect, useState } from 'preact/hooks';
import { getJson } from '../core/api';
import { filterExample } from '../core/entered';
import { useQuery } from './query';
import { useUnused } from './shell';

export interface FilterProps { q: string; service: string; selector: string; time: Record<string, string>; by: string; onQ: (q: string) => void; onBy: (by: string) => void }

const quoted = (v: string) => '"' + v.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n') + '"';

export function Filters(p: FilterProps) {
  const [text, setText] = useState(p.q);
  const [label, setLabel] = useState('');
  useEffect(() => setText(p.q), [p.q]);
  const asked = { query: p.selector, ...p.time };
  const labels = useQuery(JSON.stringify(['labels', asked]), (s) => getJson<{ labels: string[] }>('labels', asked, s));
  const values = useQuery(label ? JSON.stringify(['values', label, asked]) : null, (s) => getJson<{ values: string[] }>(`labels/${encodeURIComponent(label)}/values`, asked, s));
  const names = (labels.data?.labels ?? []).filter((n) => n !== 'service_name' && n !== 'service.name');
  // As the server reads them: a dot is an underscore.
  const same = (name: string) => name.replace(/\W/g, '_');
  const known = labels.loading || names.length === 0 || p.by === '' || labels.data!.labels.some((n) => same(n) === same(p.by));
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
      {names.length > 0 && (
        <label>Add <select value={label} onChange={(e) => setLabel(e.currentTarget.value)}>
          <option value="">label…</option>{names.map((n) => <option key={n} value={n}>{n}</option>)}
        </select></label>
      )}
      {label && (
        <label>is <select value="" onChange={(e) => add(e.currentTarget.value)}>
          <option value="">{values.loading ? 'loading…' : 'value…'}</option>{values.data?.values.map((v) => <option key={v} value={v}>{v}</option>)}
        </select></label>
      )}
      {names.length > 0 && (
        <label>Split by <select value={p.by} onChange={(e) => p.onBy(e.currentTarget.value)}>
          <option value="">nothing</option>{names.map((n) => <option key={n} value={n}>{n}</option>)}
        </select></label>
      )}
    </form>
  );
}
