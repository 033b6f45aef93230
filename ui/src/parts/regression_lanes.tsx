// The timeline of regressions: a line for each service with its new versions and, at the one it came with, a mark for
// each regression, which opens it.
import { formatTime } from '../core/format';
import { beganAt, culpritOf, shareText, type Lane } from '../core/regressions';
import { zone } from '../core/settings';
import { safe, shownName } from '../draw/flame';
import { TableBox } from './table_box';

interface RegressionLanesProps {
  lanes: Lane[];
  range: [number, number];
  selected: string;
  href: (id: string) => string;
}

export function RegressionLanes({ lanes, range: [from, to], selected, href }: RegressionLanesProps) {
  const utc = zone.value === 'utc';
  const left = (ms: number) => `${Math.min(99.5, Math.max(0, (100 * (ms - from)) / (to - from)))}%`;
  const nearEnd = to - (to - from) / 8; // names of later versions stand before their line
  return (
    <TableBox label="Timeline of regressions">
      <table class="strips">
        <caption>
          {formatTime(from, utc)} to {formatTime(to, utc)}:{' '}
          <span class="strip-key">
            <i class="deploy" /> new version <b class="worse-sign">▲</b> regression
          </span>
        </caption>
        <thead>
          <tr>
            <th scope="col">Service</th>
            <th scope="col">New versions and what got dearer with them</th>
          </tr>
        </thead>
        <tbody>
          {lanes.map((l) => (
            <tr key={l.service}>
              <th scope="row">
                <bdi>{shownName(l.service, 80)}</bdi>
              </th>
              <td class="wide">
                <div class="lane">
                  {l.versions.map((v) => (
                    <span
                      key={`${v.after} ${v.at_ms}`}
                      class={`lane-deploy ${Number(v.at_ms) > nearEnd ? 'end' : ''}`}
                      style={{ left: left(Number(v.at_ms)) }}
                      title={`${formatTime(Number(v.at_ms), utc)}: ${v.before} → ${v.after}`}
                    >
                      {safe(v.after).slice(0, 16)}
                    </span>
                  ))}
                  {l.regressions.map((r) => (
                    <a
                      key={r.id}
                      class={`lane-mark ${r.state}`}
                      style={{ left: left(beganAt(r)) }}
                      href={href(r.id)}
                      aria-current={r.id === selected ? 'true' : undefined}
                      aria-label={`▲ ${r.state}: ${culpritOf(r).name.slice(0, 100)} ${shareText(r)}`}
                      title={`${r.state}: ${safe(culpritOf(r).name).slice(0, 200)} ${shareText(r)}`}
                    >
                      ▲
                    </a>
                  ))}
                </div>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}
