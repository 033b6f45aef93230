// The server's clock. A range that ends now must end at the server's now, even if this machine's clock is wrong.

let offset = 0;

export const now = () => Date.now() + offset;

// Takes the Date header of an answer, in whole seconds; `sent`: when the request was sent. A difference of less than
// two seconds may be rounding and latency.
export function heard(date: string | null, sent: number): void {
  const server = Date.parse(date ?? '') + 500;
  if (Number.isNaN(server)) return;
  const ahead = server - (sent + Date.now()) / 2;
  offset = Math.abs(ahead) > 2000 ? Math.round(ahead) : 0;
}
