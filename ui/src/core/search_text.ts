// A search in the address is always a regular expression, as for the API and the command line. `plain=1` means that the
// field shows it as plain text. Pure.
const SIGNS = /[\\^$.|?*+()[\]{}]/g;

// An expression that matches just this text.
export const escaped = (text: string) => text.replace(SIGNS, '\\$&');

// The text an expression matches, if it is just one; else null.
export function plainText(pattern: string): string | null {
  const text = pattern.replace(/\\([\\^$.|?*+()[\]{}])/g, '$1');
  return escaped(text) === pattern ? text : null;
}

// What the field shows. An expression that is not plain text (such as a frame's exact name) is shown as an expression,
// whatever was chosen.
export function shownSearch(pattern: string, plain: boolean): { text: string; plain: boolean } {
  const text = plain ? plainText(pattern) : null;
  return text === null ? { text: pattern, plain: false } : { text, plain: true };
}

// The same page with the text in the field read the other way.
export function searchedAs(url: URL, plain: boolean): string {
  const next = new URL(url);
  const p = next.searchParams;
  const { text } = shownSearch(p.get('search') ?? '', p.get('plain') === '1');
  if (plain) p.set('plain', '1');
  else p.delete('plain');
  if (text !== '') p.set('search', plain ? escaped(text) : text);
  return next.pathname + next.search;
}
