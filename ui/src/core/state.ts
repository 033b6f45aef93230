// The page's state is its URL: path = page, query = everything else. Pure: text in, values out, and back.
// decode(encode(x)) = x for every x (ui/test/state.test.ts). Defaults are left out of the URL.
import type { DiffMode } from './difference';
import { parseSpan } from './format';

export interface TimeState {
  since: string;                  // "1h": the last hour, moving with the clock
  from: number | null;            // ms; both set: a fixed range instead
  to: number | null;
}

export const VIEWS = ['flame', 'table', 'tree', 'sandwich', 'heat', 'source', 'traces'] as const;
export type View = typeof VIEWS[number];

// How a flame graph is looked at, on every page that has one.
export interface Look {
  search: string;                 // a regular expression
  plain: boolean;                 // the search field takes plain text
  mark: string;                   // package or module whose frames stand out
}

export interface ServiceState extends TimeState, Look {
  service: string;
  type: string;                   // "" = the most useful one
  q: string;                      // label matchers, the inside of { }
  by: string;                     // label the timeline is split by
  sel: [number, number] | null;   // part of the timeline everything below is about, ms
  lens: string;
  view: View;
  fn: string;                     // the function that sandwich, source and traces are about
  mod: string | null;             // its module, where two share the name; "" = it has none, null = any
  line: number;                   // of its source; 0 = the hottest
  zoom: string;                   // address of a frame
  frame: string;                  // the selected one
  upzoom: string;                 // the same among the callers of a sandwich
  upframe: string;
  order: 'weight' | 'name';
  flip: boolean;                  // root at the bottom
  live: boolean;                  // asked again every 5 s
  sort: 'self' | 'total';         // of the table
  seensort: 'value' | 'duration' | 'time'; // of the traces with a function
}

export interface DiffState extends TimeState, Look {
  query: string; baseQuery: string;
  baseFrom: number | null; baseTo: number | null;
  type: string; lens: string; mode: DiffMode; zoom: string; frame: string;
}

export const TRACE_ORDERS = ['time', 'duration', 'cpu', 'samples'] as const;

export interface TracesState extends TimeState {
  service: string; name: string; min: string; max: string; status: string; attribute: string; sort: typeof TRACE_ORDERS[number];
}

export interface OverviewState extends TimeState { search: string }  // a part of a service's name

export interface TraceState extends Look { trace: string; span: string; subtree: boolean; type: string; lens: string; zoom: string; frame: string }

const DEFAULT_SINCE = '1h';
const DIFF_MODES: readonly DiffMode[] = ['raw', 'rate', 'share'];

// Unix time in s, ms, µs or ns, told apart by size as the API does it, or a date and time with its zone, in ms; null: not
// from 1970 to 2261. The first day of 1970 is left in ms, so that what this gives is read as the same again.
function unixMs(text: string | null): number | null {
  if (/^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)$/.test(text ?? '')) {
    const ms = Date.parse(text!);
    return ms >= 0 && ms < 9_223_372_036_854 ? ms : null;
  }
  if (!/^\d{1,19}$/.test(text ?? '')) return null;
  const n = Number(text);
  const ms = Math.floor(n < 1e8 ? n : n < 1e11 ? n * 1e3 : n < 1e14 ? n : n < 1e17 ? n / 1e3 : n / 1e6);
  return ms < 9_223_372_036_854 ? ms : null;
}

// What values of an address may be, by page: a choice of words or a form. What is none of them is not used, and said.
type Form = readonly string[] | { form: RegExp; text: string };
const ON: Form = ['1'];
const FRAME: Form = { form: /^[0-9a-f]{16}$/, text: 'an id of 16 hex digits' };
const GRAPH: Record<string, Form> = { zoom: FRAME, frame: FRAME, plain: ON };
const FORMS: [RegExp, Record<string, Form>][] = [
  [/^\/s\//, {
    ...GRAPH, view: VIEWS, order: ['weight', 'name'], sort: ['self', 'total'], seensort: ['value', 'duration', 'time'], flip: ON, live: ON, upzoom: FRAME, upframe: FRAME,
    sel: { form: /^(\d{1,15})-(\d{1,15})$/, text: 'a part of the timeline, two times in ms such as 1763200000000-1763203600000' }, line: { form: /^\d{1,9}$/, text: 'the number of a line' },
  }],
  [/^\/diff$/, { ...GRAPH, mode: DIFF_MODES }],
  [/^\/adhoc$/, { ...GRAPH, mode: DIFF_MODES }],
  [/^\/traces$/, { sort: TRACE_ORDERS }],
  [/^\/traces\//, { ...GRAPH, span: FRAME, subtree: ON }],
];

