// Which time: the last so-and-so-long, or from and to. Every drag on a timeline can be done here by keyboard.
import { useId, useState } from 'preact/hooks';
import { now } from '../core/clock';
import { parseTime, rangeProblem } from '../core/entered';
import { formatTime } from '../core/format';
import { zone } from '../core/settings';
import type { TimeState } from '../core/state';

const SINCE: [string, string][] = [['15m', 'last 15 minutes'], ['1h', 'last hour'], ['6h', 'last 6 hours'], ['1d', 'last day'], ['7d', 'last 7 days'], ['30d', 'last 30 days'], ['3650d', 'everything']];

export function RangePicker({ time, onChange }: { time: TimeState; onChange: (t: TimeState) => void }) {
  const [open, setOpen] = useState(false);
  const fixed = time.from !== null && time.to !== null;
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const utc = zone.value === 'utc';
  const show = () => {
    setFrom(formatTime(time.from ?? now() - 3600e3, utc));
    setTo(formatTime(time.to ?? now(), utc));
    setOpen(true);
  };
  const problem = open ? rangeProblem(from, to, utc) : '';
  const why = useId();
  const invalid = { 'aria-invalid': problem !== '', 'aria-describedby': problem ? why : undefined };
  return (
    <span class="range">
      <label>Time <select value={fixed || open ? 'fixed' : time.since} onChange={(e) => {
        if (e.currentTarget.value === 'fixed') return show();
        setOpen(false);
        onChange({ since: e.currentTarget.value, from: null, to: null });
      }}>
        {!SINCE.some(([s]) => s === time.since) && <option value={time.since}>last {time.since}</option>}
        {SINCE.map(([value, name]) => <option key={value} value={value}>{name}</option>)}
        <option value="fixed">{fixed ? `${formatTime(time.from!, utc)} – ${formatTime(time.to!, utc)}` : 'from … to …'}</option>
      </select></label>
      {fixed && !open && <button type="button" onClick={show}>Edit</button>}
      {open && (
        <form onSubmit={(e) => {
          e.preventDefault();
          if (problem) return;
          setOpen(false);
          onChange({ ...time, from: parseTime(from, utc), to: parseTime(to, utc) });
        }}>
          <label>From <input size={20} value={from} onInput={(e) => setFrom(e.currentTarget.value)} {...invalid} /></label>
          <label>To <input size={20} value={to} onInput={(e) => setTo(e.currentTarget.value)} {...invalid} /></label>
          <button type="submit" disabled={problem !== ''}>Show</button>
          <button type="button" onClick={() => setOpen(false)}>Cancel</button>
          <span role="status">{problem && <em class="bad" id={why}>{problem}</em>}</span>
        </form>
      )}
    </span>
  );
}
