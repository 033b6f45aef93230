// Shortens names to fit a box, keeping the function's own name to the last. Pure.
//
// The steps: whole name, without parameters, without template arguments, without path or package, without outer
// namespaces, cut off. Names come from profiles and may be anything.

const LONGEST = 2000; // longest name in graphs and lists; the details show all of it

// "a<b<c>>(d)::e" without the parts in one kind of brackets; operators keep theirs.
function without(name: string, open: string, close: string): string {
  if (!name.includes(open) || /operator\s*[<>(-]/.test(name)) return name;
  let depth = 0;
  let out = '';
  let before = '';
  for (const c of name) {
    if (c === open) depth++;
    else if (c === close && depth > 0 && before !== '-')
      depth--; // "-> T" is not a closing bracket
    else if (depth === 0) out += c;
    before = c;
  }
  return depth === 0 && out.trim() !== '' ? out.trim() : name;
}

// Rust names a method "<a::T<u8> as b::Trait>::f"; this gives "a::T<u8>::f".
function ofType(name: string): string {
  if (name[0] !== '<') return name;
  let depth = 0;
  let as = -1;
  for (let i = 0; i < name.length; i++) {
    if (name[i] === '<') depth++;
    else if (name[i] === '>' && name[i - 1] !== '-') depth--;
    if (depth === 1 && as < 0 && name.startsWith(' as ', i)) as = i;
    if (depth !== 0) continue;
    const rest = name.slice(i + 1); // empty for Python's "<module>"
    return rest.startsWith('::') ? ofType(name.slice(1, as < 0 ? i : as)) + rest : name;
  }
  return name;
}

function lastSegment(name: string): string {
  const slash = name.lastIndexOf('/'); // Go: github.com/a/b.(*T).F
  if (slash >= 0 && slash < name.length - 1) return name.slice(slash + 1);
  if (name.includes('::')) return name;
  const dots = name.split('.'); // Java: com.acme.shop.Cart.add
  if (dots.length > 3 && dots.every((d) => /^[\w$<>]+$/.test(d))) return dots.slice(-2).join('.');
  return name;
}

// What compilers write for std::string and std::string_view, of any kind of character.
const LETTER = '(char|wchar_t|char8_t|char16_t|char32_t)';
const WITH = (what: string) => `(?:, ?std::(?:__1::)?${what}<\\2> ?)?`;
const STRING = new RegExp(
  `\\bstd::(?:__cxx11::|__1::)?basic_string(_view)?<${LETTER}${WITH('char_traits')}${WITH('allocator')}>`,
  'g',
);
const PREFIXES: Record<string, string> = { char: '', wchar_t: 'w', char8_t: 'u8', char16_t: 'u16', char32_t: 'u32' };

// "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::size()" -> "std::string::size()"
export const readable = (name: string) =>
  name.includes('basic_string')
    ? name.replace(STRING, (_, view: string, letter: string) => `std::${PREFIXES[letter]}string${view ?? ''}`)
    : name;

// "a::B<c>::operator()(d) const": what is before its own name, and that without parameters; null if it is none.
function operatorIn(name: string): { scope: string; name: string } | null {
  const [whole, scope, own] = /^(.*?)(\boperator(?:\(\)|\[\]|""\s?\w+|[^\s\w(]+|\s[\w:]+(?:\[\])?))/.exec(name) ?? [];
  return whole === undefined ? null : { scope, name: own };
}

export function ladder(name: string): string[] {
  const steps = [readable(name.slice(0, LONGEST))];
  const push = (next: string) => {
    if (next !== '' && next.length < steps[steps.length - 1].length) steps.push(next);
  };
  const named = steps[0].replaceAll('(anonymous namespace)::', '');
  push(named);
  const typed = ofType(named).replaceAll('::<', '<');
  push(typed);
  // A Go receiver is in parentheses too, but is not a parameter list.
  const plain = /\(\*?\w+\)/.test(typed) ? typed : without(typed, '(', ')').replace(/\s+const$/, '');
  push(plain);
  const operator = operatorIn(plain);
  const bare = operator ? without(operator.scope, '<', '>') + operator.name : without(plain, '<', '>');
  push(bare);
  push(lastSegment(bare));
  const scopes = operator
    ? [...without(operator.scope, '<', '>').split('::').slice(0, -1), operator.name]
    : bare.split('::');
  if (scopes.length > 2) push(scopes.slice(-2).join('::'));
  if (scopes.length > 1) push(scopes[scopes.length - 1]);
  return steps;
}

const cache = new Map<string, string[]>();
export function fitName(name: string, characters: number): string {
  if (name.length <= characters) return readable(name);
  let steps = cache.get(name);
  if (!steps) {
    if (cache.size > 50_000) cache.clear();
    steps = ladder(name);
    cache.set(name, steps);
  }
  for (const step of steps) if (step.length <= characters) return step;
  const last = steps[steps.length - 1];
  return characters >= 3 ? last.slice(0, characters - 1) + '…' : '';
}

export const shortName = (name: string) => fitName(name, 120);

// A regular expression that matches exactly this name, for lens and search. " > " separates the steps of a lens, so
// inside a name it is written without its first space.
export const exactly = (name: string) =>
  '^' + name.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&').replace(/ (?=> )/g, '\\x20') + '$';

// What a colour stands for: the package or outermost namespace of a name, or else its module.
export function groupOf(name: string, module: string): string {
  if (/^\/|\+0x[0-9a-f]+$/.test(name)) return module; // an address, not a name
  const bare = ofType(name.slice(0, LONGEST).replaceAll('(anonymous namespace)::', ''))
    .replace(/^[&*[]+(mut |const )?/, '')
    .split(/[(<]/)[0];
  const own = bare.slice(bare.lastIndexOf(' ') + 1); // without a return type
  const slash = own.lastIndexOf('/');
  if (slash > 0) {
    const dot = own.indexOf('.', slash);
    return dot > 0 ? own.slice(0, dot) : own;
  }
  const scope = own.indexOf('::');
  if (scope > 0) return /^[\w$~]+$/.test(own.slice(0, scope)) ? own.slice(0, scope) : module;
  const dots = own.split('.');
  return dots.length > 1 ? dots.slice(0, Math.min(dots.length - 1, 3)).join('.') : module;
}
