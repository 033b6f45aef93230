// Decodes a flame graph: small ones here, large ones in a worker, so that the page stays responsive. If no worker can
// be started (old browser, policy, script gone after an update), everything is decoded here.
import type { Decoded } from './decode.worker';
import { assemble, decodeFlame, type FlameColumns } from './flame';
import { rememberTree } from './tree';

const WORKER_FROM = 400_000; // bytes; less takes no longer than a frame or two

interface Waiting {
  resolve: (columns: FlameColumns) => void;
  reject: (e: Error) => void;
}

let starting: Promise<Worker | null> | null = null;
const waiting = new Map<number, Waiting>();
let last = 0;

function finish(answer: Decoded): void {
  const asker = waiting.get(answer.id);
  waiting.delete(answer.id);
  if (!asker) return;
  if ('problem' in answer) {
    asker.reject(new Error(answer.problem));
    return;
  }
  const columns = assemble(answer.parts);
  rememberTree(columns, { ...answer.layout, meta: columns.meta, functions: columns.functions });
  asker.resolve(columns);
}

const start = () =>
  new Promise<Worker | null>((resolve) => {
    let worker: Worker;
    try {
      worker = new Worker(new URL('./decode.worker.ts', import.meta.url), { type: 'module' });
    } catch {
      resolve(null);
      return;
    }
    worker.onmessage = ({ data }: MessageEvent<Decoded | 'ready'>) => {
      if (data === 'ready') resolve(worker);
      else finish(data);
    };
    worker.onerror = (e) => {
      e.preventDefault(); // handled here, not an error of the page
      resolve(null); // the worker could not be loaded
      starting = Promise.resolve(null);
      for (const asker of waiting.values()) asker.reject(new Error('the flame graph could not be decoded'));
      waiting.clear();
    };
  });

export async function decode(bytes: Uint8Array): Promise<FlameColumns> {
  if (bytes.length < WORKER_FROM) return decodeFlame(bytes);
  starting ??= start();
  const worker = await starting;
  if (!worker) return decodeFlame(bytes);
  return new Promise((resolve, reject) => {
    waiting.set(++last, { resolve, reject });
    worker.postMessage({ id: last, bytes }, [bytes.buffer]);
  });
}
