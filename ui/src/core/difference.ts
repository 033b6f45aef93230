// A difference as numbers: what a value before is worth, and which functions changed most. Pure.
import { OTHER } from './flame';
import type { Tree } from './tree';

export type DiffMode = 'raw' | 'rate' | 'share';

// The factor for values before. rate: per second of wall time; share: of each side's whole.
export function factorOf(mode: DiffMode, seconds: { before: number; after: number }, total: { before: number; after: number }): number {
  if (mode === 'rate') return seconds.before > 0 && seconds.after > 0 ? seconds.after / seconds.before : 1;
  if (mode === 'share') return total.before > 0 && total.after > 0 ? total.after / total.before : 1;
  return 1;
}

export interface Change { name: string; module: string; before: number; after: number; count: number }

// Functions by how much their own value changed, largest change first.
export function changes(tree: Tree): Change[] {
  const rows = tree.functions.map((f): Change => ({ name: f.name, module: f.module, before: 0, after: 0, count: 0 }));
  for (let i = 0; i < tree.func.length; i++) {
    const row = rows[tree.func[i]];
    row.after += tree.self[i];
    row.before += tree.before?.[i] ?? 0;
    row.count += tree.count[i];
  }
  return rows.filter((r, i) => tree.functions[i].kind !== OTHER && r.before !== r.after)
    .sort((a, b) => Math.abs(b.after - b.before) - Math.abs(a.after - a.before));
}