// Everything in an address that is not used, in sentences; "" when all of it is.
export function addressProblem(url: URL): string {
  const forms = FORMS.find(([path]) => path.test(url.pathname))?.[1] ?? {};
  const said = [timeProblem(url)];
  for (const [name, form] of Object.entries(forms)) {
    const value = url.searchParams.get(name);
    if (value === null || value === '') continue;
    const fits = 'form' in form ? form.form.test(value) && !(name === 'sel' && Number(value.split('-')[0]) >= Number(value.split('-')[1])) : form.includes(value);
    if (!fits) said.push(`“${name}” in this page's address, ${value.slice(0, 40)}, is not ${'form' in form ? form.text : form.length === 1 ? form[0] : `one of ${form.join(', ')}`}. It is left out.`);
  }
  return said.filter(Boolean).join(' ');
}

// Why the times of an address are not used; "" when they are, or there are none.
function timeProblem(url: URL): string {
  const since = url.searchParams.get('since');
  if (since && Number.isNaN(parseSpan(since))) return `“since” in this page's address, ${since.slice(0, 40)}, is no length of time (15m, 1h, 2d). The last hour is shown.`;
  for (const names of [['from', 'to'], ['base_from', 'base_to']]) {
    const texts = names.map((name) => url.searchParams.get(name));
    if (texts.every((t) => t === null || t === '')) continue;
    const bad = texts.findIndex((t) => unixMs(t) === null);
    if (bad >= 0) return texts[bad] ? `“${names[bad]}” in this page's address, ${texts[bad]!.slice(0, 40)}, is no time from 1970 to 2261 (2026-11-15T19:40:00Z, or Unix time in s, ms, µs or ns). It is left out.` : `“${names[bad]}” is missing in this page's address. “${names[1 - bad]}” alone is left out.`;
    if (unixMs(texts[0])! >= unixMs(texts[1])!) return `“${names[0]}” in this page's address is not before “${names[1]}”. Both are left out.`;
  }
  return '';
}

function time(p: URLSearchParams): TimeState {
  const since = p.get('since') ?? '';
  const [from, to] = [unixMs(p.get('from')), unixMs(p.get('to'))];
  const fixed = from !== null && to !== null && from < to;
  return { since: Number.isNaN(parseSpan(since)) ? DEFAULT_SINCE : since, from: fixed ? from : null, to: fixed ? to : null };
}

function query(pairs: [string, string, string?][]): string {
  const p = new URLSearchParams();
  for (const [name, value, otherwise = ''] of pairs) if (value !== otherwise) p.append(name, value);
  const text = p.toString();
  return text === '' ? '' : '?' + text;
}

const timePairs = (s: TimeState): [string, string, string?][] =>
  [['since', s.since, DEFAULT_SINCE], ['from', s.from === null ? '' : String(s.from)], ['to', s.to === null ? '' : String(s.to)]];

export const NO_LOOK: Look = { search: '', plain: false, mark: '' };
const look = (p: URLSearchParams): Look => ({ search: p.get('search') ?? '', plain: p.get('plain') === '1', mark: p.get('mark') ?? '' });
const lookPairs = (s: Look): [string, string][] => [['search', s.search], ['plain', s.plain ? '1' : ''], ['mark', s.mark]];

const oneOf = <T extends string>(value: string | null, choices: readonly T[]): T =>
  choices.includes(value as T) ? value as T : choices[0];
