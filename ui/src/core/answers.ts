// The API's answers. Written by `tools/ui answers` out of docs/openapi.json; do not edit.
export interface AccountColumns {
  value: Int64[];
  error: Int64[];
  observations: Int64[];
  // Indices into sources.
  source: number[];
}

export interface AccountPart {
  // Nanoseconds.
  value: Int64;
  // Nanoseconds, 95 %.
  error: Int64;
  observations: Int64;
  // What it is known from: spans, wherefore.span.cpu_ns, cpu, block, mutex, off_cpu, wall; empty: nothing that could
  // show it.
  source: string;
}

// They add up to duration_ns.
export interface AccountParts {
  on_cpu: AccountPart;
  lock: AccountPart;
  thread: AccountPart;
  io: AccountPart;
  sleep: AccountPart;
  other: AccountPart;
  children: AccountPart;
  unobserved: AccountPart;
}

export interface Alert {
  // As Alertmanager computes it.
  fingerprint: string;
  state: 'pending' | 'firing';
  alert: string;
  service: string;
  group: string;
  when: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  // Since when its condition holds.
  activeAt: string;
  // Since when it fires.
  startsAt?: string;
  // In `unit`; shares and changes of 1.
  value: number;
  // Near or far end of its interval.
  low: number;
  high: number;
  unit: string;
  // The same for people.
  text: string;
  generatorURL: string;
  silencedBy: string[];
}

export interface AlertDryRun {
  from: string;
  to: string;
  times: AlertTime[];
  rules: AlertDryRunRule[];
}

export interface AlertDryRunRule {
  alert: string;
  group: string;
  select: string;
  type: string;
  function: string;
  when: string;
  measure?: 'share' | 'cores' | 'per_request' | 'value';
  over_s: number;
  every_s: number;
  for_s: number;
  keep_firing_for_s: number;
  labels: Record<string, string>;
  services: number;
  // At which it was judged, of all services together.
  moments: number;
  // Of them: nothing was known.
  unknown: number;
  step_s: number;
  // Why nothing was known.
  note?: string;
}

export interface AlertEvent {
  time: string;
  kind: 'state' | 'delivery';
  state: string;
  alert: string;
  service: string;
  fingerprint: string;
  startsAt?: string;
  endsAt?: string;
  receiver?: string;
  // In `unit`; shares and changes of 1.
  value?: number;
  // Near or far end of its interval.
  low?: number;
  high?: number;
  unit?: string;
  // The same for people.
  text?: string;
}

export interface AlertHistory {
  events: AlertEvent[];
}

export interface AlertReceiver {
  receiver: string;
  // What it is still to be told.
  waiting: number;
  toldAt?: string;
  problem?: string;
}

export interface AlertRule {
  alert: string;
  group: string;
  select: string;
  type: string;
  function: string;
  when: string;
  measure?: 'share' | 'cores' | 'per_request' | 'value';
  over_s: number;
  every_s: number;
  for_s: number;
  keep_firing_for_s: number;
  labels: Record<string, string>;
  // The server's file, or api.
  from: string;
  services: number;
  pending: number;
  firing: number;
  judgedAt?: string;
  // Why it could not be judged.
  problem?: string;
}

export interface AlertTime {
  alert: string;
  group: string;
  service: string;
  state: 'pending' | 'firing';
  from: string;
  // Absent: it still is at the end.
  to?: string;
  seconds: number;
  first: {
    // In `unit`; shares and changes of 1.
    value: number;
    // Near or far end of its interval.
    low: number;
    high: number;
    unit: string;
    // The same for people.
    text: string;
  };
  most: {
    // In `unit`; shares and changes of 1.
    value: number;
    // Near or far end of its interval.
    low: number;
    high: number;
    unit: string;
    // The same for people.
    text: string;
  };
}

export interface Alerts {
  alerts: Alert[];
  rules: AlertRule[];
  receivers: AlertReceiver[];
  problems: string[];
}

