// What a picture or a note is about: program, time, filters and address. A relative time is pinned to when the answer
// was requested: "the last hour" means something else tomorrow. Pure.
import type { DiffMode } from './difference';
import { formatTime } from './format';
import { rangeOf } from './presets';
import {
  encodeDiff,
  encodeFiles,
  encodeService,
  encodeTrace,
  lensSteps,
  type DiffState,
  type FilesState,
  type ServiceState,
  type TraceState,
} from './state';

export interface About {
  title: string;
  facts: [string, string][];
  address: string;
}

export const absolute = ([from, to]: [number, number]) => `${formatTime(from, true)} to ${formatTime(to, true)} (UTC)`;

const STEPS: Record<string, string> = {
  focus: 'only stacks with',
  hide: 'without the functions',
  merge: 'neighbouring calls as one of',
  collapse: 'with everything it called, as one',
  drop: 'without stacks with',
  own: 'own code only, with what libraries did for it',
  'my-code': 'without language runtime, C library and kernel',
  'merge-templates': 'instances of one C++ template as one',
};

export function lensInWords(lens: string): string {
  const words = lensSteps(lens).map((step) => {
    const at = step.indexOf(':');
    return at < 0
      ? `${STEPS[step] ?? ''} (${step})`.trim()
      : `${STEPS[step.slice(0, at)] ?? ''} ${step.slice(at + 1)} (${step.slice(0, at)})`.trim();
  });
  return words.join(', then ') || 'none';
}

// The title with its time, if it has one.
export const headingOf = (about: About) =>
  [about.title, about.facts.find(([name]) => name === 'Time')?.[1]].filter(Boolean).join(', ');

export function aboutService(s: ServiceState, type: string, at: number, server: string): About {
  const [from, to] = rangeOf(s, at);
  return {
    title: `${s.service} ${type}`.trim(),
    facts: [
      ['Service', s.service],
      ['Type', type || 'not known'],
      ['Time', absolute(s.sel ?? [from, to])],
      ['Filter', s.q.trim() || 'none'],
      ['Lens', lensInWords(s.lens)],
    ],
    address: server + encodeService({ ...s, type, from, to, live: false }),
  };
}

const MODES: Record<DiffMode, string> = {
  raw: 'as they are',
  rate: 'per second seen of each side',
  share: "shares of each side's whole",
  request: 'per request of the service',
};

// Without its own range, A is the time just before B, or the same time with another selector.
export function baseRange(s: DiffState, [from, to]: [number, number]): [number, number] {
  if (s.baseFrom !== null && s.baseTo !== null) return [s.baseFrom, s.baseTo];
  return s.baseQuery !== '' && s.baseQuery !== s.query ? [from, to] : [2 * from - to, from];
}

export function aboutDiff(s: DiffState, type: string, mode: DiffMode, at: number, server: string): About {
  const after = rangeOf(s, at);
  const before = baseRange(s, after);
  const baseQuery = s.baseQuery || s.query;
  return {
    title: `Difference: ${baseQuery} → ${s.query}`,
    facts: [
      ['A, before: the number left of →', `${baseQuery}, ${absolute(before)}`],
      ['B, after: the number right of →', `${s.query}, ${absolute(after)}`],
      ['Numbers', MODES[mode]],
      ['Type', type || 'not known'],
      ['Lens', lensInWords(s.lens)],
    ],
    address:
      server +
      encodeDiff({ ...s, baseQuery, type, mode, from: after[0], to: after[1], baseFrom: before[0], baseTo: before[1] }),
  };
}

// `range`: of the trace, ms; `span`: the selected one in words, "" for the whole trace.
export function aboutTrace(s: TraceState, span: string, type: string, range: [number, number], server: string): About {
  return {
    title: span || `trace ${s.trace}`,
    facts: [
      ['Trace', s.trace],
      ['Span', span === '' ? 'all of them' : `${span} (${s.span})${s.subtree ? ' and those below it' : ''}`],
      ['Type', type || 'not known'],
      ['Time', absolute(range)],
      ['Lens', lensInWords(s.lens)],
    ],
    address: server + encodeTrace({ ...s, type }),
  };
}

// The address names the files; their content stays in the tab.
export function aboutFiles(s: FilesState, type: string, mode: DiffMode, server: string): About {
  const two: [string, string][] = [
    ['A, before: the number left of →', s.base],
    ['B, after: the number right of →', s.file],
    ['Numbers', MODES[mode]],
  ];
  return {
    title: s.base === '' ? s.file : `${s.base} → ${s.file}`,
    facts: [
      ...(s.base === '' ? [['File', s.file] as [string, string]] : two),
      ['Type', type || 'not known'],
      ['Lens', lensInWords(s.lens)],
    ],
    address: server + encodeFiles(s),
  };
}
