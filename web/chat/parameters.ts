/** Reads a page's query. An invalid value counts as absent, and is reported: usually on the console. */
import { GROUPS } from "../../client/index.ts";
import { readPeople } from "./people.ts";
import type { ShownMessage } from "./shown-message.ts";

/** Takes a sentence about a value that cannot be used. */
export type Warn = (words: string) => void;

/** The numbers that a parameter takes. */
export interface NumberRange {
  min: number;
  max: number;
  /** A number of things: no fractions. */
  isWhole?: true;
}

export class Parameters {
  readonly #query: URLSearchParams;
  readonly #warn: Warn;

  constructor(search: string, warn: Warn = console.warn) {
    this.#query = new URLSearchParams(search);
    this.#warn = warn;
  }

  text(name: string): string {
    return this.#query.get(name) ?? "";
  }

  oneOf<const T extends string>(name: string, allowed: readonly [T, ...T[]], otherwise: T = allowed[0]): T {
    const text = this.text(name);
    const found = allowed.find((value) => value === text);
    if (found === undefined && text !== "")
      this.refuse(name, `use one of ${allowed.filter(Boolean).join(", ")}`);
    return found ?? otherwise;
  }

  number<T>(name: string, range: NumberRange, otherwise: T): number | T {
    const text = this.text(name);
    if (text === "") return otherwise;
    const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
    const { min, max, isWhole } = range;
    if (value >= min && value <= max && (!isWhole || Number.isInteger(value))) return value;
    this.refuse(name, `use ${wordsOf(range)}`);
    return otherwise;
  }

  /** The types that `types` names, each by itself or by its group; undefined if it names none. */
  types(): ReadonlySet<string> | undefined {
    const names = this.list("types");
    const chosen = new Set<string>();
    for (const each of names) {
      const types = typesOf(each);
      if (types.length === 0) this.refuse("types", "it is neither a type of messages nor a group", each);
      for (const type of types) chosen.add(type);
    }
    return chosen.size > 0 ? chosen : undefined;
  }

  /** Whether the parameter's list of names, channel ids and patterns has the message's author or words. */
  people(name: string): (message: ShownMessage) => boolean {
    return readPeople(this.text(name), (item, why) => this.refuse(name, why, item));
  }

  /** Reports a parameter, or an item of its list, that cannot be used. */
  refuse(name: string, why: string, value = this.text(name)): void {
    this.#warn(`${name}=${value} cannot be used: ${why.replace(/(?<![.?])$/, ".")}`);
  }

  list(name: string): string[] {
    return this.text(name)
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== "");
  }
}

export function wordsOf({ min, max, isWhole }: NumberRange): string {
  return `a ${isWhole ? "whole " : ""}number from ${min} to ${max}`;
}

const BY_GROUP: Readonly<Record<string, readonly string[]>> = GROUPS;

/** The types of a group, or the type itself. `gap` belongs to no group. */
export function typesOf(name: string): readonly string[] {
  if (Object.hasOwn(BY_GROUP, name)) return BY_GROUP[name] ?? [];
  return [["gap"], ...Object.values(BY_GROUP)].some((types) => types.includes(name)) ? [name] : [];
}
