// The page: which part of it belongs to the address.
import { render } from 'preact';
import { url } from './core/location';
import { AdHocPage } from './pages/adhoc';
import { DiffPage } from './pages/diff';
import { OverviewPage } from './pages/overview';
import { ServicePage } from './pages/service';
import { StatusPage } from './pages/status';
import { TracePage } from './pages/trace';
import { TracesPage } from './pages/traces';
import { Shell } from './parts/shell';
import './style.css';

function App() {
  const path = url.value.pathname;
  if (path === '/') return <OverviewPage />;
  if (path.startsWith('/s/')) return <ServicePage key={path} />;
  if (path === '/diff') return <DiffPage />;
  if (path === '/traces') return <TracesPage />;
  if (path.startsWith('/traces/')) return <TracePage key={path} />;
  if (path === '/adhoc') return <AdHocPage />;
  if (path === '/status') return <StatusPage />;
  return <Shell title="Not found"><h1>There is nothing here</h1><p><a href="/">All services</a></p></Shell>;
}

render(<App />, document.getElementById('app')!);
