// One file, or two to compare: the server reads them in memory and forgets them, unless the reader keeps one. The tab
// remembers the files by name; the address has the names, so going back finds them.
import { useMemo, useState } from 'preact/hooks';
import { aboutFiles } from '../core/about';
import { postFile, postFlame } from '../core/api';
import { chosen, remember, remembered } from '../core/files';
import type { FlameMeta } from '../core/flame';
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

const FORMATS = 'pprof, OTLP profiles, JFR, folded stacks, speedscope, perf script, flamebearer; gzipped or not';

const formOf = (file: File, base?: File) => {
  const form = new FormData();
  form.append('file', file);
  if (base) form.append('base', base);
  return form;
};

const set = (change: Partial<FilesState>, how = go) => how(encodeFiles({ ...decodeFiles(url.value), ...change }));
const NO_FRAME = { zoom: '', frame: '' };

export function AdHocPage() {
  const [problem, setProblem] = useState('');
  const [, setRound] = useState(0); // redraws even if the address stays the same
  const state = decodeFiles(url.value);
  const take = (list: FileList | null | undefined) => {
    const taken = chosen([...(list ?? [])]);
    if (taken === null) return;
    setProblem(typeof taken === 'string' ? taken : '');
    if (typeof taken === 'string') return;
    setRound((n) => n + 1);
    const base = taken.base ? remember(taken.base) : '';
    set({ file: remember(taken.file), base, type: '', ...NO_FRAME, search: '', mark: '' });
  };
  const opened = useFiles(state);
  const { file, base, missing, ready, flame, data, two, tree } = opened;
  return (
    <Shell title="Files">
      <div class="toolbar">
        <h1>Files</h1>
        {state.file !== '' && (
          <p>
            <bdi>{shownName(opened.about.title, 300)}</bdi>
            {file && !base && `, ${formatCount(file.size)} bytes`}
          </p>
        )}
      </div>
      <Drop onTake={take} />
      {problem !== '' && (
        <p class="note error" role="alert">
          {problem}
        </p>
      )}
      {missing.length > 0 && <DropAgain state={state} missing={missing} />}
      {(data || (ready && state.lens !== '')) && <FilesBar state={state} files={opened} />}
      <QueryState query={flame} what={base ? 'the files' : 'the file'} shown={data !== undefined} />
      {data && !opened.shown && (
        <p class="note">
          Nothing to show:{' '}
          {state.lens !== '' ? 'the lens removes everything' : 'the file was read, but its values add up to 0'}
          {opened.types.length > 1 ? '; choose another type' : ''}.
        </p>
      )}
      {tree && opened.shown && (
        <Answer query={flame}>
          <FlameGraph
            tree={tree}
            about={opened.about}
            zoom={state.zoom}
            frame={state.frame}
            query={state.search}
            searched={opened.searched}
            mark={state.mark}
            onMark={(mark) => set({ mark })}
            onZoom={(zoom, frame) => set({ zoom, frame })}
            onFrame={(frame) => set({ frame }, replace)}
            onQuery={(search, typed) => set({ search }, typed ? replace : go)}
            onLens={(step) => set({ lens: addStep(state.lens, step), ...NO_FRAME })}
            noLinks="only for stored profiles; the file can be kept below."
          />
          {two && (
            <>
              <Legend tested={opened.difference.tested !== undefined} />
              <Changes difference={opened.difference} onSearch={(search) => set({ search })} />
            </>
          )}
        </Answer>
      )}
      {data && file && !flame.loading && <KeepFiles state={state} file={file} base={base} two={two} meta={data.meta} />}
    </Shell>
  );
}

// The files named by the address, if the tab still has them, and what the server read from them.
function useFiles(state: FilesState) {
  const [file, base] = [remembered(state.file), remembered(state.base)];
  const missing = [state.base, state.file].filter((key) => key !== '' && !remembered(key));
  const ready = file !== undefined && missing.length === 0;
  const asked = { type: state.type, lens: state.lens };
  const of = JSON.stringify([state.file, state.base]);
  const flame = useQuery(ready ? JSON.stringify([of, asked]) : null, async (s) => ({
    of,
    columns: await postFlame('adhoc', asked, formOf(file!, base), s),
  }));
  // If a lens is invalid, the previous graph stays; if a file is, it would show another file's data.
  const data = ready && (!flame.error || flame.data?.of === of) ? flame.data?.columns : undefined;
  const two = data?.before !== undefined;
  const { columns, searched } = useSearchedFlame(
    data,
    JSON.stringify(['adhoc', state.file, state.base]),
    asked,
    state.search,
    (p, s) => postFlame('adhoc', p, formOf(file!, base), s),
  );
  const one = useMemo(() => columns && !two && buildTree(columns), [columns]);
  const difference = useDifference(two ? columns : undefined, state.mode, true);
  const tree = two ? difference.tree : one || undefined;
  const shown = tree !== undefined && tree.width[0] > 0;
  const types = data?.meta.types ?? [];
  const about = aboutFiles(state, state.type || data?.meta.type || '', difference.mode, location.origin);
  return { file, base, missing, ready, asked, flame, data, two, searched, difference, tree, shown, types, about };
}

