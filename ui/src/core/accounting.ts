// Where the time of spans went: parts that add up to a duration, with their errors. Reads the API's columns into one
// account per span. Pure.
import type { AccountParts, TraceAccounting } from './answers';
import { formatShare, formatValue } from './format';

// In the order of a bar: what the span did, what it waited for, others, what nobody saw.
export const PARTS = ['on_cpu', 'lock', 'thread', 'io', 'sleep', 'other', 'children', 'unobserved'] as const;
export type PartName = (typeof PARTS)[number];

export const PART_NAMES: Record<PartName, string> = {
  on_cpu: 'on CPU',
  lock: 'lock',
  thread: 'other threads',
  io: 'I/O',
  sleep: 'sleep',
  other: 'other waiting',
  children: 'children',
  unobserved: 'not observed',
};

export interface Part {
  name: PartName;
  value: number; // ns
  error: number; // ns, 95 %
  observations: number;
  source: string;
}

export interface Account {
  duration: number; // ns; the parts add up to it
  parts: Part[]; // all of PARTS, in that order
  parallel: number;
  waitingForChildren: number;
  madeOthersWait: number;
  why: string;
  filedUnder: string;
}

// The accounts of a trace's spans, by id. A trace may have 100,000 spans and a window shows 30: each is made when it is
// asked for.
export class Accounts {
  private readonly at = new Map<string, number>();
  private readonly made = new Map<number, Account>();

  constructor(private readonly answer: TraceAccounting | undefined) {
    answer?.span.forEach((span, i) => {
      this.at.set(span, i);
    });
  }

  get(span: string): Account | undefined {
    const i = this.at.get(span);
    if (i === undefined || !this.answer) return undefined;
    const account = this.made.get(i) ?? accountAt(this.answer, i);
    this.made.set(i, account);
    return account;
  }
}

const accountAt = (answer: TraceAccounting, i: number): Account => ({
  duration: Number(answer.duration[i]),
  parts: PARTS.map((name) => {
    const column = answer.parts[name];
    return {
      name,
      value: Number(column.value[i]),
      error: Number(column.error[i]),
      observations: Number(column.observations[i]),
      source: answer.sources[column.source[i]],
    };
  }),
  parallel: answer.parallel[i],
  waitingForChildren: Number(answer.waiting_for_children[i]),
  madeOthersWait: Number(answer.made_others_wait[i]),
  why: answer.reasons[answer.why[i]],
  filedUnder: answer.filed_under[i],
});

// Parts of many spans together, as the API names them.
export const partsOf = (parts: AccountParts): Part[] =>
  PARTS.map((name) => ({
    name,
    value: Number(parts[name].value),
    error: Number(parts[name].error),
    observations: Number(parts[name].observations),
    source: parts[name].source,
  }));

const ns = (v: number) => formatValue(v, 'nanoseconds');

// "20.0 ms ± 52.9 ms, 2.7 %"
export const partText = (p: Part, duration: number) =>
  `${ns(p.value)}${p.error > 0 ? ` ±\u00a0${ns(p.error)}` : ''}, ${formatShare(p.value, duration)}`;

// "12 observations of cpu"; what no sample stands for says nothing.
export function knownFrom(p: Part): string {
  if (p.source === '') return '';
  if (p.source === 'spans') return 'from the spans';
  if (p.source.startsWith('wherefore.')) return 'measured';
  return `${p.observations} × ${p.source}`;
}

export const shownParts = (parts: Part[]) => parts.filter((p) => p.value > 0);

// The account in words, for screen readers and incident notes: the largest parts first.
export const accountText = (account: Pick<Account, 'duration' | 'parts'>, most = 8) =>
  shownParts(account.parts)
    .sort((a, b) => b.value - a.value)
    .slice(0, most)
    .map((p) => `${PART_NAMES[p.name]} ${partText(p, account.duration)}`)
    .join('; ');
