// Keeps a file: the server converts it to OTLP under a service name, and the page sends that back as any SDK would.
import type { FileFacts } from './answers';
import { ApiError, postFile, sendProfiles } from './api';
import { Cursor } from './flame';

export type KeptTime = 'own' | 'now';

// The time a file is kept under by default, and why, in words.
export function defaultTime(facts: FileFacts, retentionMs: number, now: number): { time: KeptTime; why: string } {
  if (facts.time_ms === undefined)
    return { time: 'now', why: 'The file does not say when it was recorded: it is kept as of now.' };
  if (retentionMs > 0 && facts.time_ms < now - retentionMs)
    return {
      time: 'now',
      why: 'It is older than what this server keeps: under its own time it would be removed at once.',
    };
  return { time: 'own', why: 'It is kept under the time the file names.' };
}

// The message of an answer that refused a part (field 1: partial_success { 1: count, 2: message }); '' if everything
// was accepted.
export function refusal(bytes: Uint8Array): string {
  let message = '';
  const read = (part: Uint8Array, inside: boolean) => {
    for (const cursor = new Cursor(part); !cursor.done; ) {
      const key = cursor.varint();
      const number = cursor.varint();
      if (key % 8 !== 2) continue;
      const value = cursor.take(number);
      if (!inside && key >> 3 === 1) read(value, true);
      if (inside && key >> 3 === 2) message = new TextDecoder().decode(value);
    }
  };
  read(bytes, false);
  return message;
}

// Throws ApiError with the reason if nothing or only a part was stored.
export async function keep(file: File, service: string, time: KeptTime, signal: AbortSignal): Promise<void> {
  const form = new FormData();
  form.append('file', file);
  const otlp = await postFile(
    'adhoc',
    { format: 'otlp', service, time: time === 'now' ? 'now' : undefined },
    form,
    signal,
  );
  const refused = refusal(await sendProfiles(otlp, signal));
  if (refused !== '') throw new ApiError(refused, 200);
}
