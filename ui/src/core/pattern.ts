// The search's pattern: a case-insensitive regular expression as the server reads it (RE2), or plain text. Pure.
//
// A link may carry any pattern and a profile any name, and the browser's own matcher can take forever on "(x+)+y". This
// one follows all paths through the pattern at once, one step per character, and caches the steps it has seen; the work
// per pattern is limited as well. It has no look-around and no back references.

export interface Pattern {
  test: (text: string) => boolean;
  problem: () => string; // what to tell the reader after matching; "" for nothing
  source: string; // the pattern for the server (RE2)
}

const MOST_INSTRUCTIONS = 100_000;
const MOST_REPEATS = 1000;
const MOST_REMEMBERED = 20_000;
const MOST_WORK = 5_000_000; // visited instructions: about a quarter of a second

export const NOT_REGULAR = 'not a regular expression, matched as plain text';
export const TOO_LONG = 'this pattern takes too long';

export function patternOf(text: string): Pattern | null {
  if (text === '') return null;
  let machine: Machine;
  try {
    machine = new Machine(compile(new Parser(text).whole()));
  } catch {
    const plain = text.toLowerCase();
    return {
      test: (name) => name.toLowerCase().includes(plain),
      problem: () => NOT_REGULAR,
      source: text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'),
    };
  }
  return {
    test: (name) => machine.test(name),
    problem: () => (machine.tooLong ? TOO_LONG : ''),
    source: forServer(text),
  };
}

