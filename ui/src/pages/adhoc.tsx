// A file, or two to compare: dropped here, read by this server in memory, and forgotten. Nothing is stored.
import { useMemo, useState } from 'preact/hooks';
import { postFlame } from '../core/api';
import { formatCount } from '../core/format';
import { exactly } from '../core/names';
import { go, replace, url } from '../core/location';
import { decodeFiles, encodeFiles, joinLens, lensSteps, type FilesState } from '../core/state';
import { buildTree } from '../core/tree';
import { FlameGraph } from '../parts/flame';
import { LensChips } from '../parts/lens';
import { QueryState, useQuery } from '../parts/query';
import { saveHtml } from '../parts/save';
import { Command, Shell } from '../parts/shell';

const FORMATS = 'pprof, OTLP profiles, JFR, folded stacks, speedscope, flamebearer; gzipped or not';

export function AdHocPage() {
  const [file, setFile] = useState<File | null>(null);
  const [base, setBase] = useState<File | null>(null);
  const [round, setRound] = useState(0);
  const [over, setOver] = useState(false);
  const { type, lens, ...view } = decodeFiles(url.value);
  const set = (change: Partial<FilesState>, how = go) => how(encodeFiles({ ...decodeFiles(url.value), ...change }));
  const take = (files: FileList | null | undefined) => {
    if (!files || files.length === 0) return;
    setFile(files[files.length > 1 ? 1 : 0]);
    setBase(files.length > 1 ? files[0] : null);
    set({ type: '', zoom: '', frame: '', search: '' });
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
          {types.length > 1 && <label>Type <select value={type || types[types.length - 1]} onChange={(e) => set({ type: e.currentTarget.value, zoom: '', frame: '' })}>{types.map((t) => <option key={t} value={t}>{t}</option>)}</select></label>}
          {base && <button type="button" onClick={() => { setBase(file); setFile(base); setRound(round + 1); }}>Swap</button>}
          <LensChips lens={lens} onChange={(l) => set({ lens: l, zoom: '', frame: '' })} />
          <button type="button" onClick={() => void saveHtml(tree, file?.name ?? '')}>Save as HTML</button>
        </div>
      )}
      <QueryState query={flame} what="the file" />
      {tree && !flame.error && tree.width[0] === 0 && <p class="note">Nothing to show: the file was read, but its values add up to nothing{types.length > 1 ? '; choose another type' : ''}.</p>}
      {tree && !flame.error && tree.width[0] > 0 && (
        <FlameGraph tree={tree} title={file?.name ?? ''} zoom={view.zoom} frame={view.frame} query={view.search} onZoom={(zoom, frame) => set({ zoom, frame })}
          onFrame={(frame) => set({ frame }, replace)} onQuery={(search) => set({ search }, replace)}
          onLens={(op, name) => set({ lens: joinLens([...lensSteps(lens), `${op}:${exactly(name)}`]), zoom: '', frame: '' })} />
      )}
    </Shell>
  );
}
