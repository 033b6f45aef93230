// The page's state is its URL: the path is the page, the query is the rest. Each page has one table of fields, from
// which its type, reading and writing follow. Pure. decode(encode(x)) = x for every x (ui/test/state.test.ts).
import type { DiffMode } from './difference';
import {
  type Box,
  box,
  type Field,
  type Fields,
  fieldProblems,
  flag,
  id,
  initialOf,
  lineNumber,
  moment,
  named,
  oneOf,
  part,
  readFields,
  since,
  text,
  textOrNone,
  type Values,
  writeFields,
} from './fields';

export const VIEWS = ['flame', 'table', 'tree', 'sandwich', 'heat', 'source', 'traces'] as const;
export const SERVICE_ORDERS = ['cores', 'cost', 'median', 'p99', 'heap', 'last', 'name'] as const;
export const TRACE_ORDERS = ['time', 'duration', 'cpu', 'samples'] as const;
const diffMode: Field<DiffMode> = oneOf('raw', 'rate', 'share', 'request');

// A range relative to now, or a fixed one if both ends are set (ms).
const TIME = { since, from: moment, to: moment };

// How a flame graph is shown, on every page that has one.
const LOOK = {
  search: text, // a regular expression
  plain: flag, // the search field takes plain text
  mark: text, // package or module whose frames stand out
};

const SERVICE = {
  ...TIME,
  type: text, // "" = the most useful one
  q: text, // label matchers, the inside of { }
  by: text, // label the timeline is split by
  sel: part, // the selected part of the timeline
  lens: text,
  view: oneOf(...VIEWS),
  fn: text, // the function that sandwich, source and traces are about
  mod: textOrNone, // its module, if several share the name; "" = no module, null = any
  line: lineNumber, // of its source; 0 = the hottest
  ...LOOK,
  zoom: id, // address of a frame
  frame: id, // the selected one
  upzoom: id, // the same in the upper half of a sandwich
  upframe: id,
  order: oneOf('weight', 'name'),
  flip: flag, // root at the bottom
  live: flag, // reload every 5 s
  sort: oneOf('self', 'total'), // of the table
  seensort: oneOf('value', 'duration', 'time'), // of the traces with a function
};

const DIFF = {
  ...TIME,
  query: text,
  baseQuery: named('base_query', text),
  baseFrom: named('base_from', moment),
  baseTo: named('base_to', moment),
  type: text,
  lens: text,
  mode: diffMode,
  ...LOOK,
  zoom: id,
  frame: id,
};

const TRACES = {
  ...TIME,
  service: text,
  name: text,
  min: text,
  max: text,
  status: text,
  attribute: text,
  box, // the selected part of the heat map
  sort: oneOf(...TRACE_ORDERS),
};

export const TRACE_SCOPES = ['samples', 'critical', 'similar'] as const;

const TRACE = {
  span: id,
  subtree: flag,
  scope: oneOf(...TRACE_SCOPES), // samples of the span or trace, the critical path, that of spans with its name
  type: text,
  lens: text,
  zoom: id,
  frame: id,
  simzoom: id, // the same in the graph of similar spans beside it
  simframe: id,
  ...LOOK,
};

// Slow requests of an endpoint against typical ones.
const SLOW = { ...TIME, service: text, name: text, attribute: text, slow: text, typical: text };

const INSIGHTS = { ...TIME, query: text, rule: text };

const ALERTS = {
  ...TIME,
  since: { ...since, initial: '1d' },
  alert: text,
  service: text,
  silence: textOrNone, // the matchers a new silence begins with; null: nobody is making one
  test: textOrNone, // the name of the rule a dry run begins with, "" for an example
};

export const REGRESSION_STATES = ['open', 'acknowledged', 'muted', 'gone'] as const;
const REGRESSIONS = {
  ...TIME,
  since: { ...since, initial: '7d' },
  service: text,
  search: text,
  show: oneOf('all', ...REGRESSION_STATES),
  id, // the one that is shown with everything known about it
  act: oneOf('', 'acknowledge', 'mute'), // the form that is open for it
};

const OVERVIEW = {
  ...TIME,
  search: text, // part of a service's name
  show: oneOf('all', 'worse', 'new', 'quiet'),
  sort: oneOf(...SERVICE_ORDERS),
};

// Whose pins are listed; "" for all.
const STATUS = { service: text };

