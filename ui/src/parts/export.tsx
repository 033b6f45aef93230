// What a selection can be taken away as. Data formats are whole, with the lens where the format can have it; PNG and HTML
// are what is shown.
import { apiAddress, getJson, type TopAnswer } from '../core/api';
import { csvOf } from '../core/csv';
import type { Tree } from '../core/tree';
import { save, saveHtml } from './save';
import { announce } from './shell';

export function Export({ asked, lens, tree, title }: { asked: Record<string, string>; lens: string; tree?: Tree; title: string }) {
  const link = (format: string, withLens: boolean) => apiAddress('export', { ...asked, lens: withLens ? lens : '', format });
  const csv = async () => {
    try {
      const top = await getJson<TopAnswer>('top', { ...asked, limit: '1000000' }, new AbortController().signal);
      save(new Blob([csvOf(top)], { type: 'text/csv' }), 'functions.csv');
    } catch (e) {
      announce(e instanceof Error ? e.message : String(e));
    }
  };
  const png = () => {
    const canvas = document.querySelector<HTMLCanvasElement>('.flame-view canvas');
    if (!canvas) { announce('There is no flame graph to take a picture of.'); return; }
    canvas.toBlob((blob) => { if (blob) save(blob, 'flame.png'); });
  };
  return (
    <details class="menu">
      <summary>Export</summary>
      <ul>
        <li><a href={link('pprof', false)} download="profile.pb.gz">pprof{lens && ' (without the lens)'}</a></li>
        <li><a href={link('folded', true)} download="stacks.txt">folded stacks</a></li>
        <li><a href={link('speedscope', true)} download="profile.speedscope.json">speedscope</a></li>
        <li><a href={link('otlp', false)} download="profiles.otlp">OTLP{lens && ' (without the lens)'}</a></li>
        <li><a href={link('svg', true)} download="flame.svg">SVG</a></li>
        <li><button type="button" class="link" onClick={png}>PNG of what is shown</button></li>
        {tree && <li><button type="button" class="link" onClick={() => void saveHtml(tree, title)}>HTML of what is shown, opens offline</button></li>}
        <li><button type="button" class="link" onClick={() => void csv()}>CSV of all functions</button></li>
      </ul>
    </details>
  );
}
