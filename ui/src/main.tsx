// The entry point: picks the page for the address. The overview loads at once, other pages on first use, so that the
// first page stays fast.
import { render, type ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { watchServer } from './core/alive';
import { url } from './core/location';
import { OverviewPage } from './pages/overview';
import { Shell } from './parts/shell';
import './style.css';

// A page whose code is loaded when it is first shown, and kept.
function later(load: () => Promise<ComponentType>): ComponentType {
  let Page: ComponentType | null = null;
  return function Later() {
    const [failed, setFailed] = useState(false);
    const [, setReady] = useState(false);
    useEffect(() => {
      // The code may have been loaded for another address in the meantime.
      if (Page) setReady(true);
      else
        load().then(
          (loaded) => {
            Page = loaded;
            setReady(true);
          },
          () => setFailed(true),
        );
    }, []);
    if (Page) return <Page />;
    if (!failed) return <Shell title="" />;
    // After an update of the server the old file name may be gone; a reload gets the new one.
    return (
      <Shell title="Not loaded">
        <h1>This part of the page could not be loaded</h1>
        <p>
          <button type="button" onClick={() => location.reload()}>
            Load again
          </button>
        </p>
      </Shell>
    );
  };
}

const ServicePage = later(() => import('./pages/service').then((m) => m.ServicePage));
const DiffPage = later(() => import('./pages/diff').then((m) => m.DiffPage));
const TracesPage = later(() => import('./pages/traces').then((m) => m.TracesPage));
const TracePage = later(() => import('./pages/trace').then((m) => m.TracePage));
const SlowPage = later(() => import('./pages/slow').then((m) => m.SlowPage));
const InsightsPage = later(() => import('./pages/insights').then((m) => m.InsightsPage));
const RegressionsPage = later(() => import('./pages/regressions').then((m) => m.RegressionsPage));
const AlertsPage = later(() => import('./pages/alerts').then((m) => m.AlertsPage));
const AdHocPage = later(() => import('./pages/adhoc').then((m) => m.AdHocPage));
const StatusPage = later(() => import('./pages/status').then((m) => m.StatusPage));

function isReadable(path: string): boolean {
  try {
    return decodeURIComponent(path) !== '';
  } catch {
    return false;
  } // compared, because the bundler would drop an unused call
}

// The address has a “%” that is not an escape: guess what was meant and offer ways on.
function Unreadable({ path }: { path: string }) {
  const name = /^\/s\/([^/]+)$/.exec(path)?.[1];
  return (
    <Shell title="Not an address">
      <h1>This address cannot be read</h1>
      <p>
        It has a “%” without the two digits of a letter after it: <code>{path.slice(0, 300)}</code>
      </p>
      {name && (
        <p>
          Is a service called that? <a href={'/s/' + encodeURIComponent(name)}>{name.slice(0, 100)}</a>
        </p>
      )}
      <p>
        <a href="/">All services</a> · <a href="/traces">Traces</a>
      </p>
    </Shell>
  );
}

function App() {
  const path = url.value.pathname;
  if (!isReadable(path)) return <Unreadable path={path} />;
  if (path === '/') return <OverviewPage />;
  if (/^\/s\/[^/]+$/.test(path)) return <ServicePage key={path + (url.value.searchParams.get('service') ?? '')} />;
  if (path === '/diff') return <DiffPage />;
  if (path === '/traces') return <TracesPage />;
  if (/^\/traces\/[^/]+$/.test(path)) return <TracePage key={path} />;
  if (path === '/slow') return <SlowPage />;
  if (path === '/insights') return <InsightsPage />;
  if (path === '/regressions') return <RegressionsPage />;
  if (path === '/alerts') return <AlertsPage />;
  if (path === '/adhoc') return <AdHocPage />;
  if (path === '/status') return <StatusPage />;
  return (
    <Shell title="Not found">
      <h1>There is nothing here</h1>
      <p>
        <a href="/">All services</a>
      </p>
    </Shell>
  );
}

watchServer();
render(<App />, document.getElementById('app')!);