// A function that explains part of a difference, per request where requests are known, else measured against what
// did not change.
export interface Cause {
  function: string;
  module: string;
  kind: 'more' | 'less' | 'new' | 'gone' | 'moved' | 'everywhere';
  // In the units of the mode; from low to high in 95 of 100 cases.
  change: number;
  low: number;
  high: number;
  // The change, of everything before.
  share_of_before: number;
  callers: NamedFunction[];
  within?: NamedFunction;
  partner?: NamedFunction;
  // Ids of some traces it was seen in; of the first causes only.
  traces: string[];
}

export interface Comparison {
  before: number;
  after: number;
  change: number;
  // The change lies between low and high in 95 of 100 cases.
  low: number;
  high: number;
  // How often equal sides differ by as much.
  p: number;
  // A change this large would be found in 80 of 100 cases.
  detectable: number;
}

export interface CriticalPath {
  trace: string;
  // The root span; empty: it has not arrived, and the path goes from the first start to the last end.
  root: string;
  duration_ns: Int64;
  // In the order of time, without gaps; together duration_ns.
  segments: PathSegment[];
  // By span: how far it was moved, because the clock of its place differs from its caller's. Spans that were not are
  // left out.
  moved_ns: Record<string, Int64>;
}

// Of a difference with mode=share, rate or request: what was compared with what.
export interface DiffStatistics {
  // What is independent of each other; none: not tested, see note.
  groups: 'instances' | 'blocks' | 'none';
  groups_before: number;
  groups_after: number;
  // Seen on average, while any was.
  instances_before: number;
  instances_after: number;
  // At times and in instances that were profiled; 0: not known.
  requests_before: number;
  requests_after: number;
  // What causes are measured against.
  cause_basis: 'unchanged' | 'requests' | 'endpoints';
  // What is not in the intervals, and what would make them smaller.
  note: string;
  whole: Comparison;
}

export interface Explanation {
  title: string;
  lines: ExplanationLine[];
  // Of the page that shows it.
  path: string;
  commands: string[];
}

export interface ExplanationLine {
  label: string;
  text: string;
}

// What a file says of itself; what it does not say is left out.
export interface FileFacts {
  time_ms?: number;
  duration_ns?: Int64;
  services: string[];
  can_be_kept: boolean;
}

// A flame graph as columns, nodes in depth-first order.
export interface Flame extends FlameMeta {
  functions: unknown[][];
  depth: number[];
  function: number[];
  self: Int64[];
  self_count: Int64[];
  hidden: number[];
  // In a difference.
  before_self?: Int64[];
  // In a difference.
  before_count?: Int64[];
  // In a difference with mode=share, rate or request: of each node.
  verdict?: ('unknown' | 'undecided' | 'more' | 'less')[];
}

export interface FlameChange {
  name: string;
  module: string;
  self_before: Int64;
  self_after: Int64;
  total_before: Int64;
  total_after: Int64;
  self?: TestedChange;
  total?: TestedChange;
}

export interface FlameMeta {
  type: string;
  unit: string;
  scale: number;
  total: Int64;
  count: Int64;
  nodes: number;
  nodes_in_full: number;
  averaged: boolean;
  // Only true: more was added up than 64 bits hold; sums stay at their end, and totals and shares are not right.
  overflow?: boolean;
  // The time in which any profile of it was taken, over all instances, gaps excluded: in a difference, with
  // observed=true, and of files; values per second are divided by it. 0: not known. Not with averages of snapshots.
  observed_ms?: number;
  // The same of the side before.
  observed_ms_before?: number;
  // Only true, where the lens inverted it: what did the work on top, its callers below.
  inverted?: boolean;
  // Of the side before, in a difference.
  total_before?: Int64;
  // Why there is nothing, or not all, and what to do about it; absent where all is well.
  hint?: string;
  // With search.
  search?: Found;
  // Of a trace: the id of the span under which a profiler files all samples of the request; the tree has those that
  // were taken while the spans asked for ran.
  filed_under?: string;
  // Only true, of a trace: nothing yet, but there may be in some seconds.
  arriving?: boolean;
  // In a difference: the functions whose own value changed most, exact whatever was pruned.
  changes?: FlameChange[];
  statistics?: DiffStatistics;
  // Of a difference with mode=share or rate: what explains it, largest first.
  causes?: Cause[];
  // Of a trace and of files: the types there are.
  types?: string[];
  // Of a file.
  file?: FileFacts;
  // Of the file it is compared with.
  base?: FileFacts;
  // Of off-CPU and wall clock only, which are seen by looks at threads: how many looks there were, and how far off
  // what is shown may be (95 %). Of each span at most the time it had by itself is shown.
  looks?: {
    count: number;
    error_ns: number;
    by_span: Record<string, SpanLooks>;
  };
  // Of a trace: the value of each span, by its id.
  by_span?: Record<string, Int64>;
  // What it was made of: samples (raw), or sums by hour wherever those say the same, and samples at the ends.
  tier?: 'raw' | 'hours';
  // With tier hours: how many whole hours of a service were not read from samples.
  tier_hours?: number;
}

