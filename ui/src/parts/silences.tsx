// Silences: those there are, with a button to end each, and the form that makes one.
import { useState } from 'preact/hooks';
import { matchersText, readMatchers } from '../core/alerts';
import type { Silence } from '../core/answers';
import { send } from '../core/api';
import { safe } from '../draw/flame';
import { Ago } from './ago';
import { useSending } from './sending';
import { TableBox } from './table_box';

const LENGTHS: [string, string][] = [
  ['30m', '30 minutes'],
  ['2h', '2 hours'],
  ['8h', '8 hours'],
  ['1d', 'a day'],
  ['7d', '7 days'],
];
const LENGTH = '2h';

interface SilenceFormProps {
  matchers: string; // what the field begins with
  onDone: () => void; // it was made
  onCancel: () => void;
}

export function SilenceForm({ matchers, onDone, onCancel }: SilenceFormProps) {
  const [text, setText] = useState(matchers);
  const [length, setLength] = useState(LENGTH);
  const [comment, setComment] = useState('');
  const [by, setBy] = useState('');
  const { busy, problem, act } = useSending();
  const read = readMatchers(text);
  const wrong = typeof read === 'string' ? read : '';
  const make = async () => {
    const silence = { matchers: read, endsAt: `now+${length}`, comment: comment.trim(), createdBy: by.trim() };
    if (await act(() => send('POST', 'silences', {}, JSON.stringify(silence)), 'Silenced.')) onDone();
  };
  return (
    <form
      class="filters fields silence-form"
      aria-label="Silence alerts"
      onSubmit={(e) => {
        e.preventDefault();
        if (!wrong) void make();
      }}
    >
      <label class="wide">
        Alerts with{' '}
        <input
          value={text}
          spellcheck={false}
          placeholder='alertname=HotParser, service=~"cart|shop"'
          aria-invalid={wrong !== ''}
          aria-describedby={wrong ? 'silence-wrong' : undefined}
          onInput={(e) => setText(e.currentTarget.value)}
        />
      </label>
      <label>
        For{' '}
        <select value={length} onChange={(e) => setLength(e.currentTarget.value)}>
          {LENGTHS.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        Why <input value={comment} maxLength={500} onInput={(e) => setComment(e.currentTarget.value)} />
      </label>
      <label>
        By <input value={by} maxLength={100} onInput={(e) => setBy(e.currentTarget.value)} />
      </label>
      <button type="submit" disabled={busy || wrong !== ''}>
        Silence
      </button>
      <button type="button" onClick={onCancel}>
        Cancel
      </button>
      <span role="status">
        {(wrong || problem) && (
          <em class="bad" id="silence-wrong">
            {wrong || problem}
          </em>
        )}
      </span>
    </form>
  );
}

export function Silences({ silences, onChange }: { silences: Silence[]; onChange: () => void }) {
  const { busy, problem, act } = useSending();
  const end = async (s: Silence) => {
    await act(() => send('DELETE', 'silences/{silence}', { silence: s.id }), 'The silence has ended.');
    onChange();
  };
  return (
    <>
      {problem && (
        <p class="note error" role="alert">
          Not ended: {problem}
        </p>
      )}
      <TableBox label="Silences">
        <table class="silences">
          <caption class="hidden">Silences</caption>
          <thead>
            <tr>
              <th scope="col">Alerts with</th>
              <th scope="col">State</th>
              <th scope="col">Until</th>
              <th scope="col">Why</th>
              <th scope="col">By</th>
              <th scope="col">
                <span class="hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {silences.map((s) => (
              <tr key={s.id} data-silence={s.id}>
                <th scope="row">
                  <code>{safe(matchersText(s.matchers))}</code>
                </th>
                <td>{s.status.state}</td>
                <td>
                  <Ago at={Date.parse(s.endsAt)} />
                </td>
                <td>{safe(s.comment) || '–'}</td>
                <td>{safe(s.createdBy) || '–'}</td>
                <td>
                  {s.status.state !== 'expired' && (
                    <button
                      type="button"
                      disabled={busy}
                      aria-label={`End the silence of ${matchersText(s.matchers)}`}
                      onClick={() => void end(s)}
                    >
                      End
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableBox>
    </>
  );
}
