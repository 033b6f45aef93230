// When alerts were pending and fired: a strip over the range for each, and a list of the times. For what happened and
// for what a dry run says would have.
import type { ComponentChildren } from 'preact';
import { stripsOf, type Strip, type Stretch } from '../core/alerts';
import { formatMany, formatSpan, formatTime } from '../core/format';
import { zone } from '../core/settings';
import { encodeService, newService } from '../core/state';
import { safe, shownName } from '../draw/flame';
import { Ago } from './ago';
import { TableBox } from './table_box';

const LISTED = 100;
type Range = [number, number];

const summaryOf = (s: Strip) =>
  s.fired === 0 ? 'pending only' : `fired ${formatMany(s.fired, 'time')}, ${formatSpan(s.firedMs)} in all`;

function StripBar({ strip, range: [from, to] }: { strip: Strip; range: Range }) {
  const share = (ms: number) => Math.min(100, Math.max(0, (100 * (ms - from)) / (to - from)));
  return (
    <div class="strip" role="img" aria-label={`${strip.alert} of ${strip.service}: ${summaryOf(strip)}`}>
      {strip.stretches.map((s) => {
        const left = share(s.from);
        return (
          <i
            key={s.state + s.from}
            class={s.state}
            style={{ left: `min(${left}%, 100% - 2px)`, width: `${share(s.to ?? to) - left}%` }}
          />
        );
      })}
    </div>
  );
}

interface StripsProps {
  label: string;
  stretches: Stretch[];
  range: Range;
  // How the name of an alert is shown, such as a link to its times.
  name?: (s: Strip) => ComponentChildren;
}

export function Strips({ label, stretches, range, name = (s) => safe(s.alert) }: StripsProps) {
  const utc = zone.value === 'utc';
  return (
    <TableBox label={label}>
      <table class="strips">
        <caption>
          {formatTime(range[0], utc)} to {formatTime(range[1], utc)}:{' '}
          <span class="strip-key">
            <i class="firing" /> firing <i class="pending" /> pending
          </span>
        </caption>
        <thead>
          <tr>
            <th scope="col">Alert</th>
            <th scope="col">Service</th>
            <th scope="col">When</th>
            <th scope="col">How often</th>
          </tr>
        </thead>
        <tbody>
          {stripsOf(stretches, range).map((s) => (
            <tr key={s.alert + '\0' + s.service} data-alert={s.alert}>
              <th scope="row">{name(s)}</th>
              <td>
                <bdi>{shownName(s.service, 80)}</bdi>
              </td>
              <td class="wide">
                <StripBar strip={s} range={range} />
              </td>
              <td class="figures">{summaryOf(s)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}

// Each time by itself, newest first.
export function Times({ label, stretches, end }: { label: string; stretches: Stretch[]; end: number }) {
  const utc = zone.value === 'utc';
  return (
    <TableBox label={label}>
      <table class="alert-times">
        <caption class="hidden">{label}</caption>
        <thead>
          <tr>
            <th scope="col">Alert</th>
            <th scope="col">Service</th>
            <th scope="col">State</th>
            <th scope="col">From</th>
            <th scope="col">Until</th>
            <th scope="col">For</th>
            <th scope="col">Value</th>
          </tr>
        </thead>
        <tbody>
          {stretches.slice(0, LISTED).map((s) => (
            <tr key={[s.alert, s.service, s.state, s.from].join('\0')} data-state={s.state}>
              <th scope="row">{safe(s.alert)}</th>
              <td>
                <a href={encodeService(newService(s.service, { since: '1h', from: s.from, to: s.to ?? end }))}>
                  <bdi>{shownName(s.service, 80)}</bdi>
                </a>
              </td>
              <td>
                <b class={`state ${s.state}`}>{s.state}</b>
              </td>
              <td>
                <Ago at={s.from} />
              </td>
              <td>{s.to === null ? 'now' : formatTime(s.to, utc)}</td>
              <td class="figures">{formatSpan((s.to ?? end) - s.from)}</td>
              <td class="figures">{safe(s.text)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {stretches.length > LISTED && <p class="note">The newest {LISTED} are listed.</p>}
    </TableBox>
  );
}
