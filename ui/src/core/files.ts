// Opened files, kept in memory as long as the tab and found by the key in the address. Pure but for the map.

const opened = new Map<string, File>();
const same = (a: File, b: File) =>
  a === b || (a.name === b.name && a.size === b.size && a.lastModified === b.lastModified);

// The key is the file's name; another file of the same name gets a number.
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

// The files of a drop: one, or two to compare (before, after); more are an error.
export function chosen(files: readonly File[]): { base: File | null; file: File } | string | null {
  if (files.length === 0) return null;
  if (files.length > 2) return `These are ${files.length} files. Drop one to view it, or two to compare them.`;
  return files.length === 2 ? { base: files[0], file: files[1] } : { base: null, file: files[0] };
}