const address = (value: string | null) => (/^[0-9a-f]{16}$/.test(value ?? '') ? value! : '');
const segment = (path: string, prefix: string) => {
  try { return decodeURIComponent(path.slice(prefix.length)); } catch { return path.slice(prefix.length); }
};
// "." and ".." are places in any path, however they are written, and nothing is no segment: such a service's name goes into
// the query, behind a path that stands for it.
const NO_SEGMENT = ['', '.', '..'];
const STANDS_FOR_IT = '/s/-';

export function decodeService(url: URL): ServiceState {
  const p = url.searchParams;
  const sel = /^(\d{1,15})-(\d{1,15})$/.exec(p.get('sel') ?? '');
  return {
    ...time(p), service: (url.pathname === STANDS_FOR_IT ? p.get('service') : null) ?? segment(url.pathname, '/s/'), type: p.get('type') ?? '', q: p.get('q') ?? '', by: p.get('by') ?? '',
    sel: sel && Number(sel[1]) < Number(sel[2]) ? [Number(sel[1]), Number(sel[2])] : null,
    lens: p.get('lens') ?? '', view: oneOf(p.get('view'), VIEWS), fn: p.get('fn') ?? '', mod: p.get('mod'),
    line: /^\d{1,9}$/.test(p.get('line') ?? '') ? Number(p.get('line')) : 0, upzoom: address(p.get('upzoom')), upframe: address(p.get('upframe')), ...look(p),
    zoom: address(p.get('zoom')), frame: address(p.get('frame')), order: oneOf(p.get('order'), ['weight', 'name']), flip: p.get('flip') === '1', live: p.get('live') === '1',
    sort: oneOf(p.get('sort'), ['self', 'total']), seensort: oneOf(p.get('seensort'), ['value', 'duration', 'time']),
  };
}

export function encodeService(s: ServiceState): string {
  const odd: [string, string, string?][] = NO_SEGMENT.includes(s.service) ? [['service', s.service, '-']] : [];
  return (odd.length > 0 ? STANDS_FOR_IT : '/s/' + encodeURIComponent(s.service)) + query([
    ...odd, ...timePairs(s), ['type', s.type], ['q', s.q], ['by', s.by], ['sel', s.sel ? s.sel.join('-') : ''], ['lens', s.lens],
    ['view', s.view, 'flame'], ['fn', s.fn], ...(s.mod === null ? [] : [['mod', s.mod, '\0'] as [string, string, string]]), ['line', String(s.line), '0'], ...lookPairs(s),
    ['zoom', s.zoom], ['frame', s.frame], ['upzoom', s.upzoom], ['upframe', s.upframe], ['order', s.order, 'weight'], ['flip', s.flip ? '1' : ''], ['live', s.live ? '1' : ''],
    ['sort', s.sort, 'self'], ['seensort', s.seensort, 'value'],
  ]);
}

export function decodeDiff(url: URL): DiffState {
  const p = url.searchParams;
  const base = time(new URLSearchParams({ from: p.get('base_from') ?? '', to: p.get('base_to') ?? '' }));
  return {
    ...time(p), query: p.get('query') ?? '', baseQuery: p.get('base_query') ?? '', baseFrom: base.from, baseTo: base.to,
    type: p.get('type') ?? '', lens: p.get('lens') ?? '', mode: oneOf(p.get('mode'), DIFF_MODES),
    ...look(p), zoom: address(p.get('zoom')), frame: address(p.get('frame')),
  };
}

export function encodeDiff(s: DiffState): string {
  return '/diff' + query([
    ...timePairs(s), ['query', s.query], ['base_query', s.baseQuery],
    ['base_from', s.baseFrom === null ? '' : String(s.baseFrom)], ['base_to', s.baseTo === null ? '' : String(s.baseTo)],
    ['type', s.type], ['lens', s.lens], ['mode', s.mode, 'raw'], ...lookPairs(s), ['zoom', s.zoom], ['frame', s.frame],
  ]);
}

export function decodeTraces(url: URL): TracesState {
  const p = url.searchParams;
  const text = (name: string) => p.get(name) ?? '';
  return { ...time(p), service: text('service'), name: text('name'), min: text('min'), max: text('max'), status: text('status'), attribute: text('attribute'), sort: oneOf(p.get('sort'), TRACE_ORDERS) };
}