// With search: value and count (observations) of everything at and below a match, counted once; matching functions
// and nodes of the unpruned tree.
export interface Found {
  value: Int64;
  count: Int64;
  functions: number;
  nodes: number;
  // The same of the side before, in a difference.
  value_before?: Int64;
}

export interface FunctionTrace {
  // Empty: the profiler knows only the span, and no span with that id is stored.
  trace: string;
  root_service: string;
  root_name: string;
  // The root span has not arrived; root_service and root_name are those of the earliest span there is.
  root_missing: boolean;
  start_ns: Int64;
  duration_ns: Int64;
  spans: number;
  errors: number;
  value: Int64;
  count: Int64;
  // Of off-CPU and wall clock only: how far off value may be (95 %); count is the number of looks, and value at most
  // what the spans had by themselves.
  error_ns?: number;
  seen_in: SeenIn[];
}

export interface FunctionTraces {
  type: string;
  unit: string;
  value: Int64;
  count: Int64;
  linked_value: Int64;
  linked_count: Int64;
  found: number;
  // Why there is nothing, or not all, and what to do about it; absent where all is well.
  hint?: string;
  traces: FunctionTrace[];
}

export interface Heatmap {
  rows_are: 'offset' | 'value';
  type: string;
  unit: string;
  start_ms: number;
  step_ms: number;
  steps: number;
  rows: number;
  row_width: Int64;
  // Why there is nothing, or not all, and what to do about it; absent where all is well.
  hint?: string;
  cells: [Int64, Int64, Int64, Int64?, Int64?][];
}

export interface Insight {
  // Its id.
  rule: string;
  title: string;
  service: string;
  // Short name; spans for rules about spans.
  type: string;
  unit: string;
  // What matches, in the unit.
  value: number;
  // Of the service's whole, between low and high in 95 of 100 cases.
  share: number;
  low: number;
  high: number;
  observations: number;
  // That match, where the type is cpu; else 0.
  cores: number;
  // By the near end of the interval and the rule's saving.
  cores_saved: number;
  function: InsightFunction;
  callers: InsightFunction[];
  // Spans it was seen in, where samples are linked.
  endpoints: string[];
  // The version it came with; empty: not known, or always there.
  since: string;
  fix: string;
  // Regular expression that marks it in a flame graph.
  search: string;
}

export interface InsightFunction {
  name: string;
  module: string;
  file: string;
  // 0: not known.
  line: number;
}

export interface Insights {
  // That match.
  services: number;
  // Of them, those that use most CPU first; fewer when time ran out.
  looked_at: number;
  rules: number;
  // Findings, listed or not.
  total: number;
  findings: Insight[];
  // Why there is nothing to look at.
  hint?: string;
}

// Exact; decimal text beyond 2^53.
export type Int64 = number | string;

export interface LabelValues {
  values: string[];
  // How many match, listed or not.
  total: number;
}

export interface Labels {
  labels: string[];
  // How many match, listed or not.
  total: number;
}

export interface Latency {
  start_ms: number;
  step_ms: number;
  steps: number;
  // How many match: the cells add up to it.
  spans: number;
  errors: number;
  // Row r has durations from bounds_ns[r] to below bounds_ns[r + 1]; the first one all shorter ones too. Empty:
  // nothing matches.
  bounds_ns: Int64[];
  cells: [number, number, number, number][];
}

