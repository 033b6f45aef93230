// The time range: the last so many minutes or hours, or from and to. Everything a drag on a timeline does can be done
// here by keyboard.
import { useId, useState } from 'preact/hooks';
import { now } from '../core/clock';
import { parseTime, rangeProblem } from '../core/entered';
import { formatTime } from '../core/format';
import { zone } from '../core/settings';
import type { TimeState } from '../core/state';

const SINCE: [string, string][] = [
  ['15m', 'last 15 minutes'],
  ['1h', 'last hour'],
  ['6h', 'last 6 hours'],
  ['1d', 'last day'],
  ['7d', 'last 7 days'],
  ['30d', 'last 30 days'],
  ['3650d', 'everything'],
];

// A form for two times. Enter runs the first of `actions`.
export function TimeForm({
  range,
  actions,
  onCancel,
}: {
  range: [number, number];
  actions: [string, (range: [number, number]) => void][];
  onCancel: () => void;
}) {
  const utc = zone.value === 'utc';
  const [from, setFrom] = useState(() => formatTime(range[0], utc));
  const [to, setTo] = useState(() => formatTime(range[1], utc));
  const problem = rangeProblem(from, to, utc);
  const why = useId();
  const invalid = { 'aria-invalid': problem !== '', 'aria-describedby': problem ? why : undefined };
  const take = (act: (range: [number, number]) => void) => {
    if (!problem) act([parseTime(from, utc), parseTime(to, utc)]);
  };
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        take(actions[0][1]);
      }}
    >
      <label>
        From <input size={20} value={from} onInput={(e) => setFrom(e.currentTarget.value)} {...invalid} />
      </label>
      <label>
        To <input size={20} value={to} onInput={(e) => setTo(e.currentTarget.value)} {...invalid} />
      </label>
      {actions.map(([text, act], i) => (
        <button
          key={text}
          type={i === 0 ? 'submit' : 'button'}
          disabled={problem !== ''}
          onClick={i === 0 ? undefined : () => take(act)}
        >
          {text}
        </button>
      ))}
      <button type="button" onClick={onCancel}>
        Cancel
      </button>
      <span role="status">
        {problem && (
          <em class="bad" id={why}>
            {problem}
          </em>
        )}
      </span>
    </form>
  );
}

export function RangePicker({ time, onChange }: { time: TimeState; onChange: (t: TimeState) => void }) {
  const [open, setOpen] = useState(false);
  const fixed = time.from !== null && time.to !== null;
  const utc = zone.value === 'utc';
  return (
    <span class="range">
      <label>
        <span class="name">Time</span>{' '}
        <select
          value={fixed || open ? 'fixed' : time.since}
          onChange={(e) => {
            if (e.currentTarget.value === 'fixed') return setOpen(true);
            setOpen(false);
            onChange({ since: e.currentTarget.value, from: null, to: null });
          }}
        >
          {!SINCE.some(([s]) => s === time.since) && <option value={time.since}>last {time.since}</option>}
          {SINCE.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
          <option value="fixed">
            {fixed ? `${formatTime(time.from!, utc)} – ${formatTime(time.to!, utc)}` : 'from … to …'}
          </option>
        </select>
      </label>
      {fixed && !open && (
        <button type="button" onClick={() => setOpen(true)}>
          Edit
        </button>
      )}
      {open && (
        <TimeForm
          range={[time.from ?? now() - 3600e3, time.to ?? now()]}
          actions={[
            [
              'Show',
              ([from, to]) => {
                setOpen(false);
                onChange({ ...time, from, to });
              },
            ],
          ]}
          onCancel={() => setOpen(false)}
        />
      )}
    </span>
  );
}
