// A search as it stands in the address: always a regular expression (the same text as the API's and the command's), and
// `plain=1` where the field shows and reads plain text instead. Pure.
const SIGNS = /[\\^$.|?*+()[\]{}]/g;

// The expression that matches just this text.
export const escaped = (text: string) => text.replace(SIGNS, '\\$&');

// The text that an expression matches, where it is just one; else null.
export function plainText(pattern: string): string | null {
  const text = pattern.replace(/\\([\\^$.|?*+()[\]{}])/g, '$1');
  return escaped(text) === pattern ? text : null;
}

// What the field shows. An expression that is no plain text (a frame's exact name) is shown as what it is, whatever was chosen.
export function shownSearch(pattern: string, plain: boolean): { text: string; plain: boolean } {
  const text = plain ? plainText(pattern) : null;
  return text === null ? { text: pattern, plain: false } : { text, plain: true };
}

// The same page with what the field shows read the other way.
export function searchedAs(url: URL, plain: boolean): string {
  const next = new URL(url);
  const p = next.searchParams;
  const { text } = shownSearch(p.get('search') ?? '', p.get('plain') === '1');
  if (plain) p.set('plain', '1'); else p.delete('plain');
  if (text !== '') p.set('search', plain ? escaped(text) : text);
  return next.pathname + next.search;
}