export interface List {
  type: string;
  unit: string;
  total: Int64;
  functions: ListedFunction[];
  scale: number;
  // Only true: more was added up than 64 bits hold; sums stay at their end, and totals and shares are not right.
  overflow?: boolean;
  // Why there is nothing, or not all, and what to do about it; absent where all is well.
  hint?: string;
  // What it was made of: samples (raw), or sums by hour wherever those say the same, and samples at the ends.
  tier: 'raw' | 'hours';
  // With tier hours: how many whole hours of a service were not read from samples.
  tier_hours?: number;
}

export interface ListedFunction {
  name: string;
  module: string;
  file: string;
  start_line: number;
  self: Int64;
  total: Int64;
  lines: [Int64, Int64, Int64][];
}

export interface LookedAtVersion {
  service: string;
  label: string;
  before: string;
  after: string;
  // When it came.
  at_ms: Int64;
  // Of 4: after 15 min, 1 h, 6 h and 24 h.
  looks: Int64;
  looked_ms: Int64;
  // When the next look is due; 0: none is.
  next_ms: Int64;
  // Records of it, in any state.
  regressions: Int64;
  // The smallest change that would have been seen, of the cost before.
  detectable_share?: number;
  // What the last look says: traffic that changed its mix, why nothing is known.
  note: string;
}

export interface NameAccounting {
  service: string;
  name: string;
  spans: number;
  // There are more, older ones than the 10,000 looked at.
  more: boolean;
  traces: number;
  duration_ns: Int64;
  parts: AccountParts;
  parallel: number;
  waiting_for_children: Int64;
  made_others_wait: Int64;
  // Name of the local root spans, if samples are filed there.
  filed_under: string;
  why: string;
  hint?: string;
}

export interface NamedFunction {
  name: string;
  module: string;
}

export interface Overview {
  start_ms: number;
  step_ms: number;
  // The part of the range in which a service could be seen begins here: later than the range where nothing was sent
  // before.
  observed_from_ms: number;
  // And ends here: now, or where the newest profile ends when that is less than two minutes ago.
  observed_to_ms: number;
  // The time in which a CPU profile of any service was taken, gaps excluded.
  observed_ms: number;
  // The same of each step.
  step_observed_ms: number[];
  services: ServiceOverview[];
  // How many match, listed or not.
  total: number;
  // CPU time of all services that match over observed_ms, listed or not.
  cores: number;
}

// The nearest function above the cause, or it itself, that belongs to the program.
export interface OwnFunction {
  function: string;
  module: string;
  file: string;
  // The one that grew most; 0: not known.
  line: number;
  // Of the line, where the server has the file (--source-root).
  text?: string;
}

export interface PathSegment {
  // Empty: the root that has not arrived.
  span: string;
  start_ns: Int64;
  duration_ns: Int64;
}

// A window whose days are kept, whatever the retention says.
export interface Pin {
  // Of service and window: the same twice is one pin.
  id: string;
  service: string;
  from: string;
  to: string;
  why: string;
  // When it was set.
  time: string;
}

export interface Pins {
  pins: Pin[];
}

export interface Problem {
  what: string;
  fix: string;
  blocks_writes: boolean;
}

export interface Profiling {
  enabled: boolean;
  // What was said; an empty name: about all services.
  services?: {
    service: string;
    enabled: boolean;
    sample_rate?: number;
    types?: string[];
    // Unix time of its end.
    until_ms?: number;
  }[];
  // SDKs that asked over OpAMP within five minutes.
  instances?: {
    service: string;
    instance: string;
    enabled: boolean;
    // applied, applying, failed, pending, or own settings: it takes none.
    state: string;
    error?: string;
    seen_ms: number;
  }[];
}

