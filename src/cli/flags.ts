/**
 * Flags in general: a command has one table of them, each with its default, its meaning and how its text is read.
 * A flag wins over the environment variable of the same name, that over the default; what is wrong is one line.
 */
import { parseArgs } from "node:util";

export interface Flag<T> {
  default: string;
  meaning: string;
  /** Throws an error that says what the text must be. */
  read(text: string): T;
}

/** By name: `RELAY_GRACE_MS` is an environment variable and the flag `--grace-ms`, `rate` is the flag `--rate` alone. */
export type FlagTable = Record<string, Flag<unknown>>;
export type FlagValues<Table extends FlagTable> = {
  [Name in keyof Table]: ReturnType<Table[Name]["read"]>;
};

/** What was asked for, read and checked. */
export interface Input<Table extends FlagTable> {
  values: FlagValues<Table>;
  /** The names of what the user chose, by flag or variable. */
  given: ReadonlySet<string>;
}

/** A wrong command line or a setting that cannot be used; its message is the one line that says so. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly exitCode = 2;
}

const VARIABLE_PREFIX = "RELAY_";
/** What stands after the scheme of a URL may hold a password. */
const AFTER_SCHEME = /(?<=:\/\/).*/s;
const MAX_QUOTED_CHARS = 100;

/** `grace-ms` for RELAY_GRACE_MS. */
export function flagOf(name: string): string {
  return name.replace(VARIABLE_PREFIX, "").toLowerCase().replaceAll("_", "-");
}

/** Whether an environment variable sets it too. */
export function isVariable(name: string): boolean {
  return name.startsWith(VARIABLE_PREFIX);
}

/** The value of every flag of the table. An empty variable counts as not set. Throws `UsageError`. */
export function readFlags<Table extends FlagTable>(
  table: Table,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Input<Table> {
  const flags = parseFlags(Object.keys(table).map(flagOf), args);
  const given = new Set<string>();
  const values = Object.entries(table).map(([name, flag]) => {
    const variable = isVariable(name) ? env[name] || undefined : undefined;
    const text = flags[flagOf(name)] ?? variable;
    if (text !== undefined) given.add(name);
    return [name, readValue(name, flag, text ?? flag.default)];
  });
  return { values: Object.fromEntries(values) as FlagValues<Table>, given };
}

/** A line for each variable that looks like a setting of the table and is none. */
export function unknownVariables(table: FlagTable, env: NodeJS.ProcessEnv): string[] {
  const unknown = Object.keys(env).filter((name) => isVariable(name) && !(name in table));
  return unknown.map((name) => `${name} is not a setting${suggest(name, Object.keys(table))}`);
}

/** `; did you mean serve?` for `srve`, and "" where nothing known is near. */
export function suggest(unknown: string, known: readonly string[]): string {
  const limit = Math.ceil(unknown.replace(/^RELAY_|^--/, "").length / 2);
  const [nearest] = known
    .map((name) => ({ name, distance: editDistance(unknown, name) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance);
  return nearest ? `; did you mean ${nearest.name}?` : "";
}

function parseFlags(flags: readonly string[], args: readonly string[]): Record<string, string> {
  const options = Object.fromEntries(flags.map((flag) => [flag, { type: "string" as const }]));
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const texts: Record<string, string> = {};
  for (const token of tokens) {
    if (token.kind === "positional")
      throw new UsageError(
        `unexpected argument "${token.value}"; see --help (after npm run or npm start, put -- before flags)`,
      );
    if (token.kind !== "option") continue;
    if (!flags.includes(token.name)) {
      const known = flags.map((flag) => `--${flag}`);
      throw new UsageError(`${token.rawName} is not a flag${suggest(token.rawName, known)} (see --help)`);
    }
    if (token.value === undefined || (!token.inlineValue && token.value.startsWith("-"))) {
      throw new UsageError(`${token.rawName} needs a value; see --help`);
    }
    texts[token.name] = token.value;
  }
  return texts;
}

function readValue(name: string, flag: Flag<unknown>, text: string): unknown {
  try {
    return flag.read(text);
  } catch (error) {
    const must = (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, " ");
    const shown = isVariable(name) ? name : `--${name}`;
    const quoted = text.replace(AFTER_SCHEME, "…").slice(0, MAX_QUOTED_CHARS);
    throw new UsageError(`${shown}: must be ${must}, not ${JSON.stringify(quoted)}`);
  }
}

/** How many letters must be put in, taken out or changed to make one word of the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...from].entries()) {
    const above = row;
    row = [i + 1];
    for (const [j, other] of [...to].entries()) {
      const changed = (above[j] ?? 0) + (letter === other ? 0 : 1);
      row.push(Math.min(changed, (above[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1));
    }
  }
  return row.at(-1) ?? 0;
}
