// Notes for an incident as Markdown, at most ten lines: a sentence, the numbers with their errors, the address. Pure.
import { accountText, type Account } from './accounting';
import type { Slow } from './answers';
import { absolute } from './about';
import { formatShare, formatTime, formatValue } from './format';
import { rowName, signed } from './slow_text';
import type { Row } from './waterfall';

const ns = (v: number) => formatValue(v, 'nanoseconds');

// As code in Markdown, so that nothing in it is read as markup.
export function quote(text: string): string {
  const line = text.replace(/\s+/g, ' ').slice(0, 1000);
  return line.includes('`') ? '`` ' + line.replace(/``+/g, '`') + ' ``' : '`' + line + '`';
}

export interface TraceNote {
  trace: string;
  rows: Row[];
  began: number; // ms
  whole: Pick<Account, 'duration' | 'parts'>;
  onPath?: Map<string, number>; // ns by span
  row?: Row; // the selected span
  account?: Account; // its
  address: string;
}

export function traceIncident(n: TraceNote): string {
  const root = n.rows[0];
  const longest = n.rows
    .filter((r) => (n.onPath?.get(r.id) ?? 0) > 0)
    .sort((a, b) => n.onPath!.get(b.id)! - n.onPath!.get(a.id)!)
    .slice(0, 3);
  return [
    `**${quote(`${root.service} ${root.name}`)}**: ${ns(n.whole.duration)}, ${formatTime(n.began, true)}`,
    '',
    `- Trace: ${quote(n.trace)}`,
    `- Where: ${accountText(n.whole, 4)}`,
    ...(longest.length > 0
      ? [
          '- Critical path: ' +
            longest.map((r) => `${quote(`${r.service} ${r.name}`)} ${ns(n.onPath!.get(r.id)!)}`).join(', '),
        ]
      : []),
    ...(n.row && n.account
      ? [`- ${quote(`${n.row.service} ${n.row.name}`)} ${ns(n.account.duration)}: ${accountText(n.account, 4)}`]
      : []),
    '',
    `<${n.address}>`,
    '',
  ].join('\n');
}

export function slowIncident(s: Slow, range: [number, number], address: string): string {
  const causes = s.causes
    .slice(0, 4)
    .map(
      (c) => `- ${rowName(c)}: ${signed(c.change)} (${signed(c.low)} to ${signed(c.high)}), q ${c.q.toPrecision(2)}`,
    );
  return [
    `**${quote(`${s.service} ${s.name}`)}**: slow requests take ${ns(s.mean_slow_ns)}, typical ones ` +
      `${ns(s.mean_typical_ns)}; ${s.slow} and ${s.typical} of ${s.requests}, ${absolute(range)}`,
    '',
    ...(s.note ? [s.note] : causes.length > 0 ? causes : ['Nothing surely explains the gap.']),
    ...s.attributes
      .slice(0, 2)
      .map(
        (a) =>
          `- ${quote(`${a.name}=${a.value}`)}: ${formatShare(a.slow, 1)} of slow, ` +
          `${formatShare(a.typical, 1)} of typical`,
      ),
    '',
    `<${address}>`,
    '',
  ].join('\n');
}
