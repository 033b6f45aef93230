// The cost of source lines, and links to them in a repository. Pure.
import type { ListedFunction } from './answers';

export interface LineCost {
  self: number;
  total: number;
}

// The cost of every observed line of a file, over all its functions. A line's total counts a function once per stack,
// so lines of different functions can be added.
export function costsOf(functions: ListedFunction[]): Map<number, LineCost> {
  const costs = new Map<number, LineCost>();
  for (const f of functions) {
    for (const [line, self, total] of f.lines) {
      const cost = costs.get(Number(line)) ?? { self: 0, total: 0 };
      costs.set(Number(line), { self: cost.self + Number(self), total: cost.total + Number(total) });
    }
  }
  return costs;
}

// The line to show first: the one with the largest total, then the largest self value.
export function hottestLine(costs: Map<number, LineCost>): number {
  let [best, cost] = [0, { self: 0, total: 0 }];
  for (const [line, c] of costs)
    if (line > 0 && (c.total > cost.total || (c.total === cost.total && c.self > cost.self))) [best, cost] = [line, c];
  return best;
}

// A line before and after, in shares of each side's whole.
export interface LineBeside {
  line: number;
  before: number;
  after: number;
}
interface CostedSide {
  costs: Map<number, LineCost>;
  total: number;
}

// The lines whose shares differ most, in the order of the file.
export function linesBeside(before: CostedSide, after: CostedSide, most = 8): LineBeside[] {
  const shareIn = ({ costs, total }: CostedSide, line: number) =>
    total > 0 ? (costs.get(line)?.total ?? 0) / total : 0;
  const lines = new Set([...before.costs.keys(), ...after.costs.keys()].filter((line) => line > 0));
  return [...lines]
    .map((line) => ({ line, before: shareIn(before, line), after: shareIn(after, line) }))
    .sort((a, b) => Math.abs(b.after - b.before) - Math.abs(a.after - a.before) || a.line - b.line)
    .slice(0, most)
    .sort((a, b) => a.line - b.line);
}

// Names come from profiles: a ".." must not lead out of the folder in the template.
function inside(path: string): string {
  const out: string[] = [];
  for (const part of path.split('/'))
    if (part === '..') out.pop();
    else if (part !== '' && part !== '.') out.push(part);
  return out.join('/');
}

// Fills in "https://host/{service}/blob/{version}/{path}#L{line}". Slashes of a path are kept.
export function repositoryLink(
  template: string,
  values: { service: string; version: string; path: string; line: number },
): string {
  const text = {
    service: inside(values.service),
    version: inside(values.version) || 'HEAD',
    path: inside(values.path),
    line: String(values.line),
  };
  return template.replace(/\{(service|version|path|line)\}/g, (_, name: keyof typeof text) =>
    encodeURIComponent(text[name]).replace(/%2F/g, '/'),
  );
}