// Two things are written differently in RE2; group names are not needed.
const forServer = (text: string) =>
  text.replace(/\\u([0-9a-fA-F]{4})|\\[\s\S]|\(\?<[A-Za-z_]\w*>/g, (part, code: string | undefined) =>
    code ? `\\x{${code}}` : part.startsWith('(') ? '(?:' : part,
  );

// --- text to tree ---

type Has = (code: number) => boolean;
type Assertion = 'start' | 'end' | 'edge' | 'no edge';
type Node =
  | { kind: 'one'; has: Has }
  | { kind: 'assert'; what: Assertion }
  | { kind: 'all'; items: Node[] }
  | { kind: 'any'; items: Node[] }
  | { kind: 'repeat'; item: Node; least: number; most: number };

const other = (code: number, change: 'toLowerCase' | 'toUpperCase') => {
  const text = String.fromCodePoint(code)[change]();
  const changed = text.codePointAt(0)!;
  return text.length === String.fromCodePoint(changed).length ? changed : code;
};
const anyCase =
  (has: Has): Has =>
  (code) =>
    has(code) || has(other(code, 'toLowerCase')) || has(other(code, 'toUpperCase'));
const isWord: Has = (c) => (c >= 48 && c <= 57) || (c >= 65 && c <= 90) || c === 95 || (c >= 97 && c <= 122);
const within =
  (...ranges: [number, number][]): Has =>
  (c) =>
    ranges.some(([from, to]) => c >= from && c <= to);
const isDigit = within([48, 57]);
const KINDS: Record<string, Has> = {
  d: isDigit,
  w: isWord,
  s: (c) => c === 9 || c === 10 || c === 12 || c === 13 || c === 32,
};
const CONTROLS: Record<string, number> = { a: 7, n: 10, t: 9, r: 13, f: 12, v: 11, 0: 0 };
const CLASSES: Record<string, Has> = {
  alnum: within([48, 57], [65, 90], [97, 122]),
  alpha: within([65, 90], [97, 122]),
  ascii: within([0, 127]),
  blank: (c) => c === 9 || c === 32,
  cntrl: within([0, 31], [127, 127]),
  digit: isDigit,
  graph: within([33, 126]),
  lower: within([97, 122]),
  print: within([32, 126]),
  punct: within([33, 47], [58, 64], [91, 96], [123, 126]),
  space: within([9, 13], [32, 32]),
  upper: within([65, 90]),
  word: isWord,
  xdigit: within([48, 57], [65, 70], [97, 102]),
};

// A Unicode category or script, by the names that browser and server share.
function unicode(name: string): Has {
  for (const inside of [name, `Script=${name}`]) {
    try {
      const found = new RegExp(`^\\p{${inside}}$`, 'u');
      return (c) => found.test(String.fromCodePoint(c));
    } catch {
      /* no such name */
    }
  }
  throw new Error('an unknown class');
}

class Parser {
  private at = 0;
  private caseless = true; // off after (?-i)
  constructor(private text: string) {}

  whole(): Node {
    const node = this.choice();
    if (this.at < this.text.length) throw new Error('a ) too many');
    return node;
  }

  private take(wanted: string): boolean {
    if (!this.text.startsWith(wanted, this.at)) return false;
    this.at += wanted.length;
    return true;
  }

  private code(): number {
    const code = this.text.codePointAt(this.at);
    if (code === undefined) throw new Error('cut short');
    this.at += code > 0xffff ? 2 : 1;
    return code;
  }

  private match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at += found[0].length;
    return found;
  }

  private choice(): Node {
    const items = [this.sequence()];
    while (this.take('|')) items.push(this.sequence());
    return items.length === 1 ? items[0] : { kind: 'any', items };
  }

  private sequence(): Node {
    const items: Node[] = [];
    while (this.at < this.text.length && this.text[this.at] !== '|' && this.text[this.at] !== ')') {
      if (this.flags()) continue;
      if (!this.take('\\Q')) items.push(this.repeated());
      else
        while (this.at < this.text.length && !this.take('\\E')) items.push({ kind: 'one', has: this.is(this.code()) });
    }
    return { kind: 'all', items };
  }

  private is(code: number): Has {
    return this.cased((c) => c === code);
  }
  private cased(has: Has): Has {
    return this.caseless ? anyCase(has) : has;
  }

  // "(?i)" and "(?-i)" apply until the end of the group; the other flags change nothing for a name on one line.
  private flags(open = /\(\?([imsU]*)(?:-([imsU]+))?\)/y): boolean {
    const found = this.match(open);
    if (found?.[1]?.includes('i')) this.caseless = true;
    if (found?.[2]?.includes('i')) this.caseless = false;
    return found !== null;
  }

  private repeated(): Node {
    const item = this.one();
    const found = this.match(/[*+?]|\{(\d+)(?:(,)(\d*))?\}/y);
    if (!found) return item;
    if (item.kind === 'assert') throw new Error('nothing to repeat');
    this.take('?'); // lazy or greedy makes no difference here
    const sign = found[0];
    const least = sign === '*' || sign === '?' ? 0 : sign === '+' ? 1 : Number(found[1]);
    const most =
      sign === '?'
        ? 1
        : sign === '*' || sign === '+' || (found[2] && !found[3])
          ? Infinity
          : found[2]
            ? Number(found[3])
            : least;
    if (least > most || least > MOST_REPEATS || (most > MOST_REPEATS && most !== Infinity))
      throw new Error('out of range');
    return { kind: 'repeat', item, least, most };
  }

  private one(): Node {
    if (this.take('(')) {
      const caseless = this.caseless;
      if (
        !this.match(/\?P?<[A-Za-z_]\w*>/y) &&
        !this.flags(/\?([imsU]*)(?:-([imsU]+))?:/y) &&
        this.text[this.at] === '?'
      )
        throw new Error('look-around');
      const inside = this.choice();
      this.caseless = caseless;
      if (!this.take(')')) throw new Error('a ) is missing');
      return inside.kind === 'assert' ? { kind: 'all', items: [inside] } : inside;
    }
    if (this.take('[')) return { kind: 'one', has: this.set() };
    if (this.take('^') || this.take('\\A')) return { kind: 'assert', what: 'start' };
    if (this.take('$') || this.take('\\z')) return { kind: 'assert', what: 'end' };
    if (this.take('\\b')) return { kind: 'assert', what: 'edge' };
    if (this.take('\\B')) return { kind: 'assert', what: 'no edge' };
    if (this.take('.')) return { kind: 'one', has: (c) => c !== 10 };
    if (/[*+?]/.test(this.text[this.at])) throw new Error('nothing to repeat');
    const meant = this.take('\\') ? this.escape() : this.code();
    return { kind: 'one', has: typeof meant === 'number' ? this.is(meant) : meant };
  }

  // What follows a backslash: one character, or a class.
  private escape(): number | Has {
    const hex = this.match(/x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|x\{([0-9a-fA-F]{1,6})\}/y);
    if (hex) return parseInt(hex[1] ?? hex[2] ?? hex[3], 16);
    const named = this.match(/([pP])(?:([A-Z])|\{(\^?)(\w+)\})/y);
    if (named) {
      const has = this.cased(unicode(named[2] ?? named[4]));
      return (named[1] === 'P') !== (named[3] === '^') ? (c) => !has(c) : has;
    }
    if (this.match(/[1-9]|k</y)) throw new Error('a back reference');
    const letter = String.fromCodePoint(this.code());
    if (letter in CONTROLS) return CONTROLS[letter];
    const kind = KINDS[letter.toLowerCase()];
    if (kind) return letter in KINDS ? kind : (c) => !kind(c);
    if (/[A-Za-z]/.test(letter)) throw new Error('an unknown escape'); // the server rejects it too
    return letter.codePointAt(0)!;
  }

  private set(): Has {
    const not = this.take('^');
    const parts: Has[] = [];
    for (let first = true; first || !this.take(']'); first = false) {
      // "[]a]": a bracket in first place stands for itself.
      const from = this.member();
      const range =
        typeof from === 'number' && this.text[this.at] === '-' && this.text[this.at + 1] !== ']' && this.take('-');
      const to = range ? this.member() : from;
      if (typeof from === 'number' && typeof to === 'number') {
        if (from > to) throw new Error('a range in the wrong order');
        parts.push((c) => c >= from && c <= to);
      } else {
        for (const end of range ? [from, to] : [from]) parts.push(typeof end === 'number' ? (c) => c === end : end);
        if (range) parts.push((c) => c === 45);
      }
    }
    const has = this.cased((c) => parts.some((p) => p(c)));
    return not ? (c) => !has(c) : has;
  }

  private member(): number | Has {
    const named = this.match(/\[:(\^?)(\w+):\]/y);
    if (named) {
      const has = CLASSES[named[2]];
      if (!has) throw new Error('an unknown class');
      return named[1] ? (c) => !has(c) : has;
    }
    return this.take('\\') ? this.escape() : this.code();
  }
}

