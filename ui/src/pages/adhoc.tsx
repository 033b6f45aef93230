// A file, or two to compare: dropped here, read by this server in memory, and dropped again, unless somebody keeps it.
// The files stay in the tab's memory under their names, which are in the address: the way back leads to them.
import { useMemo, useState } from 'preact/hooks';
import { aboutFiles } from '../core/about';
import { postFile, postFlame } from '../core/api';
import { chosen, remember, remembered } from '../core/files';
import { formatCount } from '../core/format';
import { go, replace, url } from '../core/location';
import { addStep, decodeFiles, encodeFiles, type FilesState } from '../core/state';
import { buildTree } from '../core/tree';
import { safe, shownName } from '../draw/flame';
import { Changes, Legend, Modes, useDifference } from '../parts/difference';
import { Export, OF_ONE, OF_TWO } from '../parts/export';
import { FlameGraph } from '../parts/flame';
import { Keep } from '../parts/keep';
import { LensChips } from '../parts/lens';
import { Answer, QueryState, useQuery } from '../parts/query';
import { useSearchedFlame } from '../parts/searched';
import { Shell } from '../parts/shell';

const FORMATS = 'pprof, OTLP profiles, JFR, folded stacks, speedscope, flamebearer; gzipped or not';

const formOf = (file: File, base?: File) => {
  const form = new FormData();
  form.append('file', file);
  if (base) form.append('base', base);
  return form;
};

export function AdHocPage() {
  const [over, setOver] = useState(false);
  const [problem, setProblem] = useState('');
  const [, setRound] = useState(0);  // the address may stay the same when a file is dropped again
  const state = decodeFiles(url.value);
  const set = (change: Partial<FilesState>, how = go) => how(encodeFiles({ ...decodeFiles(url.value), ...change }));
  const take = (list: FileList | null | undefined) => {
    const taken = chosen([...list ?? []]);
    if (taken === null) return;
    setProblem(typeof taken === 'string' ? taken : '');
    if (typeof taken === 'string') return;
    setRound((n) => n + 1);
    set({ file: remember(taken.file), base: taken.base ? remember(taken.base) : '', type: '', zoom: '', frame: '', search: '', mark: '' });
  };
  const [file, base] = [remembered(state.file), remembered(state.base)];
  const missing = [state.base, state.file].filter((key) => key !== '' && !remembered(key));
  const ready = file !== undefined && missing.length === 0;
  const asked = { type: state.type, lens: state.lens };
  const of = JSON.stringify([state.file, state.base]);
  const flame = useQuery(ready ? JSON.stringify([of, asked]) : null, async (s) => ({ of, columns: await postFlame('adhoc', asked, formOf(file!, base), s) }));
  // What was shown stays when a lens cannot be read; when a file cannot, what is shown would be another's.
  const data = ready && (!flame.error || flame.data?.of === of) ? flame.data?.columns : undefined;
  const two = data?.before !== undefined;
  const { columns, searched } = useSearchedFlame(data, JSON.stringify(['adhoc', state.file, state.base]), asked, state.search, (p, s) => postFlame('adhoc', p, formOf(file!, base), s));
  const one = useMemo(() => columns && !two && buildTree(columns), [columns]);
  const difference = useDifference(two ? columns : undefined, state.mode);
  const tree = two ? difference.tree : one || undefined;
  const types = data?.meta.types ?? [];
  const shown = tree !== undefined && tree.width[0] > 0;
  const about = aboutFiles(state, state.type || data?.meta.type || '', difference.mode, location.origin);
  return (
    <Shell title="Files">
      <div class="toolbar"><h1>Files</h1>{state.file !== '' && <p><bdi>{shownName(about.title, 300)}</bdi>{file && !base && `, ${formatCount(file.size)} bytes`}</p>}</div>
      <div class={'drop' + (over ? ' over' : '')} onDragOver={(e) => { e.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)}
        onDrop={(e) => { e.preventDefault(); setOver(false); take(e.dataTransfer?.files); }}>
        <p><label>Drop one file here, or two to compare (before, after), or choose <input type="file" multiple onChange={(e) => { take(e.currentTarget.files); e.currentTarget.value = ''; }} /></label></p>
        <p><small>{FORMATS}. A file goes to this server, is read in memory and dropped again: nothing is stored unless you keep it.</small></p>
      </div>
      {problem !== '' && <p class="note error" role="alert">{problem}</p>}
      {missing.length > 0 && <p class="note" data-testid="drop-again">This page was loaded anew, and files are in the tab's memory only. Drop {missing.length === 2 ? <>them again: first <b><bdi>{safe(state.base)}</bdi></b>, then <b><bdi>{safe(state.file)}</bdi></b></> : <><b><bdi>{safe(missing[0])}</bdi></b> again{state.base !== '' && ', together with the other'}</>}.</p>}
      {(data || (ready && state.lens !== '')) && (
        <div class="toolbar">
          {data && types.length > 1 && <label>Type <select value={state.type || data.meta.type} onChange={(e) => set({ type: e.currentTarget.value, zoom: '', frame: '' })}>{types.map((t) => <option key={t} value={t}>{t}</option>)}</select></label>}
          {two && <button type="button" onClick={() => set({ file: state.base, base: state.file, zoom: '', frame: '' })}>Swap</button>}
          {two && <Modes difference={difference} onMode={(mode) => set({ mode })} />}
          <LensChips lens={state.lens} onChange={(lens) => set({ lens, zoom: '', frame: '' })} />
          <span class="grow" />
          {shown && <Export formats={two ? OF_TWO : OF_ONE} texts={two ? { folded: 'folded stacks of both files', csv: 'CSV of all functions, both files' } : state.lens ? { pprof: 'pprof, functions only' } : undefined}
            load={(format) => postFile('adhoc', { ...asked, format }, formOf(file!, base), new AbortController().signal)} tree={tree} about={about} />}
        </div>
      )}
      <QueryState query={flame} what={base ? 'the files' : 'the file'} shown={data !== undefined} />
      {data && !shown && <p class="note">Nothing to show: {state.lens !== '' ? 'the lens takes all of it away' : 'the file was read, but its values add up to nothing'}{types.length > 1 ? '; choose another type' : ''}.</p>}
      {tree && shown && (
        <Answer query={flame}>
          <FlameGraph tree={tree} about={about} zoom={state.zoom} frame={state.frame} query={state.search} searched={searched} mark={state.mark} onMark={(mark) => set({ mark })} onZoom={(zoom, frame) => set({ zoom, frame })}
            onFrame={(frame) => set({ frame }, replace)} onQuery={(search, typed) => set({ search }, typed ? replace : go)}
            onLens={(step) => set({ lens: addStep(state.lens, step), zoom: '', frame: '' })} noLinks="only of what is stored; below the file can be kept." />
          {two && <><Legend /><Changes difference={difference} onSearch={(search) => set({ search })} /></>}
        </Answer>
      )}
      {data && file && !flame.loading && (
        <section aria-label="Keep">
          <h2>Keep {two ? 'one of them' : 'it'}</h2>
          {base && data.meta.base && <div class="kept-file"><b>A <bdi>{shownName(base.name, 200)}</bdi></b><Keep key={'base' + state.base} file={base} facts={data.meta.base} /></div>}
          {data.meta.file && <div class="kept-file">{base && <b>B <bdi>{shownName(file.name, 200)}</bdi></b>}<Keep key={'file' + state.file} file={file} facts={data.meta.file} /></div>}
        </section>
      )}
    </Shell>
  );
}
