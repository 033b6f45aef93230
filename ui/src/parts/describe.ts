// A frame in words and numbers, for tooltip, inspector, screen readers and incident notes. Pure.
import type { About } from '../core/about';
import { formatMeasured, formatMoved, intervalText, mayBeChance, sureOf, testedOf } from '../core/difference';
import { formatCount, formatError, formatMany, formatShare, formatValue } from '../core/format';
import { childrenOf, functionOf, isFold, stackOf, type Tree } from '../core/tree';
import { labelOf, shownName } from '../draw/flame';

export const nameOf = (tree: Tree, node: number) => shownName(labelOf(tree, node), Infinity);
export const measured = (tree: Tree, v: number) => formatMeasured(v, tree.meta.unit, tree.meta.scale, tree.measure);
export const movedOf = (tree: Tree, v: number) => formatMoved(v, tree.meta.unit, tree.meta.scale, tree.measure);

// The total as the server gave it, whatever unit the numbers below use.
export function wholeOf(tree: Tree): string {
  const value = (v: number) => formatValue(v, tree.meta.unit, tree.meta.scale);
  const what = tree.meta.unit === 'count' ? ` ${tree.meta.type}` : ''; // a bare number needs a name
  return (
    (tree.totalBefore
      ? `${value(Number(tree.meta.total_before ?? tree.totalBefore[0]))} → ${value(tree.total[0])}`
      : value(tree.total[0])) + what
  );
}

// "14 samples"; for a difference, of both sides.
export function samplesOf(tree: Tree): string {
  const before = tree.totalCountBefore?.[0];
  return (before === undefined ? '' : `${formatCount(before)} → `) + formatMany(tree.totalCount[0], 'sample');
}
export const fewSamples = (tree: Tree) => {
  const fewest = Math.min(tree.totalCount[0], tree.totalCountBefore?.[0] ?? Infinity);
  return tree.totalCount[0] > 0 && fewest < 100;
};

// " ± 0.2"; "" for the root, which is all of itself.
const errorOf = (tree: Tree, node: number) =>
  node === 0 ? '' : ' ' + formatError(tree.totalCount[node], tree.totalCount[0]);

// "3.1 % ± 0.2 · 40 s"; for a difference both sides; "" if it does not apply.
export function selfOf(tree: Tree, node: number): string {
  // In an inverted graph only the top frames have a self value.
  if (tree.meta.inverted) return tree.depth[node] === 1 ? numbersOf(tree, node) : '';
  if (tree.before) return `${measured(tree, tree.before[node])} → ${measured(tree, tree.self[node])}`;
  const error = formatError(tree.count[node], tree.totalCount[0]);
  return `${formatShare(tree.self[node], tree.total[0])} ${error} · ${measured(tree, tree.self[node])}`;
}

// "11.9 % ± 0.2 · 153 s · 49,131 samples"
export function numbersOf(tree: Tree, node: number): string {
  const parts = [
    `${formatShare(tree.total[node], tree.total[0])}${errorOf(tree, node)}`,
    measured(tree, tree.total[node]),
  ];
  if (tree.totalBefore) return changeOf(tree, node);
  parts.push(formatMany(tree.totalCount[node], 'sample'));
  return parts.join(' · ');
}

export function changeOf(tree: Tree, node: number): string {
  const [before, after] = [tree.totalBefore![node], tree.total[node]];
  const moved = after - before;
  // The sides were scaled, so a smaller difference is rounding.
  const delta = Math.abs(moved) < 1e-9 * Math.max(before, after) ? 0 : moved;
  const sign = delta > 0 ? '+' : delta < 0 ? '−' : '±';
  const relative =
    before === 0 ? 'new' : after === 0 ? 'vanished' : `${sign}${((100 * Math.abs(delta)) / before).toFixed(1)} %`;
  const change = `${sign}${movedOf(tree, Math.abs(delta))} (${relative})`;
  return `${measured(tree, before)} → ${measured(tree, after)} · ${change}${doubtOf(tree, node)}`;
}

const doubtOf = (tree: Tree, node: number) =>
  mayBeChance(tree, node) ? ' · may be chance' : sureOf(tree, node) !== 0 ? ' · certain' : '';

// Of its function in total, all calls together: "change +1.1 points to +5.3 points (95 %), q 0.001"; "" if not tested.
export function testedText(tree: Tree, node: number): string {
  const tested = tree.measure && testedOf(tree, node);
  if (!tested) return '';
  const interval = intervalText(tested, tree.meta.unit, tree.meta.scale, tree.measure!.mode);
  return `${interval} (95 %), ${tested.q < 0.001 ? 'q below 0.001' : `q ${tested.q.toPrecision(2)}`}`;
}

export function announcementOf(tree: Tree, node: number): string {
  const callees = childrenOf(tree, node).length;
  const share = formatShare(tree.total[node], tree.total[0]).replace(' %', ' percent');
  const numbers = tree.totalBefore
    ? changeOf(tree, node)
    : `${share}${errorOf(tree, node).replace('±\u00a0', 'plus or minus ')}, ${measured(tree, tree.total[node])}`;
  const below = formatMany(callees, tree.meta.inverted ? 'caller' : 'callee');
  return `${nameOf(tree, node).slice(0, 300)}, ${numbers}, level ${tree.depth[node] + 1}, ${below}`;
}

export function stackText(tree: Tree, node: number): string {
  const names = stackOf(tree, node)
    .slice(1)
    .map((i) => functionOf(tree, i).name);
  return (tree.meta.inverted ? names.reverse() : names).join('\n');
}

// As code in Markdown, so that nothing in it is read as markup.
function quote(text: string): string {
  const line = text.replace(/\s+/g, ' ').slice(0, 1000);
  return line.includes('`') ? '`` ' + line.replace(/``+/g, '`') + ' ``' : '`' + line + '`';
}

const NAMED = 6; // frames of the path, nearest to the one that is meant
const BELOW = 4;

// Incident notes as Markdown, at most ten lines: program, absolute time, filter and lens (of both sides, for a
// difference), numbers with their error, the end of the path, the heaviest frames below, the address.
export function incidentText(tree: Tree, node: number, about: About): string {
  const heaviest = childrenOf(tree, node)
    .filter((c) => !isFold(tree, c))
    .sort((a, b) => tree.total[b] - tree.total[a])
    .slice(0, BELOW);
  const path = stackOf(tree, node).slice(1);
  const share = (i: number) => `${quote(nameOf(tree, i))} ${formatShare(tree.total[i], tree.total[0])}`;
  return [
    `**${quote(about.title)}**: ${quote(nameOf(tree, node))} ${numbersOf(tree, node)}`,
    '',
    ...about.facts.map(([name, text]) => `- ${name}: ${quote(text)}`),
    ...(path.length > 0
      ? [`- Path: ${path.length > NAMED ? '… › ' : ''}${path.slice(-NAMED).map(share).join(' › ')}`]
      : []),
    ...(heaviest.length > 0 ? [`- Below it: ${heaviest.map(share).join(', ')}`] : []),
    `<${about.address}>`,
    '',
  ].join('\n');
}
