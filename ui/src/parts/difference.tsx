// What every page with a difference shows: the mode of comparison, how small a change it could see, the legend, the
// functions that changed most.
import { useMemo } from 'preact/hooks';
import { coloursNow } from '../core/colours';
import { changesOf, factorOf, formatTested, intervalText, type Change, type DiffMode } from '../core/difference';
import type { FlameColumns, FlameMeta } from '../core/flame';
import { formatRough } from '../core/format';
import { exactly, shortName } from '../core/names';
import { diffColours } from '../core/settings';
import { buildTree, type Tree } from '../core/tree';
import { safe } from '../draw/flame';
import { movedOf, measured } from './describe';
import { TableBox } from './table_box';

const MODES: [DiffMode, string][] = [
  ['raw', 'as they are'],
  ['rate', 'per second'],
  ['share', 'share of the whole'],
  ['request', 'per request'],
];
const MOST_ROWS = 25;

export interface Difference {
  tree?: Tree;
  rows: Change[];
  mode: DiffMode;
  tested?: FlameMeta;
  noRate?: string;
  noRequest?: string;
}

// Seconds in which anything of a side was observed. 0: unknown, so nothing can be shown per second.
export function useDifference(data: FlameColumns | undefined, wanted: DiffMode, files = false): Difference {
  const seconds = { before: (data?.meta.observed_ms_before ?? 0) / 1e3, after: (data?.meta.observed_ms ?? 0) / 1e3 };
  const noRate = data?.meta.averaged
    ? 'it is already an average over time'
    : seconds.before > 0 && seconds.after > 0
      ? undefined
      : 'it is not known how long each side was observed';
  const noRequest = files ? 'files know no requests' : undefined;
  const mode = (wanted === 'rate' && noRate) || (wanted === 'request' && noRequest) ? 'raw' : wanted;
  const statistics = data?.meta.statistics;
  const requests = { before: statistics?.requests_before ?? 0, after: statistics?.requests_after ?? 0 };
  const total = { before: Number(data?.meta.total_before ?? 0), after: Number(data?.meta.total ?? 0) };
  const factor = factorOf(mode, seconds, total, requests);
  const tree = useMemo(
    () =>
      data && {
        ...buildTree(data, 'weight', factor),
        measure: { mode, seconds: seconds.after, whole: total.after || total.before, requests: requests.after },
      },
    [data, factor, mode, seconds.after, requests.after],
  );
  const rows = useMemo(() => changesOf(data?.meta.changes ?? [], factor).slice(0, MOST_ROWS), [data, factor]);
  return { tree, rows, mode, tested: statistics && data?.meta, noRate, noRequest };
}

export function Modes({ difference, onMode }: { difference: Difference; onMode: (mode: DiffMode) => void }) {
  const whyNot = (m: DiffMode) =>
    m === 'rate' ? difference.noRate : m === 'request' ? difference.noRequest : undefined;
  return (
    <div role="group" aria-label="Compare" class="switch">
      {MODES.map(([m, text]) => (
        <button
          key={m}
          type="button"
          aria-pressed={difference.mode === m}
          disabled={whyNot(m) !== undefined}
          title={whyNot(m)}
          onClick={() => onMode(m)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

export function Legend({ tested }: { tested: boolean }) {
  const { less, more, same } = coloursNow();
  const box = (background: string) => <i style={{ background }} />;
  return (
    <p class="legend">
      {box(less[2])} ▼ less {box(more[2])} ▲ more {tested && <i class="sure" />} {tested && 'certain '}
      {box(same)} {tested ? 'the same, or may be chance' : 'about the same'} <i class="new" />
      {' new '}
      <i class="gone" /> vanished. Widths are the larger side's.{' '}
      <label>
        Colours{' '}
        <select
          value={diffColours.value}
          onChange={(e) => {
            diffColours.value = e.currentTarget.value as typeof diffColours.value;
          }}
        >
          <option value="orange">blue and orange</option>
          <option value="red">green and red</option>
        </select>
      </label>
    </p>
  );
}

// How small a change would have been found: of the whole, and of shares that of each function.
export function Detectable({ difference: { tree, mode, tested } }: { difference: Difference }) {
  if (!tree || !tested || tested.statistics!.groups === 'none' || mode === 'raw') return null;
  const { whole } = tested.statistics!;
  const how = [tree.meta.unit, tree.meta.scale, mode] as const;
  const smallest = (tested.changes ?? []).flatMap((c) => c.total?.detectable || []).sort((a, b) => a - b);
  if (mode === 'share' && smallest.length === 0) return null;
  return (
    <p class="small" data-testid="detectable">
      {mode === 'share' ? (
        <>
          Of a function, a change of {formatTested(smallest[0], ...how)} (small ones) to{' '}
          {formatTested(smallest.at(-1)!, ...how)} (large ones) or more would be found.
        </>
      ) : (
        <>
          The whole changed by {intervalText(whole, ...how)} (95 %); a change of{' '}
          {formatTested(whole.detectable, ...how)}
          {whole.before > 0 && ` (${formatRough((100 * whole.detectable) / whole.before)} %)`} or more would be found.
        </>
      )}
    </p>
  );
}

export function Changes({
  difference: { tree, rows, mode },
  onSearch,
}: {
  difference: Difference;
  onSearch: (text: string) => void;
}) {
  if (!tree) return null;
  const moved = (r: Change) => movedOf(tree, Math.abs(r.after - r.before));
  const changed = rows.filter((r) => !/^0(\.0+)?(?![.\d])/.test(moved(r))); // "0.0 points" is not a change
  return (
    <TableBox label="Changed functions">
      <table class="top">
        <caption>
          Functions whose own value changed most
          {mode === 'share'
            ? ", in shares of each side's whole"
            : mode === 'rate'
              ? ', per second seen of each side'
              : mode === 'request'
                ? ', per request of the service'
                : ''}
        </caption>
        <thead>
          <tr>
            <th scope="col" class="number">
              A
            </th>
            <th scope="col" class="number">
              B
            </th>
            <th scope="col" class="number">
              Change
            </th>
            <th scope="col">Function</th>
            <th scope="col">Module</th>
          </tr>
        </thead>
        <tbody>
          {changed.map((r) => (
            <tr key={r.module + '\0' + r.name}>
              <td class="number">{measured(tree, r.before)}</td>
              <td class="number">{measured(tree, r.after)}</td>
              <td class="number">
                {r.after > r.before ? '+' : '−'}
                {moved(r)}
                {r.before === 0 ? ' new' : r.after === 0 ? ' vanished' : ''}
              </td>
              <th scope="row">
                <button type="button" class="link" onClick={() => onSearch(exactly(r.name))}>
                  <bdi>{safe(shortName(r.name))}</bdi>
                </button>
              </th>
              <td>{r.module}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}