export interface Regression {
  // 16 hex digits; stays the same.
  id: string;
  // gone: its cost came back down.
  state: 'open' | 'acknowledged' | 'muted' | 'gone';
  sentence: string;
  service: string;
  type: string;
  unit: string;
  kind: 'more' | 'new' | 'everywhere';
  function: {
    name: string;
    module: string;
  };
  own?: OwnFunction;
  callers: {
    name: string;
    module: string;
  }[];
  // What `change` and `whole` are in: nanoseconds per request, or shares.
  mode: 'request' | 'share';
  // `before` and `after` are those of the whole service.
  change: {
    before: number;
    after: number;
    change: number;
    low: number;
    high: number;
    // Of everything before.
    share: number;
    share_low: number;
    share_high: number;
  };
  // What it costs more, at the load of the side after.
  cores: {
    change: number;
    low: number;
    high: number;
  };
  // False discovery rate.
  q: number;
  since: {
    label: string;
    before: string;
    after: string;
    at_ms: Int64;
  };
  sides: {
    query: string;
    from_ms: Int64;
    to_ms: Int64;
    base_query: string;
    base_from_ms: Int64;
    base_to_ms: Int64;
  };
  basis: string;
  groups: string;
  groups_before: number;
  groups_after: number;
  note: string;
  whole: Comparison;
  requests_before: Int64;
  requests_after: Int64;
  latency?: {
    p50_ns_before: Int64;
    p50_ns_after: Int64;
    p99_ns_before: Int64;
    p99_ns_after: Int64;
  };
  // When it was opened.
  first_seen_ms: Int64;
  // When its state last changed.
  changed_ms: Int64;
  // The last look that saw it.
  looked_ms: Int64;
  // That saw it.
  looks: Int64;
  endpoints: string[];
  traces: {
    before: string[];
    after: string[];
  };
  // Of the difference on the page: path and query.
  address: string;
  command: string;
  why: string;
  by: string;
  // Muted: when that ends; absent: it does not.
  until_ms?: Int64;
}

export interface Regressions {
  at: string;
  // All that are open, whatever was asked for.
  open: Int64;
  // That match, listed or not.
  total: Int64;
  // Looks are under way that max_age asked for.
  looking: boolean;
  // Open ones first; then by what they surely cost.
  regressions: Regression[];
  // Newest first.
  versions: LookedAtVersion[];
  watch: {
    looks: Int64;
    skipped: Int64;
    failed: Int64;
    // Of one core, since the start.
    cpu_share: number;
    budget_share: number;
    last_ms: Int64;
    note: string;
  };
}

export interface SeenIn {
  span: string;
  service: string;
  name: string;
  duration_ns: Int64;
  value: Int64;
  count: Int64;
  // Of off-CPU and wall clock only: how far off value may be (95 %); count is the number of looks, and value at most
  // what the spans had by themselves.
  error_ns?: number;
}

export interface Series {
  type: string;
  unit: string;
  scale: number;
  averaged: boolean;
  // Only true: more was added up than 64 bits hold; sums stay at their end, and totals and shares are not right.
  overflow?: boolean;
  start_ms: number;
  // When the newest profile in the range began; absent without one. Steps that end later may still grow.
  newest_ms?: number;
  step_ms: number;
  // How much of each step was seen, of all groups together: values per second are divided by it, averages are over
  // it.
  observed_ms: number[];
  groups: SeriesGroup[];
  // Only with search: of what matches, all groups together. Together exactly the flame graph's search.value (averages
  // of snapshots apart).
  search?: {
    values: Int64[];
  };
  // Why there is nothing, or not all, and what to do about it; absent where all is well.
  hint?: string;
  // What it was made of: samples (raw), or sums by hour wherever those say the same, and samples at the ends.
  tier?: 'raw' | 'hours';
  // With tier hours: how many whole hours of a service were not read from samples.
  tier_hours?: number;
}

export interface SeriesGroup {
  labels: Record<string, string>;
  values: Int64[];
  // Steps in which no profile is stored, as [first, how many]: their value is 0, but nothing was measured.
  gaps?: [number, number][];
}

export interface Service {
  name: string;
  profiles: number;
  types: ServiceType[];
  last: string;
}

