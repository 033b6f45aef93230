// A frame in words and numbers: for the tooltip, the drawer, screen readers and incident notes. Pure.
import type { About } from '../core/about';
import { formatMeasured, formatMoved, mayBeChance } from '../core/difference';
import { formatCount, formatError, formatMany, formatShare, formatValue } from '../core/format';
import { childrenOf, functionOf, isFold, stackOf, type Tree } from '../core/tree';
import { labelOf, shownName } from '../draw/flame';

export const nameOf = (tree: Tree, node: number) => shownName(labelOf(tree, node), Infinity);
export const valueOf = (tree: Tree, v: number) => formatMeasured(v, tree.meta.unit, tree.meta.scale, tree.measure);
export const movedOf = (tree: Tree, v: number) => formatMoved(v, tree.meta.unit, tree.meta.scale, tree.measure);

// The whole as the server gave it, whatever the numbers below are measured in.
export function wholeOf(tree: Tree): string {
  const value = (v: number) => formatValue(v, tree.meta.unit, tree.meta.scale);
  const what = tree.meta.unit === 'count' ? ` ${tree.meta.type}` : '';  // a bare number says nothing
  return (tree.totalBefore ? `${value(Number(tree.meta.total_before ?? tree.totalBefore[0]))} → ${value(tree.total[0])}` : value(tree.total[0])) + what;
}

// "14 samples"; of a difference both sides'.
export function samplesOf(tree: Tree): string {
  const before = tree.totalCountBefore?.[0];
  return (before === undefined ? '' : `${formatCount(before)} → `) + formatMany(tree.totalCount[0], 'sample');
}
export const fewSamples = (tree: Tree) => {
  const fewest = Math.min(tree.totalCount[0], tree.totalCountBefore?.[0] ?? Infinity);
  return tree.totalCount[0] > 0 && fewest < 100;
};

// " ± 0.2": of the whole it is a share of itself.
const errorOf = (tree: Tree, node: number) => (node === 0 ? '' : ' ' + formatError(tree.totalCount[node], tree.totalCount[0]));

// "3.1 % ± 0.2 · 40 s"; in a difference both sides; "" where it says nothing.
export function selfOf(tree: Tree, node: number): string {
  if (tree.meta.inverted) return tree.depth[node] === 1 ? numbersOf(tree, node) : '';  // of a caller it is no matter here
  if (tree.before) return `${valueOf(tree, tree.before[node])} → ${valueOf(tree, tree.self[node])}`;
  return `${formatShare(tree.self[node], tree.total[0])} ${formatError(tree.count[node], tree.totalCount[0])} · ${valueOf(tree, tree.self[node])}`;
}

// "11.9 % ± 0.2 · 153 s · 49,131 samples"
export function numbersOf(tree: Tree, node: number): string {
  const parts = [`${formatShare(tree.total[node], tree.total[0])}${errorOf(tree, node)}`, valueOf(tree, tree.total[node])];
  if (tree.totalBefore) return changeOf(tree, node);
  parts.push(formatMany(tree.totalCount[node], 'sample'));
  return parts.join(' · ');
}

export function changeOf(tree: Tree, node: number): string {
  const [before, after] = [tree.totalBefore![node], tree.total[node]];
  const moved = after - before;
  const delta = Math.abs(moved) < 1e-9 * Math.max(before, after) ? 0 : moved;  // sides brought to one scale: less is rounding
  const sign = delta > 0 ? '+' : delta < 0 ? '−' : '±';
  const relative = before === 0 ? 'new' : after === 0 ? 'vanished' : `${sign}${(100 * Math.abs(delta) / before).toFixed(1)} %`;
  return `${valueOf(tree, before)} → ${valueOf(tree, after)} · ${sign}${movedOf(tree, Math.abs(delta))} (${relative})${doubtOf(tree, node)}`;
}

const doubtOf = (tree: Tree, node: number) => (mayBeChance(tree, node) ? ' · may be chance' : '');

export function announcementOf(tree: Tree, node: number): string {
  const callees = childrenOf(tree, node).length;
  const share = formatShare(tree.total[node], tree.total[0]).replace(' %', ' percent');
  const numbers = tree.totalBefore ? changeOf(tree, node)
    : `${share}${errorOf(tree, node).replace('±\u00a0', 'plus or minus ')}, ${valueOf(tree, tree.total[node])}`;
  return `${nameOf(tree, node).slice(0, 300)}, ${numbers}, level ${tree.depth[node] + 1}, ${formatMany(callees, tree.meta.inverted ? 'caller' : 'callee')}`;
}

export function stackText(tree: Tree, node: number): string {
  const names = stackOf(tree, node).slice(1).map((i) => functionOf(tree, i).name);
  return (tree.meta.inverted ? names.reverse() : names).join('\n');
}

// As code in Markdown: nothing in it is read as markup.
function quote(text: string): string {
  const line = text.replace(/\s+/g, ' ').slice(0, 1000);
  return line.includes('`') ? '`` ' + line.replace(/``+/g, '`') + ' ``' : '`' + line + '`';
}

// What goes into an incident's notes, as Markdown: what it is about (program, absolute time, filter, lens; of a difference
// both sides), where it is found again, numbers with their error, the path and its heaviest frames.
export function incidentText(tree: Tree, node: number, about: About): string {
  const heaviest = childrenOf(tree, node).filter((c) => !isFold(tree, c)).sort((a, b) => tree.total[b] - tree.total[a]).slice(0, 5);
  return [
    `**${quote(about.title)}**: ${quote(nameOf(tree, node))} ${numbersOf(tree, node)}`, '', ...about.facts.map(([name, text]) => `- ${name}: ${quote(text)}`), '', `<${about.address}>`, '',
    ...stackOf(tree, node).slice(1).map((i, depth) => `${'  '.repeat(Math.min(depth, 20))}- ${quote(nameOf(tree, i))} ${formatShare(tree.total[i], tree.total[0])}`),
    ...(heaviest.length > 0 ? ['', 'Below it:', ...heaviest.map((c) => `- ${quote(nameOf(tree, c))} ${numbersOf(tree, c)}`)] : []), '',
  ].join('\n');
}
