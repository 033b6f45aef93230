// Questions to the server. Every call can be ended early; a failure says what to do about it.
import { incomplete } from './alive';
import { heard } from './clock';
import { decode } from './decoder';
import type { FlameColumns, FlameFound } from './flame';
import type { Listed } from './many';

export type Params = Record<string, string | string[] | undefined>;

// `offline`: the server could not be reached at all; worth trying again by itself.
export class ApiError extends Error {
  constructor(message: string, readonly status: number, readonly offline = false) { super(message); }
}

function address(path: string, params: Params): string {
  const p = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const v of Array.isArray(value) ? value : [value]) if (v !== undefined && (v !== '' || name === 'module')) p.append(name, v);  // "" is the module of functions without one
  }
  return '/api/v1/' + path + (p.size > 0 ? '?' + p : '');
}
export const apiAddress = address;

async function ask(path: string, params: Params, signal: AbortSignal, accept: string, form?: FormData): Promise<Response> {
  return request(address(path, params), { signal, headers: { accept }, method: form ? 'POST' : 'GET', body: form });
}

async function request(where: string, init: RequestInit & { signal: AbortSignal }): Promise<Response> {
  let response: Response;
  const sent = Date.now();
  try {
    response = await fetch(where, init);
  } catch (e) {
    if (init.signal.aborted) throw e;
    throw new ApiError('The server does not answer.', 0, true);
  }
  heard(response.headers.get('date'), sent);
  const lacks = response.headers.get('wherefore-incomplete');
  if (lacks) incomplete.value = lacks;
  if (response.ok) return response;
  const text = await response.text();
  let message = text.slice(0, 300) || response.statusText;
  try { message = JSON.parse(text).error.message; } catch { /* not ours: a proxy's text */ }
  throw new ApiError(message, response.status, response.status === 502 || response.status === 503);
}

export async function getJson<T>(path: string, params: Params, signal: AbortSignal): Promise<T> {
  return (await ask(path, params, signal, 'application/json')).json() as Promise<T>;
}

// Names of labels, or the values of one.
export async function getNames(path: string, params: Params, signal: AbortSignal): Promise<Listed> {
  const { labels, values, total } = await getJson<{ labels?: string[]; values?: string[]; total: number }>(path, params, signal);
  return { names: labels ?? values ?? [], total };
}

export async function getFlame(path: string, params: Params, signal: AbortSignal): Promise<FlameColumns> {
  const response = await ask(path, params, signal, 'application/x-wherefore-flame');
  return decode(new Uint8Array(await response.arrayBuffer()));
}

// Files to look at, answered with their flame graph.
export async function postFlame(path: string, params: Params, form: FormData, signal: AbortSignal): Promise<FlameColumns> {
  const response = await ask(path, params, signal, 'application/x-wherefore-flame', form);
  return decode(new Uint8Array(await response.arrayBuffer()));
}

// The same, as a file to take away.
export async function postFile(path: string, params: Params, form: FormData, signal: AbortSignal): Promise<Blob> {
  return (await ask(path, params, signal, '*/*', form)).blob();
}

// Profiles on their way in, as any sender's come (OTLP over HTTP), visible when this is over; the answer's bytes say what
// was refused.
export async function sendProfiles(body: Blob, signal: AbortSignal): Promise<Uint8Array> {
  const response = await request('/v1development/profiles', { signal, method: 'POST', body, headers: { 'content-type': 'application/x-protobuf' } });
  const said = new Uint8Array(await response.arrayBuffer());
  await request(address('flush', {}), { signal, method: 'POST' });
  return said;
}

// --- answers (docs/openapi.json) ---

export interface Settings { source: boolean; repository_template: string; otlp_grpc_port: number; otlp_http_port: number; retention_ms: number }

export interface ServiceInfo { name: string; profiles: number; types: { name: string; id: string }[]; last: string }
export interface ServicesAnswer { total: number; services: ServiceInfo[] }
type Int = number | string;  // text beyond 2^53
export interface ServiceOverview {
  name: string; profiles: number; types: string[]; last?: string; cpu?: Int[]; cpu_gaps?: [number, number][]; cores?: number; seen_ms?: number; top: { name: string; module: string; self: Int }[]; top_type: string; top_total: Int;
  versions: string[]; earlier_version?: string; heap_bytes?: Int; latency?: { requests: number; errors: number; median_ns: Int; p99_ns: Int }; senders: string[]; instances: number;
}
export interface OverviewAnswer { start_ms: number; step_ms: number; observed_from_ms: number; observed_to_ms: number; observed_ms: number; step_observed_ms: number[]; total: number; cores: number; services: ServiceOverview[] }
export interface SeriesAnswer {
  type: string; unit: string; scale: number; averaged: boolean; start_ms: number; step_ms: number; newest_ms?: number; hint?: string;
  observed_ms: number[];  // how much of each step was seen, of all groups together
  groups: { labels: Record<string, string>; values: (number | string)[]; gaps?: [number, number][] }[];  // gaps: [first step, how many] without any profile
  search?: { values: (number | string)[] };
}
export interface TopRow { name: string; module: string; file: string; self: number; total: number; self_count: number; total_count: number }
export interface TopAnswer {
  type: string; unit: string; scale: number; total: number; count: number; averaged: boolean; functions: number; hint?: string; search?: FlameFound; rows: TopRow[]; other: number;
}
export interface Span {
  trace: string; span: string; parent: string; service: string; name: string; kind: string; status: string; status_message?: string;
  start_ns: number | string; duration_ns: number | string; attributes: Record<string, string>; resource: Record<string, string>;
  events?: { time_ns: number | string; name: string; attributes: Record<string, string> }[];
}
// Every span of a trace as columns: service and name are places in `strings`, parent a place in the columns (-1: none, -2: not stored).
export interface TraceColumns {
  trace: string; start_ns: Int; span: string[]; parent: number[]; service: number[]; name: number[]; status: number[]; start: Int[]; duration: Int[]; strings: string[];
}
export interface TraceSummary {
  root_missing: boolean;
  trace: string; root_service: string; root_name: string; start: string; start_ns: number | string; duration_ns: number | string; spans: number; errors: number;
  profiled: { type: string; unit: string; value: Int; count: Int; error_ns?: Int }[]; // by type; what the trace's own page shows comes first
}