export interface ServiceChange {
  service: string;
  sentence: string;
  verdict: 'worse' | 'better' | 'same' | 'undecided' | 'unknown';
  // False discovery rate among all services looked at.
  q: number;
  // Why nothing is known.
  reason: string;
  type: string;
  unit: string;
  cores: number;
  age_ms: Int64;
  // request, or share where no requests are known: of the diff that says the same.
  mode?: string;
  since?: {
    label: string;
    before: string;
    after: string;
    at_ms: Int64;
  };
  sides?: {
    query: string;
    from_ms: Int64;
    to_ms: Int64;
    base_query: string;
    base_from_ms: Int64;
    base_to_ms: Int64;
  };
  basis?: string;
  groups?: string;
  groups_before?: number;
  groups_after?: number;
  note?: string;
  whole?: Comparison;
  requests_before?: Int64;
  requests_after?: Int64;
  latency?: {
    p50_ns_before: Int64;
    p50_ns_after: Int64;
    p99_ns_before: Int64;
    p99_ns_after: Int64;
  };
  // What it costs more, at today's load.
  cost?: {
    cores: number;
    low: number;
    high: number;
  };
  // The smallest change that would have been found, of the cost before.
  detectable_share?: number;
  command?: string;
  causes: WorseCause[];
  // Spans the first cause was seen in.
  endpoints: string[];
  // Ids of the records that are shown here; empty: it was worked out now.
  regressions: string[];
}

export interface ServiceMarks {
  service: string;
  // Alerts.
  firing: number;
  pending: number;
  // Known patterns of the last hour, as they were last counted.
  insights: number;
}

export interface ServiceOverview {
  name: string;
  profiles: number;
  types: string[];
  last?: string;
  // CPU nanoseconds per step; missing: no CPU profiles.
  cpu?: Int64[];
  // Steps in which no profile is stored, as [first, how many]: their value is 0, but nothing was measured.
  cpu_gaps?: [number, number][];
  // CPU time over observed_ms, in cores; with cpu.
  cores?: number;
  // The time in which a CPU profile of the service was taken, over all instances, gaps excluded; with cpu.
  seen_ms?: number;
  top: {
    name: string;
    module: string;
    self: Int64;
  }[];
  // The same of the program's own code: what libraries, runtime and kernel did is charged to the nearest own
  // function.
  own_top: {
    name: string;
    module: string;
    self: Int64;
  }[];
  top_type: string;
  top_total: Int64;
  // service.version of the newest step.
  versions: string[];
  earlier_version?: string;
  heap_bytes?: Int64;
  latency?: {
    requests: number;
    errors: number;
    median_ns: Int64;
    p99_ns: Int64;
  };
  senders: string[];
  instances: number;
  // With where=N: where the time of its newest 200 requests went, of the first N services with requests.
  where?: {
    spans: number;
    // There are more, older ones than the 10,000 looked at.
    more: boolean;
    duration_ns: Int64;
    parts: AccountParts;
    parallel: number;
    waiting_for_children: Int64;
  };
}

export interface ServiceType {
  name: string;
  id: string;
}

export interface Services {
  services: Service[];
  // How many match, listed or not.
  total: number;
}

export interface Settings {
  source: boolean;
  repository_template: string;
  otlp_grpc_port: number;
  otlp_http_port: number;
  retention_ms: number;
}

export interface Silence {
  id: string;
  matchers: {
    name: string;
    value: string;
    isRegex: boolean;
    isEqual: boolean;
  }[];
  startsAt: string;
  endsAt: string;
  createdBy: string;
  comment: string;
  status: {
    state: 'pending' | 'active' | 'expired';
  };
}

export interface Silences {
  silences: Silence[];
}

export interface Slow {
  service: string;
  name: string;
  requests: number;
  more: boolean;
  slow: number;
  typical: number;
  slow_from_ns: Int64;
  median_ns: Int64;
  typical_from_ns: Int64;
  typical_to_ns: Int64;
  mean_slow_ns: number;
  mean_typical_ns: number;
  gap_ns: Int64;
  filed_under: string;
  // What explains the gap, largest first.
  causes: SlowRow[];
  parts: SlowRow[];
  children: SlowRow[];
  functions: SlowRow[];
  attributes: SlowAttribute[];
  slow_traces: string[];
  typical_traces: string[];
  // Why there is nothing to compare.
  note?: string;
}

export interface SlowAttribute {
  name: string;
  value: string;
  // Mean per request; of attributes the share that has it.
  slow: number;
  typical: number;
  change: number;
  low: number;
  high: number;
  p: number;
  q: number;
  significant: boolean;
}

