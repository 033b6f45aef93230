// Decodes and lays out a large flame graph off the main thread. Large arrays are transferred, not copied.
import { assemble, decodeParts, type FlameParts } from './flame';
import { buildTree, type Tree } from './tree';

export type Layout = Omit<Tree, 'meta' | 'functions' | 'measure'>;
export type Decoded = { id: number; parts: FlameParts; layout: Layout } | { id: number; problem: string };

const page = self as unknown as {
  postMessage(message: Decoded | 'ready', transfer?: Transferable[]): void;
  onmessage: ((e: MessageEvent<{ id: number; bytes: Uint8Array }>) => void) | null;
};

const buffers = (...objects: object[]): ArrayBuffer[] => [
  ...new Set(
    objects
      .flatMap((o) => Object.values(o))
      .filter((v) => ArrayBuffer.isView(v))
      .map((v) => v.buffer as ArrayBuffer),
  ),
];

page.onmessage = ({ data: { id, bytes } }) => {
  try {
    const parts = decodeParts(bytes);
    const { meta: _, functions: __, ...layout } = buildTree(assemble(parts));
    page.postMessage({ id, parts, layout }, buffers(parts, parts.table, layout));
  } catch (e) {
    page.postMessage({ id, problem: e instanceof Error ? e.message : String(e) });
  }
};
page.postMessage('ready');