type Files = ReturnType<typeof useFiles>;

function Drop({ onTake }: { onTake: (list: FileList | null | undefined) => void }) {
  const [over, setOver] = useState(false);
  return (
    <div
      class={'drop' + (over ? ' over' : '')}
      onDragOver={(e) => {
        e.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(e) => {
        e.preventDefault();
        setOver(false);
        onTake(e.dataTransfer?.files);
      }}
    >
      <p>
        <label>
          Drop one file here, or two to compare (before, after), or choose{' '}
          <input
            type="file"
            multiple
            onChange={(e) => {
              onTake(e.currentTarget.files);
              e.currentTarget.value = '';
            }}
          />
        </label>
      </p>
      <p>
        <small>
          {FORMATS}. A file goes to this server, is read in memory and dropped again: nothing is stored unless you keep
          it.
        </small>
      </p>
    </div>
  );
}

const Name = ({ text }: { text: string }) => (
  <b>
    <bdi>{safe(text)}</bdi>
  </b>
);

const DropAgain = ({ state, missing }: { state: FilesState; missing: string[] }) => (
  <p class="note" data-testid="drop-again">
    The page was reloaded, and files are kept only in the tab's memory. Drop{' '}
    {missing.length === 2 ? (
      <>
        them again: first <Name text={state.base} />, then <Name text={state.file} />
      </>
    ) : (
      <>
        <Name text={missing[0]} /> again{state.base !== '' && ', together with the other'}
      </>
    )}
    .
  </p>
);

function FilesBar({ state, files }: { state: FilesState; files: Files }) {
  const { file, base, asked, data, two, types, difference, tree, about } = files;
  const ofOne = state.lens ? { pprof: 'pprof, functions only' } : undefined;
  const ofTwo = { folded: 'folded stacks of both files', csv: 'CSV of all functions, both files' };
  return (
    <div class="toolbar">
      {data && types.length > 1 && (
        <label>
          Type{' '}
          <select
            value={state.type || data.meta.type}
            onChange={(e) => set({ type: e.currentTarget.value, ...NO_FRAME })}
          >
            {types.map((t) => (
              <option key={t} value={t}>
                {t}
              </option>
            ))}
          </select>
        </label>
      )}
      {two && (
        <button type="button" onClick={() => set({ file: state.base, base: state.file, ...NO_FRAME })}>
          Swap
        </button>
      )}
      {two && <Modes difference={difference} onMode={(mode) => set({ mode })} />}
      <LensChips lens={state.lens} onChange={(lens) => set({ lens, ...NO_FRAME })} />
      <span class="grow" />
      {files.shown && (
        <Export
          formats={two ? OF_TWO : OF_ONE}
          texts={two ? ofTwo : ofOne}
          load={(format) => postFile('adhoc', { ...asked, format }, formOf(file!, base), new AbortController().signal)}
          tree={tree}
          about={about}
        />
      )}
    </div>
  );
}

interface KeepFilesProps {
  state: FilesState;
  file: File;
  base?: File;
  two: boolean;
  meta: FlameMeta;
}

function KeepFiles({ state, file, base, two, meta }: KeepFilesProps) {
  return (
    <section aria-label="Keep">
      <h2>Keep {two ? 'one of them' : 'it'}</h2>
      {base && meta.base && (
        <div class="kept-file">
          <b>
            A <bdi>{shownName(base.name, 200)}</bdi>
          </b>
          <Keep key={'base' + state.base} file={base} facts={meta.base} />
        </div>
      )}
      {meta.file && (
        <div class="kept-file">
          {base && (
            <b>
              B <bdi>{shownName(file.name, 200)}</bdi>
            </b>
          )}
          <Keep key={'file' + state.file} file={file} facts={meta.file} />
        </div>
      )}
    </section>
  );
}
