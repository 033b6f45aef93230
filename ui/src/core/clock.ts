// What time it is where the data are: a range that ends now must end at the server's now, whatever this machine's clock says.

let offset = 0;

export const now = () => Date.now() + offset;

// An answer's Date header, in whole seconds; `sent`: when it was asked for. Less than two seconds may be rounding and the way.
export function heard(date: string | null, sent: number): void {
  const server = Date.parse(date ?? '') + 500;
  if (Number.isNaN(server)) return;
  const ahead = server - (sent + Date.now()) / 2;
  offset = Math.abs(ahead) > 2000 ? Math.round(ahead) : 0;
}