export interface SlowRow {
  part: 'on_cpu' | 'lock' | 'thread' | 'io' | 'sleep' | 'other' | 'children' | 'unobserved';
  service?: string;
  name?: string;
  function?: string;
  module?: string;
  // Of parts and children; adds up.
  change_ns?: Int64;
  // Mean per request; of attributes the share that has it.
  slow: number;
  typical: number;
  change: number;
  low: number;
  high: number;
  p: number;
  q: number;
  significant: boolean;
}

export interface Source {
  file: string;
  // Below its root.
  path: string;
  text: string;
}

// What is empty is left out, but for what is required.
export interface Span {
  trace: string;
  span: string;
  parent: string;
  service: string;
  name: string;
  kind: string;
  status: string;
  start_ns: Int64;
  duration_ns: Int64;
  attributes: Record<string, string>;
  resource: Record<string, string>;
  status_message?: string;
  scope?: string;
  scope_version?: string;
  trace_state?: string;
  flags?: number;
  events?: SpanEvent[];
  links?: SpanLink[];
}

export interface SpanEvent {
  time_ns: Int64;
  name: string;
  attributes: Record<string, string>;
}

export interface SpanLink {
  trace: string;
  span: string;
  attributes: Record<string, string>;
}

export interface SpanLooks {
  count: number;
  error_ns: number;
}

export interface SpanNames {
  spans: {
    service: string;
    name: string;
  }[];
  // How many spans match, listed or not.
  total: number;
  // Services with spans whose own name matches.
  services: string[];
  // How many of those there are.
  services_total: number;
}

export interface SqlRows {
  columns: {
    name: string;
    // As the engine calls it: String, Int64, Array(String), ...
    type: string;
  }[];
  // Values in the order of the columns. Whole numbers beyond 2^53 are texts; times are texts; what is not a number is
  // null.
  rows: unknown[][];
  // There are more rows than `limit`.
  cut: boolean;
}

export interface Status {
  version: string;
  parts: StatusPart[];
}

export interface StatusPart {
  part: string;
  facts: Record<string, string>;
  problems: Problem[];
}

export interface Storage {
  days: StoredDay[];
}

// What is stored of a kind of data and a day.
export interface StoredDay {
  kind: 'spans' | 'links' | 'samples' | 'hours' | 'profiles and names';
  // 2026-11-15; of what was old when it came the month, 2026-09.
  day: string;
  bytes: Int64;
  rows: Int64;
  // When retention drops it; absent: it stays.
  goes?: string;
  pinned: boolean;
}

// Of a difference with mode=share or rate: what one function has on each side.
export interface TestedChange {
  before: number;
  after: number;
  change: number;
  // The change lies between low and high in 95 of 100 cases.
  low: number;
  high: number;
  // How often equal sides differ by as much.
  p: number;
  // False discovery rate among all functions; 1: too few observations.
  q: number;
  // A change this large would be found in 80 of 100 cases.
  detectable: number;
  // unknown: fewer than ten observations.
  verdict: 'more' | 'less' | 'undecided' | 'unknown';
}

export interface Top {
  type: string;
  unit: string;
  scale: number;
  total: Int64;
  count: Int64;
  averaged: boolean;
  // Only true: more was added up than 64 bits hold; sums stay at their end, and totals and shares are not right.
  overflow?: boolean;
  // With search.
  search?: Found;
  functions: number;
  rows: TopRow[];
  other: Int64;
  // Why there is nothing, or not all, and what to do about it; absent where all is well.
  hint?: string;
  // What it was made of: samples (raw), or sums by hour wherever those say the same, and samples at the ends.
  tier: 'raw' | 'hours';
  // With tier hours: how many whole hours of a service were not read from samples.
  tier_hours?: number;
}

export interface TopRow {
  name: string;
  module: string;
  file: string;
  self: Int64;
  total: Int64;
  self_count: Int64;
  total_count: Int64;
}

export interface Trace {
  trace: string;
  spans: Span[];
}