export function encodeTraces(s: TracesState): string {
  return '/traces' + query([...timePairs(s), ['service', s.service], ['name', s.name], ['min', s.min], ['max', s.max], ['status', s.status], ['attribute', s.attribute], ['sort', s.sort, 'time']]);
}

export function decodeTrace(url: URL): TraceState {
  const p = url.searchParams;
  return {
    trace: segment(url.pathname, '/traces/'), span: address(p.get('span')), subtree: p.get('subtree') === '1', type: p.get('type') ?? '', lens: p.get('lens') ?? '',
    zoom: address(p.get('zoom')), frame: address(p.get('frame')), ...look(p),
  };
}

export function encodeTrace(s: TraceState): string {
  return '/traces/' + encodeURIComponent(s.trace) + query([['span', s.span], ['subtree', s.subtree ? '1' : ''], ['type', s.type], ['lens', s.lens], ['zoom', s.zoom], ['frame', s.frame], ...lookPairs(s)]);
}

export const decodeOverview = (url: URL): OverviewState => ({ ...time(url.searchParams), search: url.searchParams.get('search') ?? '' });
export const encodeOverview = (s: OverviewState) => '/' + query([...timePairs(s), ['search', s.search]]);

// The page of files: which they are, by name, and how they are looked at; what is in them cannot be in an address.
export interface FilesState extends Look { file: string; base: string; mode: DiffMode; type: string; lens: string; zoom: string; frame: string }

export function decodeFiles(url: URL): FilesState {
  const p = url.searchParams;
  return { file: p.get('file') ?? '', base: p.get('base') ?? '', mode: oneOf(p.get('mode'), DIFF_MODES), type: p.get('type') ?? '', lens: p.get('lens') ?? '', zoom: address(p.get('zoom')), frame: address(p.get('frame')), ...look(p) };
}

export const encodeFiles = (s: FilesState) => '/adhoc' + query([['file', s.file], ['base', s.base], ['mode', s.mode, 'raw'], ['type', s.type], ['lens', s.lens], ['zoom', s.zoom], ['frame', s.frame], ...lookPairs(s)]);

// A service's page as one first opens it.
export const newService = (service: string, time: TimeState): ServiceState => ({
  since: time.since, from: time.from, to: time.to, service, type: '', q: '', by: '', sel: null, lens: '', view: 'flame', fn: '', mod: null, line: 0, ...NO_LOOK, zoom: '', frame: '',
  upzoom: '', upframe: '', order: 'weight', flip: false, live: false, sort: 'self', seensort: 'value',
});

// All traces of a service.
export const newTraces = (service: string, time: TimeState): TracesState =>
  ({ since: time.since, from: time.from, to: time.to, service, name: '', min: '', max: '', status: '', attribute: '', sort: 'time' });

// --- what the API is asked ---

export function selectorOf(service: string, q: string): string {
  const name = `service_name="${service.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n')}"`;
  return `{${[name, q.trim().replace(/,\s*$/, '')].filter(Boolean).join(', ')}}`;
}

export function timeOf(s: TimeState): Record<string, string> {
  return s.from !== null && s.to !== null ? { from: s.from + '', to: s.to + '' } : { since: s.since };
}

export const lensSteps = (lens: string) => lens.split(' > ').map((s) => s.trim()).filter(Boolean);
export const joinLens = (steps: string[]) => steps.join(' > ');
// Twice inverted is as it was.
export const addStep = (lens: string, step: string) => {
  const steps = lensSteps(lens);
  return joinLens(step === 'invert' && steps.at(-1) === 'invert' ? steps.slice(0, -1) : [...steps, step]);
};

// An id out of a log line, or a whole traceparent header, which has the span too.
export function traceIn(text: string): { name: string; kind: string; href: string }[] {
  const [, trace, span] = /^(?:00-)?([0-9a-f]{32})(?:-([0-9a-f]{16})(?:-[0-9a-f]{2})?)?$/.exec(text.trim().toLowerCase()) ?? [];
  return trace ? [{ name: trace, kind: 'trace', href: `/traces/${trace}${span ? `?span=${span}` : ''}` }] : [];
}
