// The script inside a saved flame graph: it shows the data stored in the same file. Zoom, search and selection live in
// memory, because a file has no address to keep them in.
import { render } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { readSaved } from './core/standalone';
import { buildTree } from './core/tree';
import { Legend } from './parts/difference';
import { FlameGraph } from './parts/flame';
import './core/settings';
import './style.css';

const saved = readSaved(document.getElementById('data')!.textContent!);

function Viewer() {
  const tree = useMemo(() => ({ ...buildTree(saved.columns), measure: saved.measure }), []);
  const [view, setView] = useState({ zoom: '', frame: '', search: '', flip: false, mark: '' });
  return (
    <>
      <div class="toolbar">
        <h1>
          <bdi>{saved.title}</bdi>
        </h1>
        <p>{saved.note}</p>
      </div>
      <dl class="about">
        {saved.about.facts.map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <bdi>{text}</bdi>
            </dd>
          </div>
        ))}
        <div>
          <dt>Address</dt>
          <dd>
            <code>{saved.about.address}</code>
          </dd>
        </div>
      </dl>
      <FlameGraph
        tree={tree}
        about={saved.about}
        zoom={view.zoom}
        frame={view.frame}
        query={view.search}
        flip={view.flip}
        mark={view.mark}
        onMark={(mark) => setView({ ...view, mark })}
        onZoom={(zoom, frame) => setView({ ...view, zoom, frame })}
        onFrame={(frame) => setView({ ...view, frame })}
        onQuery={(search) => setView({ ...view, search })}
        onFlip={() => setView({ ...view, flip: !view.flip })}
      />
      {tree.before && <Legend tested={tree.verdict !== undefined} />}
    </>
  );
}

render(<Viewer />, document.getElementById('app')!);
