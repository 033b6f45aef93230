// Pins: the button that keeps a window, the dialog it opens, which asks why, and the list of what is pinned. Used
// wherever there is a window worth keeping, and by the status page.
import { signal } from '@preact/signals';
import { type ComponentChildren, render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Pin } from '../core/answers';
import { getKnown, send } from '../core/api';
import { formatTime } from '../core/format';
import { url } from '../core/location';
import { daysText, windowProblem, type Wanted } from '../core/pins';
import { zone } from '../core/settings';
import { encodeService, encodeStatus, newService } from '../core/state';
import { safe, shownName } from '../draw/flame';
import { Ago } from './ago';
import { QueryState, useQuery } from './query';
import { useSending } from './sending';
import { TableBox } from './table_box';

export const pinChanges = signal(0); // pins that were set or removed here

// What is pinned; null: the server knows no pins. `ready`: whether to ask.
export const usePins = (ready = true, round = 0) =>
  useQuery(ready ? JSON.stringify(['pins', pinChanges.value, round]) : null, (s) => getKnown('pins', {}, s));

const windowText = (from: number, to: number) =>
  `${formatTime(from, zone.value === 'utc')} to ${formatTime(to, zone.value === 'utc')}`;

// `wanted` is asked at the press: a window may end now.
export function KeepButton({ wanted, children }: { wanted: () => Wanted; children?: ComponentChildren }) {
  return (
    <button type="button" aria-haspopup="dialog" onClick={(e) => openKeep(wanted(), e.currentTarget)}>
      {children ?? 'Keep this window…'}
    </button>
  );
}

// The dialog stands beside the page's elements, so that a menu with the button in it can close. The focus returns to
// the button, or to the menu it is in.
function openKeep(wanted: Wanted, from: HTMLElement): void {
  const menu = from.closest<HTMLDetailsElement>('details.menu');
  if (menu) menu.open = false;
  const host = document.body.appendChild(document.createElement('div'));
  const close = () => {
    render(null, host);
    host.remove();
    (menu?.querySelector('summary') ?? from).focus();
  };
  render(<KeepDialog wanted={wanted} onClose={close} />, host);
}

