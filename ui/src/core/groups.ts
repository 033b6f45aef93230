// The legend of a flame graph's colours: packages, outermost namespaces and modules, by self value. Pure.
import { OTHER } from './flame';
import { groupOf } from './names';
import { colourIndex } from './palette';
import { ownOf, type Tree } from './tree';

export interface Group {
  name: string;
  fill: number;
  self: number;
  functions: Set<number>;
}

export function groupsOf(tree: Tree, most = 8): Group[] {
  const self = new Float64Array(tree.functions.length);
  for (let i = 1; i < tree.func.length; i++) self[tree.func[i]] += ownOf(tree, i) ?? 0;
  const groups = new Map<string, Group>();
  tree.functions.forEach((f, i) => {
    const name = groupOf(f.name, f.module);
    if (f.kind === OTHER || i === tree.func[0] || name === '') return;
    const group = groups.get(name) ?? {
      name,
      fill: colourIndex(f.name, f.module, f.kind),
      self: 0,
      functions: new Set<number>(),
    };
    groups.set(name, group);
    group.self += self[i];
    group.functions.add(i);
  });
  return [...groups.values()]
    .filter((g) => g.self > 0)
    .sort((a, b) => b.self - a.self)
    .slice(0, most);
}
