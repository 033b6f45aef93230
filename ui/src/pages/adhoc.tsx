// A file, or two to compare: dropped here, read by this server in memory, and forgotten. Nothing is stored.
import { useMemo, useState } from 'preact/hooks';
import { postFlame } from '../core/api';
import { formatCount } from '../core/format';
import { exactly } from '../core/names';
import { joinLens, lensSteps } from '../core/state';
import { buildTree } from '../core/tree';
import { FlameGraph } from '../parts/flame';
import { LensChips } from '../parts/lens';
import { QueryState, useQuery } from '../parts/query';
import { Command, Shell } from '../parts/shell';

const FORMATS = 'pprof, OTLP profiles, JFR, folded stacks, speedscope, flamebearer; gzipped or not';

export function AdHocPage() {
  const [file, setFile] = useState<File | null>(null);
  const [base, setBase] = useState<File | null>(null);
  const [round, setRound] = useState(0);
  const [type, setType] = useState('');
  const [lens, setLens] = useState('');
  const [over, setOver] = useState(false);
  const [view, setView] = useState({ zoom: '', frame: '', search: '' });
  const take = (files: FileList | null | undefined) => {
    if (!files || files.length === 0) return;
    setFile(files[files.length > 1 ? 1 : 0]);
    setBase(files.length > 1 ? files[0] : null);
    setType('');
    setView({ zoom: '', frame: '', search: '' });
    setRound(round + 1);
  };
  const flame = useQuery(file ? JSON.stringify([round, base?.name, type, lens]) : null, (s) => {
    const form = new FormData();
    form.append('file', file!);
    if (base) form.append('base', base);
    return postFlame('adhoc', { type, lens }, form, s);
  });
  const tree = useMemo(() => flame.data && buildTree(flame.data), [flame.data]);
  const types = flame.data?.meta.types ?? [];
  return (
    <Shell title="Files">
      <div class="toolbar"><h1>Files</h1>{file && <p>{base ? `${base.name} → ${file.name}` : `${file.name}, ${formatCount(file.size)} bytes`}</p>}</div>
      <div class={'drop' + (over ? ' over' : '')} onDragOver={(e) => { e.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)}
        onDrop={(e) => { e.preventDefault(); setOver(false); take(e.dataTransfer?.files); }}>
        <p><label>Drop one file here, or two to compare (before, after), or choose <input type="file" multiple onChange={(e) => take(e.currentTarget.files)} /></label></p>
        <p><small>{FORMATS}. The file goes to this server, is read in memory and dropped.</small></p>
        <p><small>To keep it:</small> <Command text={`wherefore push FILE --service my-service --server ${location.origin}`} /></p>
      </div>
      {tree && (
        <div class="toolbar">
          {types.length > 1 && <label>Type <select value={type || types[types.length - 1]} onChange={(e) => setType(e.currentTarget.value)}>{types.map((t) => <option key={t} value={t}>{t}</option>)}</select></label>}
          {base && <button type="button" onClick={() => { setBase(file); setFile(base); setRound(round + 1); }}>Swap</button>}
          <LensChips lens={lens} onChange={setLens} />
        </div>
      )}
      <QueryState query={flame} what="the file" />
      {tree && !flame.error && (
        <FlameGraph tree={tree} title={file?.name ?? ''} zoom={view.zoom} frame={view.frame} query={view.search} onZoom={(zoom, frame) => setView({ ...view, zoom, frame })}
          onFrame={(frame) => setView({ ...view, frame })} onQuery={(search) => setView({ ...view, search })}
          onLens={(op, name) => { setLens(joinLens([...lensSteps(lens), `${op}:${exactly(name)}`])); setView({ ...view, zoom: '', frame: '' }); }} />
      )}
    </Shell>
  );
}
