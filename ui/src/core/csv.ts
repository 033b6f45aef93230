// The table of functions as CSV (RFC 4180), values as the server gave them: exact. Pure.
import type { TopAnswer } from './api';

// A text that begins like a formula would be run by spreadsheets: it gets a quote in front.
const field = (value: string | number) => {
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? "'" + value : String(value);
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
};

export function csvOf(top: TopAnswer): string {
  const unit = top.scale === 1 ? top.unit : `${top.unit}/${top.scale}`;
  const head = ['function', 'module', 'file', `self (${unit})`, `total (${unit})`, 'self samples', 'total samples'];
  const rows = top.rows.map((r) => [r.name, r.module, r.file, r.self, r.total, r.self_count, r.total_count]);
  return [head, ...rows].map((row) => row.map(field).join(',')).join('\r\n') + '\r\n';
}
