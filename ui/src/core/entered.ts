// Checks what people type into the page's fields and says in a sentence what is wrong. Pure.

// Parses "2026-01-31 14:00:00" in the page's time zone, or in its own if it has one. NaN if it is not a time.
export function parseTime(text: string, utc: boolean): number {
  const t = text.trim().replace(' ', 'T');
  return Date.parse(!utc || /Z$|[+-]\d\d:?\d\d$/.test(t) ? t : t + 'Z');
}

export function rangeProblem(from: string, to: string, utc: boolean): string {
  for (const [name, text] of [
    ['From', from],
    ['To', to],
  ]) {
    if (text.trim() === '') return `${name} is empty: type a time such as 2026-01-31 14:00:00.`;
    if (Number.isNaN(parseTime(text, utc))) return `${name} is not a time: type it as 2026-01-31 14:00:00.`;
  }
  return parseTime(from, utc) < parseTime(to, utc) ? '' : 'From must be before To.';
}

// An example filter from the service's label names; the version first, as it is asked for most.
export function filterExample(labels: string[]): string {
  const name = labels.includes('service.version') ? 'service.version' : labels[0];
  return name === undefined || name === 'service.version' ? 'service.version="v2"' : `${name}=~"a.*"`;
}

const OPS = ['focus', 'hide', 'merge', 'collapse', 'drop', 'recursion'];
const PATH_OPS = ['focus-path', 'merge-path'];
const WORDS = ['own', 'my-code', 'merge-templates', 'invert'];
export const LENS_HELP =
  'focus:RE, hide:RE, merge:RE, collapse:RE, drop:RE, recursion:RE, focus-path:A;B;C, merge-path:A;B;C, own, ' +
  'own:+RE -RE, my-code, merge-templates or invert';

export function lensProblem(text: string): string {
  const step = text.trim();
  if (WORDS.includes(step)) return '';
  const at = step.indexOf(':');
  if (at >= 0 && OPS.includes(step.slice(0, at)))
    return step.length > at + 1 ? '' : `After “${step}” comes a regular expression, as in ${step}^std::`;
  if (at >= 0 && PATH_OPS.includes(step.slice(0, at)))
    return step.length > at + 1
      ? ''
      : `After “${step}” come functions from the top down, as in ${step}main;handle;parse`;
  if (step.startsWith('own:')) return ownProblem(step.slice('own:'.length));
  return `“${step.slice(0, 60)}” is not a lens step. The steps are ${LENS_HELP}.`;
}

// Rules of own code; "" stands for the defaults.
export function ownProblem(rules: string): string {
  const bad = rules.split(/\s+/).find((rule) => rule !== '' && !/^[+-]./.test(rule));
  if (bad === undefined) return '';
  return `“${bad.slice(0, 40)}” is no rule: +regex is own, -regex is not, with blanks between them.`;
}

// Whether the text may still become a valid step.
export const lensBegun = (text: string) =>
  [...[...OPS, ...PATH_OPS, 'own'].map((op) => op + ':'), ...WORDS].some((word) => word.startsWith(text.trim()));