export interface TraceAccounting {
  trace: string;
  // In the order of the trace.
  span: string[];
  // What the parts add up to: of the span, or of the one it is filed under.
  duration: Int64[];
  parts: TraceAccountingParts;
  // More than 1: so many threads at once; own parts were divided by it.
  parallel: number[];
  // Waiting while children ran; not part of the sum.
  waiting_for_children: Int64[];
  // By locks that the span held; not part of the sum.
  made_others_wait: Int64[];
  // Indices into reasons: why there is unobserved time.
  why: number[];
  // The local root under which the profiler files the whole request; empty: the account is of the span.
  filed_under: string[];
  sources: string[];
  reasons: string[];
}

export interface TraceAccountingParts {
  on_cpu: AccountColumns;
  lock: AccountColumns;
  thread: AccountColumns;
  io: AccountColumns;
  sleep: AccountColumns;
  other: AccountColumns;
  children: AccountColumns;
  unobserved: AccountColumns;
}

// With format=columns: what a waterfall needs of every span.
export interface TraceColumns {
  trace: string;
  start_ns: Int64;
  span: string[];
  // A place in the columns; -1: none, -2: not stored.
  parent: number[];
  // A place in strings.
  service: number[];
  // A place in strings.
  name: number[];
  status: number[];
  // After start_ns.
  start: Int64[];
  duration: Int64[];
  strings: string[];
}

export interface TraceProfile {
  type: string;
  unit: string;
  value: Int64;
  // Observations. Exact; decimal text beyond 2^53.
  count: Int64;
  // Of off-CPU and wall clock only: how far off value may be (95 %); count is the number of looks, and value at most
  // what the spans had by themselves.
  error_ns?: number;
}

export interface TraceSummary {
  trace: string;
  root_service: string;
  root_name: string;
  // The root span has not arrived; root_service and root_name are those of the earliest span there is.
  root_missing: boolean;
  start: string;
  start_ns: Int64;
  duration_ns: Int64;
  spans: number;
  errors: number;
  // What its samples add up to, by type: the one traces/{trace}/flame shows by itself comes first. Empty: it has
  // none.
  profiled: TraceProfile[];
  matched: Span[];
}

export interface Traces {
  traces: TraceSummary[];
  // Only where more match and sort is cpu or samples: so many, the newest, were compared.
  looked_at?: number;
}

export interface Worse {
  at: string;
  // Since the oldest of these was worked out.
  age_ms?: Int64;
  looking: boolean;
  looked_at: number;
  services: number;
  worse_in_all: number;
  // Most certain cost first.
  worse: ServiceChange[];
  // Costliest first.
  others: ServiceChange[];
  // Services with alerts or known patterns.
  marks: ServiceMarks[];
}

export interface WorseCause {
  function: string;
  module: string;
  // more, less, new, gone, moved, everywhere
  kind: string;
  change: number;
  low: number;
  high: number;
  share_of_before: number;
  own?: OwnFunction;
  callers: NamedFunction[];
  // Some it was seen in.
  traces: string[];
}

// By path, below /api/v1/.
export interface Answers {
  services: Services;
  labels: Labels;
  'labels/{name}/values': LabelValues;
  flame: Flame;
  top: Top;
  series: Series;
  diff: Flame;
  list: List;
  traces: Traces;
  latency: Latency;
  'traces/{trace}': Trace | TraceColumns;
  'traces/{trace}/critical-path': CriticalPath;
  'traces/{trace}/flame': Flame;
  'traces/{trace}/accounting': TraceAccounting;
  'critical-path': Flame;
  accounting: NameAccounting;
  slow: Slow;
  explain: Explanation;
  worse: Worse;
  insights: Insights;
  alerts: Alerts;
  'alerts/history': AlertHistory;
  'alerts/test': AlertDryRun;
  silences: Silences;
  pins: Pins;
  storage: Storage;
  'span-names': SpanNames;
  'function-traces': FunctionTraces;
  heatmap: Heatmap;
  overview: Overview;
  source: Source;
  settings: Settings;
  status: Status;
  sql: SqlRows;
  adhoc: Flame;
  profiling: Profiling;
  'profiling/{service}': Profiling;
  regressions: Regressions;
  'regressions/{regression}/acknowledge': Regression;
  'regressions/{regression}/mute': Regression;
  'regressions/{regression}/reopen': Regression;
}
