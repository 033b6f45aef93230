// Source lines with what they cost, and where they are in a repository. Pure.

export interface ListedFunction { name: string; module: string; file: string; start_line: number | string; self: number | string; total: number | string; lines: [number, number | string, number | string][] }

export interface LineCost { self: number; total: number }

// Every line of the file that was seen, all its functions together. A line's total counts a function once a stack, so
// lines of different functions may be added.
export function costsOf(functions: ListedFunction[]): Map<number, LineCost> {
  const costs = new Map<number, LineCost>();
  for (const f of functions) {
    for (const [line, self, total] of f.lines) {
      const cost = costs.get(line) ?? { self: 0, total: 0 };
      costs.set(line, { self: cost.self + Number(self), total: cost.total + Number(total) });
    }
  }
  return costs;
}

// The line one wants to see first: most in all, which may be a call; of equal ones most of its own.
export function hottestLine(costs: Map<number, LineCost>): number {
  let [best, cost] = [0, { self: 0, total: 0 }];
  for (const [line, c] of costs) if (line > 0 && (c.total > cost.total || (c.total === cost.total && c.self > cost.self))) [best, cost] = [line, c];
  return best;
}

// Names come from profiles: ".." in one must not lead out of the folder the template puts it in.
function inside(path: string): string {
  const out: string[] = [];
  for (const part of path.split('/')) if (part === '..') out.pop(); else if (part !== '' && part !== '.') out.push(part);
  return out.join('/');
}

// "https://host/{service}/blob/{version}/{path}#L{line}" filled in; slashes of a path stay.
export function repositoryLink(template: string, values: { service: string; version: string; path: string; line: number }): string {
  const text = { service: inside(values.service), version: inside(values.version) || 'HEAD', path: inside(values.path), line: String(values.line) };
  return template.replace(/\{(service|version|path|line)\}/g, (_, name: keyof typeof text) => encodeURIComponent(text[name]).replace(/%2F/g, '/'));
}
