// A time as people say it, "5 min ago" or "in 2 h"; pointing at it, or its attribute, says when exactly.
import { now } from '../core/clock';
import { formatAgo, formatSpan, formatTime } from '../core/format';
import { zone } from '../core/settings';

export function Ago({ at }: { at: number }) {
  const to = now();
  return (
    <time dateTime={new Date(at).toISOString()} title={formatTime(at, zone.value === 'utc')}>
      {at > to + 1000 ? `in ${formatSpan(at - to)}` : formatAgo(at, to)}
    </time>
  );
}