function KeepDialog({ wanted, onClose }: { wanted: Wanted; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const opened = useRef(url.value.href);
  const pins = usePins();
  const mine = pins.data?.pins.filter((p) => p.service === wanted.service) ?? [];
  useEffect(() => dialog.current!.showModal(), []);
  useEffect(() => {
    if (url.value.href !== opened.current) dialog.current!.close();
  }, [url.value.href]);
  return (
    <dialog
      ref={dialog}
      class="palette help"
      aria-labelledby="keep-title"
      onClose={onClose}
      onClick={(e) => {
        if (e.target === dialog.current) dialog.current!.close();
      }}
    >
      <div class="toolbar">
        <h2 id="keep-title">Keep this window</h2>
        <span class="grow" />
        <button type="button" onClick={() => dialog.current!.close()}>
          Close
        </button>
      </div>
      <p>
        <b>
          <bdi>{shownName(wanted.service, 120)}</bdi>
        </b>
        , {windowText(wanted.from, wanted.to)}. The days it touches stay whole, with all services and every kind of
        data, until the pin is removed: <b>{daysText(wanted.from, wanted.to)}</b> (UTC).
      </p>
      <QueryState query={pins} what="pins" />
      {pins.data === null ? <p class="note">This server keeps no windows.</p> : <KeepForm wanted={wanted} />}
      {mine.length > 0 && <Pins pins={mine} heading="Kept of this service" ofOne />}
      <p>
        <a href={encodeStatus({ service: '' })}>What is stored, and all that is kept</a>
      </p>
    </dialog>
  );
}

function KeepForm({ wanted }: { wanted: Wanted }) {
  const [why, setWhy] = useState(wanted.why);
  const [kept, setKept] = useState<Pin | null>(null);
  const { busy, problem, act } = useSending();
  const wrong = windowProblem(wanted);
  const keep = async () => {
    const { service: query, from, to } = wanted;
    const asked = { query, from: String(Math.floor(from)), to: String(Math.ceil(to)), why: why.trim() };
    const set = async () => setKept(await send<Pin>('POST', 'pins', asked));
    if (await act(set, 'Kept.')) pinChanges.value++;
  };
  return (
    <form
      class="filters fields"
      aria-label="Keep this window"
      onSubmit={(e) => {
        e.preventDefault();
        void keep();
      }}
    >
      <label>
        Why <input autofocus required value={why} maxLength={500} onInput={(e) => setWhy(e.currentTarget.value)} />
      </label>
      <button type="submit" disabled={busy || wrong !== '' || why.trim() === ''}>
        Keep
      </button>
      <p class="whole-row" role="status" data-testid="kept-window">
        {wrong || problem ? (
          <em class="bad">{wrong || `Not kept: ${problem}`}</em>
        ) : (
          kept && `Kept. What stays whole: ${daysText(Date.parse(kept.from), Date.parse(kept.to))}.`
        )}
      </p>
    </form>
  );
}

interface PinsProps {
  pins: Pin[];
  heading: string;
  ofOne?: boolean; // all of one service, which is said elsewhere
  children?: ComponentChildren; // below the heading
}

// A list of pins, each with a button that removes it. The focus goes to the heading then.
export function Pins({ pins, heading, ofOne, children }: PinsProps) {
  const title = useRef<HTMLHeadingElement>(null);
  const { busy, problem, act } = useSending();
  const remove = async (pin: Pin) => {
    if (!(await act(() => send('DELETE', 'pins/{pin}', { pin: pin.id }), 'No longer kept.'))) return;
    title.current?.focus();
    pinChanges.value++;
  };
  return (
    <section class="pin-list" aria-label={heading}>
      <h2 ref={title} tabIndex={-1}>
        {heading}
      </h2>
      {children}
      {problem && (
        <p class="note error" role="alert">
          Not removed: {problem}
        </p>
      )}
      {pins.length > 0 && (
        <TableBox label={`${heading}, table`}>
          <table class="pins">
            <caption class="hidden">{heading}</caption>
            <thead>
              <tr>
                {!ofOne && <th scope="col">Service</th>}
                <th scope="col">Window</th>
                <th scope="col">Why</th>
                <th scope="col">Since</th>
                <th scope="col">Until</th>
                <th scope="col">
                  <span class="hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {pins.map((p) => (
                <Row key={p.id} pin={p} ofOne={ofOne} busy={busy} onRemove={() => void remove(p)} />
              ))}
            </tbody>
          </table>
        </TableBox>
      )}
    </section>
  );
}

interface RowProps {
  pin: Pin;
  ofOne?: boolean;
  busy: boolean;
  onRemove: () => void;
}

function Row({ pin: p, ofOne, busy, onRemove }: RowProps) {
  const [from, to] = [Date.parse(p.from), Date.parse(p.to)];
  return (
    <tr data-pin={p.id}>
      {!ofOne && (
        <td>
          <bdi>{shownName(p.service, 80)}</bdi>
        </td>
      )}
      <th scope="row" class="window">
        <a href={encodeService(newService(p.service, { since: '1h', from, to }))}>{windowText(from, to)}</a>
      </th>
      <td class="why">{safe(p.why) || '–'}</td>
      <td>
        <Ago at={Date.parse(p.time)} />
      </td>
      <td>{p.until ? <Ago at={Date.parse(p.until)} /> : 'it is removed'}</td>
      <td>
        <button
          type="button"
          disabled={busy}
          aria-label={`Remove the pin of ${safe(p.service).slice(0, 80)}, ${windowText(from, to)}`}
          onClick={onRemove}
        >
          Remove
        </button>
      </td>
    </tr>
  );
}
