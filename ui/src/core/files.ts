// Files somebody opened, for the life of the tab: in memory only, found again by their key, which is in the address. Pure
// but for the map.

const opened = new Map<string, File>();
const same = (a: File, b: File) => a === b || (a.name === b.name && a.size === b.size && a.lastModified === b.lastModified);

// The key is the file's name; another file of that name gets a number.
export function remember(file: File): string {
  for (let n = 1; ; n++) {
    const key = n === 1 ? file.name : `${file.name} (${n})`;
    const known = opened.get(key);
    if (known && !same(known, file)) continue;
    opened.set(key, file);
    return key;
  }
}

export const remembered = (key: string): File | undefined => opened.get(key);

// What became of a drop: one file, or two (before, after); more are too many to compare.
export function chosen(files: readonly File[]): { base: File | null; file: File } | string | null {
  if (files.length === 0) return null;
  if (files.length > 2) return `That were ${files.length} files. One can be looked at, or two compared: drop one or two.`;
  return files.length === 2 ? { base: files[0], file: files[1] } : { base: null, file: files[0] };
}
