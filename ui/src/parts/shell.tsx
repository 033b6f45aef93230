// What every page has: the header with its links, the switches for theme and time zone, the main landmark.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { gone, incomplete, unanswered } from '../core/alive';
import { url } from '../core/location';
import { Help } from './help';
import { Popover } from './popover';
import { useAtLeast } from './window';
import { Palette } from './palette';
import { theme, zone } from '../core/settings';
import { addressProblem } from '../core/state';

const PAGES: [string, string][] = [
  ['/', 'Services'],
  ['/traces', 'Traces'],
  ['/slow', 'Slow'],
  ['/insights', 'Insights'],
  ['/regressions', 'Regressions'],
  ['/alerts', 'Alerts'],
  ['/diff', 'Diff'],
  ['/adhoc', 'Files'],
  ['/status', 'Status'],
];

const ALL_PAGES = 1100; // pixels that all of them and the settings take in one row

// Values of the address that do not fit the data, in sentences.
const unused = signal<string[]>([]);

// Shows a note while a value of the address is not used; "" for none.
export function useUnused(sentence: string): void {
  useEffect(() => {
    if (sentence === '') return;
    unused.value = [...unused.value, sentence];
    return () => {
      unused.value = unused.value.filter((s) => s !== sentence);
    };
  }, [sentence]);
}

interface ShellProps {
  title: string;
  fill?: boolean; // the page's picture reaches down to the window's bottom
  children?: ComponentChildren;
}

export function Shell({ title, fill, children }: ShellProps) {
  const path = url.value.pathname;
  const problem = [addressProblem(url.value), ...unused.value].filter(Boolean).join(' ');
  const page = path + (path.startsWith('/s/') ? (url.value.searchParams.get('service') ?? '') : '');
  useEffect(() => {
    document.title = title === '' ? 'Wherefore' : `${title} · Wherefore`;
    arrive(page);
  }, [title, page]);
  const address = url.value.href;
  useEffect(() => {
    incomplete.value = '';
  }, [address]); // the new page's requests report again
  const wide = useAtLeast(ALL_PAGES);
  const current = (page: string) => (page === '/' ? path === '/' || path.startsWith('/s/') : path.startsWith(page));
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(e) => {
          e.preventDefault();
          document.getElementById('main')?.focus();
        }}
      >
        Skip to content
      </a>
      <header class="bar">
        <a class="brand" href="/">
          Wherefore
        </a>
        {wide ? (
          <>
            <Pages current={current} />
            <span class="grow" />
            <Palette pages={PAGES} />
            <Help />
            <Settings />
          </>
        ) : (
          <>
            <span class="grow" />
            <Palette pages={PAGES} />
            <Popover name="☰" label="Pages and settings" class="end">
              <Pages current={current} />
              <Settings />
              <Help />
            </Popover>
          </>
        )}
      </header>
      {gone.value && unanswered.value.length === 0 && (
        <p class="note error gone" role="alert">
          The server does not answer. The page shows the last answers and continues by itself as soon as the server is
          back.
        </p>
      )}
      {incomplete.value && (
        <p class="note error gone" role="alert">
          Some data is missing: {incomplete.value}. <a href="/status">Status</a> says what to do.
        </p>
      )}
      {problem && (
        <p class="note error gone" role="alert">
          {problem}
        </p>
      )}
      <main id="main" tabIndex={-1} class={fill ? 'fill' : undefined} data-address={address}>
        {children}
      </main>
    </>
  );
}

const Pages = ({ current }: { current: (page: string) => boolean }) => (
  <nav aria-label="Pages">
    {PAGES.map(([page, name]) => (
      <a key={page} href={page} aria-current={current(page) ? 'page' : undefined}>
        {name}
      </a>
    ))}
  </nav>
);

const Settings = () => (
  <>
    <label>
      <span class="name">Times</span>{' '}
      <select
        value={zone.value}
        onChange={(e) => {
          zone.value = e.currentTarget.value as typeof zone.value;
        }}
      >
        <option value="local">local</option>
        <option value="utc">UTC</option>
      </select>
    </label>
    <label>
      <span class="name">Theme</span>{' '}
      <select
        value={theme.value}
        onChange={(e) => {
          theme.value = e.currentTarget.value as typeof theme.value;
        }}
      >
        <option value="system">system</option>
        <option value="light">light</option>
        <option value="dark">dark</option>
      </select>
    </label>
  </>
);

// After a change of page the heading gets the focus and the title is announced. A page whose code is still loading has
// no heading yet; it gets the focus when it arrives.
let arrived: string | null = null;
function arrive(page: string): void {
  const heading = document.querySelector<HTMLElement>('main h1');
  if (!heading) return;
  const [known, before] = [document.activeElement === heading, arrived];
  arrived = page;
  if (before === null || (before === page && !known)) return; // first load, or nothing changed
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  say(document.title);
}

// A command with a button that copies it.
export function Command({ text }: { text: string }) {
  return (
    <span class="command">
      <code>{text}</code>{' '}
      <button type="button" onClick={() => copyText(text)}>
        Copy
      </button>
    </span>
  );
}

// The environment for an OpenTelemetry SDK. The page's own address accepts OTLP, so this works whatever ports the
// server uses.
export const otlpCommand = (server: string, service = '') =>
  `export OTEL_EXPORTER_OTLP_ENDPOINT=${server} OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf` +
  (service && ` OTEL_SERVICE_NAME=${service}`);

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // No clipboard API over plain http from another machine.
    const area = document.body.appendChild(document.createElement('textarea'));
    area.value = text;
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  announce('Copied.');
}

function region(id: string): HTMLElement {
  const known = document.getElementById(id);
  if (known) return known;
  const made = document.body.appendChild(document.createElement('div'));
  made.id = id;
  made.setAttribute('role', 'status');
  return made;
}

// Announces something to screen readers only.
function say(text: string): void {
  const shown = region('said');
  shown.className = 'hidden';
  shown.textContent = text;
}

// Announces something to screen readers and shows it in the corner for a moment.
export function announce(text: string): void {
  const shown = region('announce');
  shown.textContent = text;
  shown.className = 'shown';
  setTimeout(() => {
    if (shown.textContent === text) shown.className = '';
  }, 1500);
}
