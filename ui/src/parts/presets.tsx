// Frequent comparisons in one click. Each just fills in the two sides above.
import { useState } from 'preact/hooks';
import { now } from '../core/clock';
import { getJson, getNames } from '../core/api';
import { formatTime } from '../core/format';
import { OFFERED } from '../core/many';
import { dayBefore, justBefore, valueAgainst, withoutLabel } from '../core/presets';
import { zone } from '../core/settings';
import { timeOf, type DiffState } from '../core/state';
import { markersOf } from '../core/trend';
import { Choice } from './choice';
import { useQuery } from './query';

export function Presets({ state, set }: { state: DiffState; set: (change: Partial<DiffState>) => void }) {
  const [open, setOpen] = useState(false);
  const time = timeOf(state);
  // Versions of the whole selection, whichever versions the sides name now.
  const query = withoutLabel(state.query, 'service.version');
  const versions = useQuery(JSON.stringify(['preset versions', query, state.type, time]), (s) =>
    getJson('series', { query, type: state.type, ...time, by: 'service.version', limit: '20' }, s),
  );
  const change = markersOf(versions.data).pop();
  const choose = (sides: Partial<DiffState>) => set({ ...sides, zoom: '', frame: '' });
  const whole = { ...state, query };
  return (
    <div class="presets" role="group" aria-label="Presets">
      <span class="label">Presets</span>
      <button type="button" onClick={() => choose(justBefore(state, now()))}>
        As long before
      </button>
      <button type="button" onClick={() => choose(dayBefore(state, now()))}>
        Same time yesterday
      </button>
      {change && (
        <button
          type="button"
          onClick={() => choose(valueAgainst(whole, 'service.version', change.from, change.to))}
          title={`changed at ${formatTime(change.at, zone.value === 'utc')}`}
        >
          Version {change.from} → {change.to}
        </button>
      )}
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        One label value against another…
      </button>
      {open && <Values state={state} choose={choose} />}
    </div>
  );
}

function Values({ state, choose }: { state: DiffState; choose: (sides: Partial<DiffState>) => void }) {
  const time = timeOf(state);
  const [label, setLabel] = useState('');
  const [before, setBefore] = useState('');
  const [after, setAfter] = useState('');
  const asked = { query: state.query, ...time };
  const findLabels = (search: string, limit: string, s: AbortSignal) =>
    getNames('labels', { ...asked, search, limit }, s);
  const findValues = (search: string, limit: string, s: AbortSignal) =>
    getNames('labels/{name}/values', { ...asked, name: label, search, limit }, s);
  const [ofNames, ofValues] = [
    JSON.stringify(['preset labels', asked]),
    JSON.stringify(['preset values', label, asked]),
  ];
  const names = useQuery(ofNames, (s) => findLabels('', String(OFFERED), s));
  const values = useQuery(label === '' ? null : ofValues, (s) => findValues('', String(OFFERED), s));
  const list = label === '' ? { ...values, data: undefined } : values;
  const value = (name: string, chosen: string, set: (v: string) => void) => (
    <Choice label={name} none="choose" value={chosen} list={list} of={ofValues} find={findValues} onChoose={set} />
  );
  return (
    <form
      class="filters"
      onSubmit={(e) => {
        e.preventDefault();
        choose(valueAgainst(state, label, before, after));
      }}
    >
      <Choice
        label="Label"
        none="choose"
        value={label}
        list={names}
        of={ofNames}
        find={findLabels}
        onChoose={(v) => {
          setLabel(v);
          setBefore('');
          setAfter('');
        }}
      />
      {value('A', before, setBefore)}
      {value('B', after, setAfter)}
      <button type="submit" disabled={label === '' || before === '' || after === '' || before === after}>
        Compare
      </button>
    </form>
  );
}
