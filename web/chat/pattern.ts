/**
 * Regular expressions that cannot freeze a page: a text is matched against all alternatives of the pattern at
 * the same time, so the time grows with the length of the text times the size of the pattern. (JavaScript's
 * own engine tries one alternative after the other, which can take for ever.)
 *
 * Knows characters, `.`, classes, `\d \w \s \b` and their opposites, `^ $`, groups, `|`, and `* + ? {n,m}`.
 * Compares as `foldCase` does, so case and Unicode form do not count. Refuses look-around and
 * back-references, which need another engine.
 */

import { foldCase } from "../../src/protocol/fold-case.ts";

/**
 * Maximum number of steps in the patterns of one list, and maximum length of the text that is looked at: with
 * both, the worst pattern takes a few milliseconds for a message, and a usual one a few microseconds.
 */
const MAX_STEPS = 250;
const MAX_TEXT = 400;

type Test = (character: string) => boolean;
/** `before` and `after`: the characters on both sides of the place; undefined at the ends. */
type Condition = (before: string | undefined, after: string | undefined) => boolean;

interface Step {
  /** Takes one character. */
  test?: Test;
  /** Takes none, and holds at some places only. */
  condition?: Condition;
  next: Step[];
  /** The last place of a text at which the step was reached. */
  reachedAt?: number;
}

/** Builds the steps of a part of the pattern in front of the steps that follow it. */
type Build = (next: Step) => Step;

const isWord: Test = (c) => /[\p{L}\p{N}_]/u.test(c);
const CLASSES: Readonly<Record<string, Test>> = {
  d: (c) => /\d/.test(c),
  w: isWord,
  s: (c) => /\s/.test(c),
};
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t" };
const isAtBoundary: Condition = (before = "", after = "") => isWord(before) !== isWord(after);

/** Counts the steps of all patterns of a list. */
export class Budget {
  #left = MAX_STEPS;

  spend(): void {
    this.#left -= 1;
    if (this.#left < 0)
      throw new SyntaxError(`it is too long: use at most ${MAX_STEPS} steps in all patterns`);
  }
}

/** Throws `SyntaxError` for a pattern that cannot be used. */
export function compile(source: string, budget: Budget): (text: string) => boolean {
  const end: Step = { next: [] };
  const start = new Parser(source, budget).parse()(end);
  let places = 0;
  return (text) => {
    const characters = [...foldCase(text.slice(0, MAX_TEXT)).slice(0, MAX_TEXT)];
    let ways: Step[] = [];
    for (const [at, character] of [...characters, undefined].entries()) {
      places += 1;
      const steps = reachedFrom([...ways, start], places, [characters[at - 1], character]);
      if (end.reachedAt === places) return true;
      ways = steps.flatMap(({ test, next }) => (character !== undefined && test?.(character) ? next : []));
    }
    return false;
  };
}

/** The steps that take the next character, each once, however many ways lead to it. */
function reachedFrom(ways: readonly Step[], place: number, around: Parameters<Condition>): Step[] {
  const steps: Step[] = [];
  const reach = (step: Step): void => {
    if (step.reachedAt === place || step.condition?.(...around) === false) return;
    step.reachedAt = place;
    if (step.test) steps.push(step);
    else step.next.forEach(reach);
  };
  ways.forEach(reach);
  return steps;
}

class Parser {
  readonly #source: readonly string[];
  readonly #budget: Budget;
  #at = 0;

  constructor(source: string, budget: Budget) {
    this.#source = [...source.normalize("NFC")]; // NFKC would make syntax of full-width brackets
    this.#budget = budget;
  }

  parse(): Build {
    const build = this.#alternatives();
    if (this.#at < this.#source.length) throw new SyntaxError(") closes no group");
    return build;
  }

  #alternatives(): Build {
    const builds = [this.#sequence()];
    while (this.#takes("|")) builds.push(this.#sequence());
    return (next) =>
      builds.length === 1 && builds[0] ? builds[0](next) : this.#step(...builds.map((b) => b(next)));
  }

  #sequence(): Build {
    const builds: Build[] = [];
    while (this.#at < this.#source.length && this.#peek !== "|" && this.#peek !== ")") {
      builds.push(this.#quantified(this.#atom()));
    }
    if (builds.length === 0) return (next) => this.#step(next); // `(){999}` costs steps, too
    return (next) => builds.reduceRight((rest, build) => build(rest), next);
  }

  #quantified(atom: Build): Build {
    const [least, most] = this.#quantity();
    if (least === 1 && most === 1) return atom;
    this.#takes("?"); // as few repeats as possible: whether the text matches is the same
    return this.#repeated(atom, least, most);
  }

  #repeated(atom: Build, least: number, most: number): Build {
    return (next) => {
      let rest = most === 0 ? this.#step(next) : next; // `(a{0}){999}` costs steps, too
      if (most === Number.POSITIVE_INFINITY) {
        rest = this.#step();
        rest.next = [atom(rest), next];
      } else for (let more = least; more < most; more += 1) rest = this.#step(atom(rest), next);
      for (let more = 0; more < least; more += 1) rest = atom(rest);
      return rest;
    };
  }