// The names of the files and how they are shown. Their content cannot be in an address.
const FILES = { file: text, base: text, mode: diffMode, type: text, lens: text, zoom: id, frame: id, ...LOOK };

export const PAGES: { at: RegExp; fields: Fields }[] = [
  { at: /^\/$/, fields: OVERVIEW },
  { at: /^\/s\//, fields: SERVICE },
  { at: /^\/diff$/, fields: DIFF },
  { at: /^\/adhoc$/, fields: FILES },
  { at: /^\/traces$/, fields: TRACES },
  { at: /^\/traces\//, fields: TRACE },
  { at: /^\/slow$/, fields: SLOW },
  { at: /^\/insights$/, fields: INSIGHTS },
  { at: /^\/alerts$/, fields: ALERTS },
  { at: /^\/regressions$/, fields: REGRESSIONS },
  { at: /^\/status$/, fields: STATUS },
];

export type { Box };
export type TimeState = Values<typeof TIME>;
export type Look = Values<typeof LOOK>;
export type View = (typeof VIEWS)[number];
export type ServiceState = Values<typeof SERVICE> & { service: string };
export type DiffState = Values<typeof DIFF>;
export type TracesState = Values<typeof TRACES>;
export type TraceState = Values<typeof TRACE> & { trace: string };
export type SlowState = Values<typeof SLOW>;
export type InsightsState = Values<typeof INSIGHTS>;
export type AlertsState = Values<typeof ALERTS>;
export type RegressionsState = Values<typeof REGRESSIONS>;
export type OverviewState = Values<typeof OVERVIEW>;
export type StatusState = Values<typeof STATUS>;
export type FilesState = Values<typeof FILES>;

// Every value in an address that cannot be used, in sentences; "" if there is none.
export const addressProblem = (url: URL): string =>
  fieldProblems(PAGES.find(({ at }) => at.test(url.pathname))?.fields ?? {}, url.searchParams);

const segment = (path: string, prefix: string) => {
  try {
    return decodeURIComponent(path.slice(prefix.length));
  } catch {
    return path.slice(prefix.length);
  }
};

// "", "." and ".." cannot be path segments, even when escaped. A service with such a name goes into the query, behind a
// placeholder path.
const NO_SEGMENT = ['', '.', '..'];
const STANDS_FOR_IT = '/s/-';

export function decodeService(url: URL): ServiceState {
  const odd = url.pathname === STANDS_FOR_IT ? url.searchParams.get('service') : null;
  return { ...readFields(SERVICE, url.searchParams), service: odd ?? segment(url.pathname, '/s/') };
}

export const encodeService = (s: ServiceState) =>
  NO_SEGMENT.includes(s.service)
    ? STANDS_FOR_IT + writeFields(SERVICE, s, [['service', s.service]])
    : '/s/' + encodeURIComponent(s.service) + writeFields(SERVICE, s);

export const decodeDiff = (url: URL): DiffState => readFields(DIFF, url.searchParams);
export const encodeDiff = (s: DiffState) => '/diff' + writeFields(DIFF, s);

export const decodeTraces = (url: URL): TracesState => readFields(TRACES, url.searchParams);
export const encodeTraces = (s: TracesState) => '/traces' + writeFields(TRACES, s);

export const decodeTrace = (url: URL): TraceState => ({
  ...readFields(TRACE, url.searchParams),
  trace: segment(url.pathname, '/traces/'),
});
export const encodeTrace = (s: TraceState) => '/traces/' + encodeURIComponent(s.trace) + writeFields(TRACE, s);

export const decodeSlow = (url: URL): SlowState => readFields(SLOW, url.searchParams);
export const encodeSlow = (s: SlowState) => '/slow' + writeFields(SLOW, s);

export const decodeInsights = (url: URL): InsightsState => readFields(INSIGHTS, url.searchParams);
export const encodeInsights = (s: InsightsState) => '/insights' + writeFields(INSIGHTS, s);

export const decodeAlerts = (url: URL): AlertsState => readFields(ALERTS, url.searchParams);
export const encodeAlerts = (s: AlertsState) => '/alerts' + writeFields(ALERTS, s);

export const decodeRegressions = (url: URL): RegressionsState => readFields(REGRESSIONS, url.searchParams);
export const encodeRegressions = (s: RegressionsState) => '/regressions' + writeFields(REGRESSIONS, s);

export const decodeOverview = (url: URL): OverviewState => readFields(OVERVIEW, url.searchParams);
export const encodeOverview = (s: OverviewState) => '/' + writeFields(OVERVIEW, s);

export const decodeStatus = (url: URL): StatusState => readFields(STATUS, url.searchParams);
export const encodeStatus = (s: StatusState) => '/status' + writeFields(STATUS, s);

export const decodeFiles = (url: URL): FilesState => readFields(FILES, url.searchParams);
export const encodeFiles = (s: FilesState) => '/adhoc' + writeFields(FILES, s);

// --- pages as they first open ---

const timeIn = ({ since, from, to }: TimeState): TimeState => ({ since, from, to });

export const newService = (service: string, time: TimeState): ServiceState => ({
  ...initialOf(SERVICE),
  ...timeIn(time),
  lens: OWN,
  service,
});

// All traces of a service.
export const newTraces = (service: string, time: TimeState): TracesState => ({
  ...initialOf(TRACES),
  ...timeIn(time),
  service,
});

// A whole trace opens with what it waited for: few of its milliseconds were on a CPU.
export const newTrace = (trace: string, change: Partial<TraceState> = {}): TraceState => ({
  ...initialOf(TRACE),
  scope: change.span ? 'samples' : 'critical',
  ...change,
  trace,
});

export const newSlow = (time: TimeState): SlowState => ({ ...initialOf(SLOW), ...timeIn(time) });

export const newInsights = (change: Partial<InsightsState>): InsightsState => ({ ...initialOf(INSIGHTS), ...change });
export const newAlerts = (change: Partial<AlertsState>): AlertsState => ({ ...initialOf(ALERTS), ...change });
export const newRegressions = (change: Partial<RegressionsState>): RegressionsState => ({
  ...initialOf(REGRESSIONS),
  ...change,
});

export const newDiff = (change: Partial<DiffState>): DiffState => ({ ...initialOf(DIFF), lens: OWN, ...change });

// --- parameters of API requests ---

export function selectorOf(service: string, q: string): string {
  const name = `service_name="${service.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n')}"`;
  return `{${[name, q.trim().replace(/,\s*$/, '')].filter(Boolean).join(', ')}}`;
}

export function timeOf(s: TimeState): Record<string, string> {
  return s.from !== null && s.to !== null ? { from: s.from + '', to: s.to + '' } : { since: s.since };
}

export const lensSteps = (lens: string) =>
  lens
    .split(' > ')
    .map((s) => s.trim())
    .filter(Boolean);
export const joinLens = (steps: string[]) => steps.join(' > ');
// The step that leaves the program's own code only, with or without rules of the reader's.
export const OWN = 'own';
export const isOwnStep = (step: string) => step === OWN || step.startsWith('own:');
// The rules of a lens' own code, "" for the defaults; null without it.
export const ownRules = (lens: string): string | null => lensSteps(lens).find(isOwnStep)?.slice('own:'.length) ?? null;

export const withoutOwn = (lens: string) => joinLens(lensSteps(lens).filter((s) => !isOwnStep(s)));

// Inverting twice changes nothing, nor does leaving own code only. Own code is found behind all other steps but those
// that invert: they go by the functions that it folds.
export const addStep = (lens: string, step: string) => {
  const steps = lensSteps(lens);
  if (step === 'invert') return joinLens(steps.at(-1) === step ? steps.slice(0, -1) : [...steps, step]);
  const others = isOwnStep(step) ? steps.filter((s) => !isOwnStep(s)) : steps;
  if (step === OWN && others.length < steps.length) return joinLens(others);
  const behind = others.findIndex(isOwnStep(step) ? (s) => s === 'invert' : isOwnStep);
  return joinLens(behind < 0 ? [...others, step] : [...others.slice(0, behind), step, ...others.slice(behind)]);
};

// Recognises a trace id from a log line, or a whole traceparent header, which has the span too.
export function traceIn(text: string): { name: string; kind: string; href: string }[] {
  const [, trace, span] =
    /^(?:00-)?([0-9a-f]{32})(?:-([0-9a-f]{16})(?:-[0-9a-f]{2})?)?$/.exec(text.trim().toLowerCase()) ?? [];
  return trace ? [{ name: trace, kind: 'trace', href: encodeTrace(newTrace(trace, span ? { span } : {})) }] : [];
}
