// The page: which part of it belongs to the address. The overview comes at once, the rest when it is first needed: what
// all of them share is small, and the first page stays fast.
import { render, type ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { watchServer } from './core/alive';
import { url } from './core/location';
import { OverviewPage } from './pages/overview';
import { Shell } from './parts/shell';
import './style.css';

// A page whose code is fetched when it is first shown; then it is there at once.
function later(load: () => Promise<ComponentType>): ComponentType {
  let Page: ComponentType | null = null;
  return function Later() {
    const [failed, setFailed] = useState(false);
    const [, setReady] = useState(false);
    useEffect(() => {
      // It may have come for another address since this one was drawn.
      if (Page) setReady(true); else load().then((loaded) => { Page = loaded; setReady(true); }, () => setFailed(true));
    }, []);
    if (Page) return <Page />;
    if (!failed) return <Shell title="" />;
    // After an update the old name may be gone; the new page knows the new one.
    return <Shell title="Not loaded"><h1>This part of the page could not be loaded</h1><p><button type="button" onClick={() => location.reload()}>Load again</button></p></Shell>;
  };
}

const ServicePage = later(() => import('./pages/service').then((m) => m.ServicePage));
const DiffPage = later(() => import('./pages/diff').then((m) => m.DiffPage));
const TracesPage = later(() => import('./pages/traces').then((m) => m.TracesPage));
const TracePage = later(() => import('./pages/trace').then((m) => m.TracePage));
const AdHocPage = later(() => import('./pages/adhoc').then((m) => m.AdHocPage));
const StatusPage = later(() => import('./pages/status').then((m) => m.StatusPage));

function isReadable(path: string): boolean {
  try { return decodeURIComponent(path) !== ''; } catch { return false; }  // used, or the call is taken for one without effect and left out
}

// A “%” that stands for nothing: what may have been meant, and the ways on.
function Unreadable({ path }: { path: string }) {
  const name = /^\/s\/([^/]+)$/.exec(path)?.[1];
  return (
    <Shell title="Not an address">
      <h1>This address cannot be read</h1>
      <p>It has a “%” without the two digits of a letter after it: <code>{path.slice(0, 300)}</code></p>
      {name && <p>Is a service called that? <a href={'/s/' + encodeURIComponent(name)}>{name.slice(0, 100)}</a></p>}
      <p><a href="/">All services</a> · <a href="/traces">Traces</a></p>
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
  if (path === '/adhoc') return <AdHocPage />;
  if (path === '/status') return <StatusPage />;
  return <Shell title="Not found"><h1>There is nothing here</h1><p><a href="/">All services</a></p></Shell>;
}

watchServer();
render(<App />, document.getElementById('app')!);