// --- tree to instructions ---

type Instruction = { has: Has } | { assert: Assertion } | { to: number[] } | { found: true };

function compile(node: Node): Instruction[] {
  const program: Instruction[] = [];
  const push = (i: Instruction) => {
    if (program.length >= MOST_INSTRUCTIONS) throw new Error('too large');
    return program.push(i) - 1;
  };
  const emit = (n: Node): void => {
    if (n.kind === 'one') push({ has: n.has });
    else if (n.kind === 'assert') push({ assert: n.what });
    else if (n.kind === 'all') n.items.forEach(emit);
    else if (n.kind === 'any') emitChoice(n.items);
    else emitRepeat(n.item, n.least, n.most);
  };
  const emitChoice = (items: Node[]) => {
    const fork: number[] = [];
    push({ to: fork });
    const ends: number[][] = [];
    for (const item of items) {
      fork.push(program.length);
      emit(item);
      const end: number[] = [];
      ends.push(end);
      push({ to: end });
    }
    for (const end of ends) end.push(program.length);
  };
  const emitRepeat = (item: Node, least: number, most: number) => {
    const before = program.length;
    for (let i = 0; i < least; i++) {
      emit(item);
      if (program.length === before) return; // repeating nothing is nothing
    }
    const exits: number[][] = [];
    for (let i = least; i < Math.min(most, least + MOST_REPEATS); i++) {
      const fork: number[] = [program.length + 1];
      exits.push(fork);
      const at = push({ to: fork });
      emit(item);
      if (program.length === at + 1) break;
      if (most === Infinity) {
        push({ to: [at] });
        break;
      }
    }
    for (const fork of exits) fork.push(program.length);
  };
  emit(node);
  push({ found: true });
  return program;
}

// --- instructions over text ---

const FOUND = 'found';
type Before = 'start' | 'word' | 'other'; // the previous character
interface State {
  places: number[];
  before: Before;
  next: Map<number, State | typeof FOUND>;
  atEnd?: boolean;
}

const END = -1;

class Machine {
  tooLong = false;
  private work = 0;
  private states = new Map<string, State>();
  private remembered = 0;
  private first: State;
  private seen: Uint32Array;
  private round = 0;

  constructor(private program: Instruction[]) {
    this.seen = new Uint32Array(program.length);
    this.first = this.state([0], 'start');
  }

  test(text: string): boolean {
    let state = this.first;
    for (let i = 0; i < text.length; ) {
      const code = text.codePointAt(i)!;
      const next = state.next.get(code) ?? this.step(state, code);
      if (next === FOUND) return true;
      if (this.tooLong) return false;
      state = next;
      i += code > 0xffff ? 2 : 1;
    }
    state.atEnd ??= this.reach(state, END) === FOUND;
    return state.atEnd;
  }

  private state(places: number[], before: Before): State {
    const key = before + places.join();
    const known = this.states.get(key);
    if (known) return known;
    const fresh: State = { places, before, next: new Map() };
    this.states.set(key, fresh);
    return fresh;
  }

  // The reading instructions that can be reached without reading; `code` is the next character.
  private reach(state: State, code: number): number[] | typeof FOUND {
    const { program, seen } = this;
    const round = ++this.round;
    const pending = [...state.places];
    const out: number[] = [];
    const edge = (state.before === 'word') !== (code !== END && isWord(code));
    const holds: Record<Assertion, boolean> = {
      start: state.before === 'start',
      end: code === END,
      edge,
      'no edge': !edge,
    };
    while (pending.length > 0) {
      const at = pending.pop()!;
      if (seen[at] === round) continue;
      seen[at] = round;
      this.work++;
      const i = program[at];
      if ('found' in i) return FOUND;
      if ('has' in i) out.push(at);
      else if ('assert' in i) {
        if (holds[i.assert]) pending.push(at + 1);
      } else for (const to of i.to) pending.push(to);
    }
    return out;
  }

  private step(state: State, code: number): State | typeof FOUND {
    if (this.work > MOST_WORK) {
      this.tooLong = true;
      return state;
    }
    if (++this.remembered > MOST_REMEMBERED) {
      this.remembered = 0;
      this.states.clear();
      this.first = this.state([0], 'start');
    }
    const places = this.reach(state, code);
    let next: State | typeof FOUND = FOUND;
    if (places !== FOUND) {
      const after = places.filter((at) => (this.program[at] as { has: Has }).has(code)).map((at) => at + 1);
      // A match may begin anywhere.
      next = this.state([0, ...after.sort((a, b) => a - b)], isWord(code) ? 'word' : 'other');
    }
    state.next.set(code, next);
    return next;
  }
}
