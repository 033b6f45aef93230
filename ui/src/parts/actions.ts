// What can be done with a frame: one list for the inspector, the menu and the keys, so that mouse, keyboard and screen
// reader get the same actions. An action the page does not offer is left out or says why.
import type { About } from '../core/about';
import { go } from '../core/location';
import { exactly } from '../core/names';
import { addressOf, pathText } from '../core/path';
import { encodeService, type ServiceState } from '../core/state';
import { functionOf, isFold, type Tree } from '../core/tree';
import { incidentText, stackText } from './describe';
import { announce, copyText } from './shell';

// A link from a frame; `key` follows it while the graph has the focus.
export interface FrameLink {
  text: string;
  key: string;
  href: (f: { name: string; module: string }, address: string) => string;
}

// Links to the views about one function on a service's page. `base` is that page's state.
export function viewLinks(base: ServiceState): FrameLink[] {
  const to = (view: ServiceState['view']) => (f: { name: string; module: string }) =>
    encodeService({ ...base, view, fn: f.name, mod: f.module, line: 0, zoom: '', frame: '', upzoom: '', upframe: '' });
  return [
    { text: 'Callers and callees', key: 's', href: to('sandwich') },
    { text: 'Source', key: 'o', href: to('source') },
    { text: 'Traces with it', key: 't', href: to('traces') },
  ];
}

// A frame and what the page around it offers.
export interface FrameContext {
  tree: Tree;
  node: number;
  about: About;
  onZoom: (node: number) => void;
  onQuery?: (text: string) => void;
  onLens?: (step: string) => void;
  part?: boolean; // a graph whose paths are not those of the whole (callers, callees)
  onOpenFold?: (node: number) => void;
  links?: FrameLink[];
  noLinks?: string; // why there are none
}

// An action runs something, is a link, or says why it is not available. `key`: several are separated by ", "; "" for
// none.
export interface Action {
  text: string;
  key: string;
  help?: string;
  run?: () => void;
  href?: string;
  why?: string;
}

const LENSES: [string, string, string, string][] = [
  ['focus', 'f', 'Focus', 'only stacks with this function; it becomes the top'],
  ['hide', 'h', 'Hide', 'take it out; its callers get what it did'],
  ['merge', 'm', 'Merge', 'neighbouring calls of it become one'],
  ['collapse', 'c', 'Collapse', 'it swallows everything it called'],
  ['drop', 'd', 'Drop', 'leave out every stack with it'],
  ['recursion', 'r', 'Collapse recursion', 'called by itself, directly or through others, it is one call'],
];
// Actions on this one frame, by its path.
const PATH_LENSES: [string, string, string, string][] = [
  ['focus-path', 'F', 'Focus here', 'only what lies below this one frame; it becomes the top'],
  ['merge-path', 'M', 'Merge here', 'take this one frame out; its caller gets what it did'],
];

export function actionsOf(p: FrameContext): Action[] {
  const { tree, node, onQuery, onLens, onOpenFold } = p;
  const f = functionOf(tree, node);
  const fold = isFold(tree, node);
  const real = node !== 0 && !fold; // a function, neither the whole nor a fold
  const out: Action[] = [];
  if (real) out.push({ text: 'Zoom', key: 'Enter', run: () => p.onZoom(node) });
  if (fold && onOpenFold) out.push({ text: 'Open the fold', key: 'Enter', run: () => onOpenFold(node) });
  if (real && onLens)
    out.push(
      ...LENSES.map(([op, key, text, help]) => ({ text, key, help, run: () => onLens(`${op}:${exactly(f.name)}`) })),
    );
  if (real && onLens && !p.part)
    out.push(
      ...PATH_LENSES.map(([op, key, text, help]) => ({
        text,
        key,
        help,
        run: () => onLens(`${op}:${pathText(tree, node)}`),
      })),
    );
  if (real && onLens && f.module)
    out.push({
      text: 'Merge module',
      key: 'C',
      help: 'neighbouring calls inside the module become one',
      run: () => onLens(`merge:${exactly(f.module).slice(0, -1)}\``),
    });
  if (real && onQuery) out.push({ text: 'Search its name', key: '*', run: () => onQuery(exactly(f.name)) });
  if (!fold) out.push({ text: 'Copy name', key: '', run: () => void copyText(f.name) });
  out.push(
    { text: 'Copy stack', key: 'y', run: () => void copyText(stackText(tree, node)) },
    { text: 'Copy for incident', key: '', run: () => void copyText(incidentText(tree, node, p.about)) },
  );
  if (real && p.links) {
    const at = addressOf(tree, node);
    out.push(...p.links.map((l) => ({ text: l.text, key: l.key, href: l.href(f, at) })));
  }
  if (real && p.noLinks) out.push({ text: 'Callers, source, traces', key: 's, o, t', why: p.noLinks });
  return out;
}

export const actionOf = (key: string, p: FrameContext) =>
  actionsOf(p).find((a) => a.key !== '' && a.key.split(', ').includes(key));

export function act(action: Action): void {
  if (action.why) announce(action.why);
  else if (action.href) go(action.href);
  else action.run!();
}
