// Requests to the server. Every one can be cancelled; an error says what to do about it.
import { incomplete } from './alive';
import { heard } from './clock';
import { decode } from './decoder';
import type { Answers, LabelValues, Labels } from './answers';
import type { FlameColumns } from './flame';
import type { Listed } from './many';

export type Params = Record<string, string | string[] | undefined>;

// `offline`: the server could not be reached, so trying again makes sense.
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly offline = false,
  ) {
    super(message);
  }
}

// Placeholders such as "traces/{trace}" are filled from the parameters.
function address(path: string, params: Params): string {
  const p = new URLSearchParams();
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  for (const [name, value] of Object.entries(params)) {
    if (path.includes(`{${name}}`)) continue;
    // An empty module is a value: it stands for functions without one.
    for (const v of Array.isArray(value) ? value : [value])
      if (v !== undefined && (v !== '' || name === 'module')) p.append(name, v);
  }
  return '/api/v1/' + filled + (p.size > 0 ? '?' + p : '');
}
export const apiAddress = address;

export async function ask(
  path: string,
  params: Params,
  signal: AbortSignal,
  accept: string,
  form?: FormData,
): Promise<Response> {
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
  try {
    message = JSON.parse(text).error.message;
  } catch {
    /* not ours: a proxy's text */
  }
  throw new ApiError(message, response.status, response.status === 502 || response.status === 503);
}

export async function getJson<P extends keyof Answers>(
  path: P,
  params: Params,
  signal: AbortSignal,
): Promise<Answers[P]> {
  return (await ask(path, params, signal, 'application/json')).json() as Promise<Answers[P]>;
}

// The same, or null from a server that does not know the question.
export async function getKnown<P extends keyof Answers>(
  path: P,
  params: Params,
  signal: AbortSignal,
): Promise<Answers[P] | null> {
  try {
    return await getJson(path, params, signal);
  } catch (e) {
    if (e instanceof ApiError && e.status === 404) return null;
    throw e;
  }
}

// Changes something on the server, or has it work on a text; its answer.
export async function send<T>(
  method: 'POST' | 'DELETE',
  path: string,
  params: Params,
  body?: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<T> {
  return (await request(address(path, params), { method, signal, body })).json() as Promise<T>;
}

// Label names, or the values of one label.
export async function getNames(
  path: 'labels' | 'labels/{name}/values',
  params: Params,
  signal: AbortSignal,
): Promise<Listed> {
  const answer: Labels | LabelValues = await getJson(path, params, signal);
  return { names: 'labels' in answer ? answer.labels : answer.values, total: answer.total };
}

export async function getFlame(path: string, params: Params, signal: AbortSignal): Promise<FlameColumns> {
  const response = await ask(path, params, signal, 'application/x-wherefore-flame');
  return decode(new Uint8Array(await response.arrayBuffer()));
}

// Sends files and gets their flame graph.
export async function postFlame(
  path: string,
  params: Params,
  form: FormData,
  signal: AbortSignal,
): Promise<FlameColumns> {
  const response = await ask(path, params, signal, 'application/x-wherefore-flame', form);
  return decode(new Uint8Array(await response.arrayBuffer()));
}

// Sends files and gets a file back.
export async function postFile(path: string, params: Params, form: FormData, signal: AbortSignal): Promise<Blob> {
  return (await ask(path, params, signal, '*/*', form)).blob();
}

// Sends profiles as any SDK does (OTLP over HTTP) and waits until they are visible. The answer's bytes say what was
// refused.
export async function sendProfiles(body: Blob, signal: AbortSignal): Promise<Uint8Array> {
  const response = await request('/v1development/profiles', {
    signal,
    method: 'POST',
    body,
    headers: { 'content-type': 'application/x-protobuf' },
  });
  const said = new Uint8Array(await response.arrayBuffer());
  await request(address('flush', {}), { signal, method: 'POST' });
  return said;
}