  #quantity(): [least: number, most: number] {
    if (this.#takes("*")) return [0, Number.POSITIVE_INFINITY];
    if (this.#takes("+")) return [1, Number.POSITIVE_INFINITY];
    if (this.#takes("?")) return [0, 1];
    const rest = this.#source.slice(this.#at, this.#at + 40).join("");
    const found = /^\{(\d+)(?:(,)(\d*))?\}/.exec(rest);
    if (!found) return [1, 1];
    this.#at += found[0].length;
    const least = Number(found[1]);
    const most = found[2] ? Number(found[3] || Number.POSITIVE_INFINITY) : least;
    if (most < least) throw new SyntaxError(`${found[0]} is out of order`);
    return [least, most];
  }

  #atom(): Build {
    const character = this.#next();
    if (character === "(") return this.#group();
    if (character === "[") return this.#takesOne(this.#class());
    if (character === ".") return this.#takesOne((c) => c !== "\n");
    if (character === "^") return this.#holds((before) => before === undefined);
    if (character === "$") return this.#holds((_, after) => after === undefined);
    if (character === "\\") return this.#escape();
    if ("*+?".includes(character)) throw new SyntaxError(`${character} repeats nothing`);
    return this.#takesSame(character);
  }

  #group(): Build {
    if (this.#takes("?") && !this.#takes(":")) throw new SyntaxError("(? is not supported, except for (?:");
    const build = this.#alternatives();
    if (!this.#takes(")")) throw new SyntaxError("( has no end");
    return build;
  }

  #escape(): Build {
    if (this.#takes("b")) return this.#holds(isAtBoundary);
    if (this.#takes("B")) return this.#holds((before, after) => !isAtBoundary(before, after));
    const test = this.#escaped();
    if (typeof test === "string") return this.#takesSame(test);
    return this.#takesOne(test);
  }

  /** The class or the character after a backslash. */
  #escaped(): Test | string {
    const character = this.#next();
    const known = CLASSES[character.toLowerCase()];
    if (known && character === character.toLowerCase()) return known;
    if (known) return (c) => !known(c);
    if (/[A-Za-z0-9]/.test(character) && !ESCAPES[character]) {
      throw new SyntaxError(`\\${character} is not supported`);
    }
    return ESCAPES[character] ?? character;
  }

  #class(): Test {
    const isNegated = this.#takes("^");
    const tests: Test[] = [];
    while (!this.#takes("]")) {
      const from = this.#takes("\\") ? this.#escaped() : this.#next();
      if (typeof from !== "string") tests.push(from);
      else if (this.#peek === "-" && this.#source[this.#at + 1] !== "]") {
        this.#at += 1;
        const to = this.#takes("\\") ? this.#escaped() : this.#next();
        if (typeof to !== "string" || to < from) throw new SyntaxError(`${from}- is out of order`);
        tests.push(isBetween(from, to));
      } else tests.push(isSame(from));
    }
    return (c) => tests.some((test) => test(c)) !== isNegated;
  }

  #takesOne(test: Test): Build {
    return (next) => Object.assign(this.#step(next), { test });
  }

  /** A character of the pattern may be several ones of the text: ﬁ is found as fi. */
  #takesSame(character: string): Build {
    const builds = [...foldCase(character)].map((each) => this.#takesOne(isSame(each)));
    return (next) => builds.reduceRight((rest, build) => build(rest), next);
  }

  #holds(condition: Condition): Build {
    return (next) => Object.assign(this.#step(next), { condition });
  }

  #step(...next: Step[]): Step {
    this.#budget.spend();
    return { next };
  }

  get #peek(): string | undefined {
    return this.#source[this.#at];
  }

  #takes(character: string): boolean {
    const isThere = this.#peek === character;
    if (isThere) this.#at += 1;
    return isThere;
  }

  #next(): string {
    const character = this.#peek;
    if (character === undefined) throw new SyntaxError("it ends too early");
    this.#at += 1;
    return character;
  }
}

function isSame(expected: string): Test {
  const same = foldCase(expected);
  return (c) => c === same;
}

function isBetween(from: string, to: string): Test {
  const holds = (c: string) => c >= from && c <= to;
  return (c) => holds(c) || holds(c.toUpperCase());
}
