/**
 * Command-line flags. A command has one table of them, each with its default, its meaning and its parser. A
 * flag overrides the environment variable of the same name, and the variable overrides the default. Each
 * error is one line.
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { messageOf } from "../base/error-message.ts";
import { fileTrouble } from "../base/file-trouble.ts";
import { suggest } from "../base/suggest.ts";
import { visible } from "../protocol/pasted-name.ts";
import { EXIT } from "./exit-codes.ts";

export interface Flag<T> {
  default: string;
  /** What applies if neither flag nor variable is given and `default` is empty; usually nothing. */
  unset?: string;
  meaning: string;
  /** The name on the command line, if it is not the table's name in lower case. */
  option?: string;
  /** Takes no value; its text is "on" if the flag is given. */
  isSwitch?: true;
  /** A comma-separated list, of which each flag adds a part; of other flags, the last one counts. */
  isList?: true;
  /** Has no flag, because other users of the machine can see the command line. */
  isOnlyVariable?: true;
  /** No error and no log shows the text. A variable with this or `hasPassword` can name a file instead. */
  isSecret?: true;
  /** The text is a URL that may contain a password. `shownText` hides those of all URLs. */
  hasPassword?: true;
  /** Throws an error that describes valid texts, or `EntryError`. */
  read(text: string): T;
}

/**
 * Flags by name: `RELAY_GRACE_MS` is an environment variable and the flag `--grace-ms`; `rate` is only the
 * flag `--rate`.
 */
export type FlagTable = Record<string, Flag<unknown>>;
export type FlagValues<Table extends FlagTable> = {
  [Name in keyof Table]: ReturnType<Table[Name]["read"]>;
};

/** An argument that a command takes besides its flags, as help shows it: `<video>`. */
export interface Argument {
  name: string;
  meaning: string;
  /** A text that matches is the argument, even if it begins with a dash like a flag. */
  pattern?: RegExp;
  /** One or more; only the last argument of a command can be. */
  isRepeated?: true;
  /** May be missing. */
  isOptional?: true;
  /** The error if more arguments follow it, if the usual error says too little. */
  alone?: string;
}

/** The parsed and checked command line. */
export interface Input<Table extends FlagTable> {
  values: FlagValues<Table>;
  /** The command's arguments; a repeated one may be several. */
  arguments: readonly string[];
  /** The names of the values set by a flag or an environment variable. */
  given: ReadonlySet<string>;
  /** The settings as they apply, in the order of the table. */
  settings: readonly AppliedSetting[];
}

/** A setting as it applies. */
export interface AppliedSetting {
  name: string;
  /** Without secrets. */
  text: string;
  from: "default" | "variable" | "file" | "flag";
  /** Whether it is what applies without a flag and a variable. */
  isDefault: boolean;
}

/** An invalid command line or setting. The message is one line that describes it. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly exitCode = EXIT.wrongUsage;
}

const VARIABLE_PREFIX = "RELAY_";
/** The part of a URL after its scheme may contain a password. */
const AFTER_SCHEME = /(?<=:\/\/).*/s;
/** The same if `//` is missing. */
const BEFORE_HOST = /.*:.*@/s;
const USER_INFO = /(?<=:\/\/)[^/]*@/;
const MAX_QUOTED_CHARS = 100;
/** Before an argument that looks like a flag. The system lets no argument contain it. */
const MARK = "\0";
/** A flag of words: `--no-colour`. */
const WORDS = /^--[a-z]+(-[a-z]+)*$/;
/** The flags of every command that print something instead of running it. */
const PRINTING = ["help", "version"];

/** The beginning of a text for an error: on one line, and without characters that nobody sees. */
export function quote(text: string): string {
  return visible(JSON.stringify(text.slice(0, MAX_QUOTED_CHARS)));
}

/**
 * A text, or one entry of a list, is invalid: the error shows it alone. `is`: the rest of the sentence after
 * "is".
 */
export class EntryError extends Error {
  constructor(entry: string, is: string) {
    super(`${quote(entry.replace(USER_INFO, "…@"))} is ${is}`);
  }
}

/** `grace-ms` for RELAY_GRACE_MS. */
export function flagOf(name: string, { option }: Pick<Flag<unknown>, "option"> = {}): string {
  return option ?? name.replace(VARIABLE_PREFIX, "").toLowerCase().replaceAll("_", "-");
}

/** The default as help and docs/settings.md show it. */
export function defaultOf({ default: value, unset = "none" }: Flag<unknown>): string {
  return value || unset;
}

/** Whether an environment variable can set it, too. */
export function isVariable(name: string): boolean {
  return name.startsWith(VARIABLE_PREFIX);
}

/** The variable that names the file of a secret; undefined if the setting can be none. */
export function fileVariableOf(
  name: string,
  { isSecret, hasPassword }: Pick<Flag<unknown>, "isSecret" | "hasPassword">,
): string | undefined {
  return isVariable(name) && (isSecret || hasPassword) ? `${name}_FILE` : undefined;
}

/** The variables that can set a flag: its own, and that of its file. */
function variablesOf(name: string, flag: Flag<unknown>): string[] {
  return isVariable(name)
    ? [name, fileVariableOf(name, flag)].filter((variable) => variable !== undefined)
    : [];
}

/** The environment variables that set a flag of the table. */
export function variablesIn(table: FlagTable, env: NodeJS.ProcessEnv): string[] {
  return Object.entries(table)
    .flatMap(([name, flag]) => variablesOf(name, flag))
    .filter((name) => env[name]);
}

/**
 * The values of the table's flags, and the command's arguments. An empty environment variable counts as not
 * set. Throws `UsageError`.
 */
export function readFlags<Table extends FlagTable>(
  table: Table,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  wanted: readonly Argument[] = [],
): Input<Table> {
  const { texts, positionals } = parseFlags(table, args, wanted);
  const given = new Set<string>();
  const settings: AppliedSetting[] = [];
  const values = Object.entries(table).map(([name, flag]) => {
    const { from, text, as } = textOf(name, flag, texts[flagOf(name, flag)], env);
    if (from !== "default") given.add(name);
    const value = readValue(as, flag, text, from === "file");
    const isDefault = text === flag.default;
    if (isVariable(name))
      settings.push({ name, from, text: isDefault ? defaultOf(flag) : shownText(flag, text), isDefault });
    return [name, value];
  });
  return { values: Object.fromEntries(values) as FlagValues<Table>, arguments: positionals, given, settings };
}

/**
 * The text of a flag, where it comes from, and `as` what errors name it: the flag takes precedence over the
 * variable or the file, and these over the default. Throws `UsageError`.
 */
function textOf(
  name: string,
  flag: Flag<unknown>,
  typed: string | undefined,
  env: NodeJS.ProcessEnv,
): Pick<AppliedSetting, "from" | "text"> & { as: string } {
  const asFlag = `--${flagOf(name, flag)}`;
  const [variable, fileVariable] = variablesOf(name, flag).filter((each) => env[each]);
  if (variable && fileVariable)
    throw new UsageError(`${variable} and ${fileVariable} are both set: remove one of them`);
  if (typed !== undefined) return { from: "flag", text: typed, as: asFlag };
  const text = variable && env[variable];
  if (!text) return { from: "default", text: flag.default, as: isVariable(name) ? name : asFlag };
  if (variable === name) return { from: "variable", text, as: name };
  return { from: "file", text: secretIn(variable, text), as: variable };
}

/** The text of a secret's file without the line break at its end. Throws `UsageError`. */
function secretIn(variable: string, path: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    throw new UsageError(`${variable}: ${path} ${fileTrouble(path, "read", error)}`);
  }
  if (text === "") throw new UsageError(`${variable}: ${path} is empty`);
  return text;
}

/** The texts of the settings that differ from their defaults, without secrets. */
export function changedIn({ settings }: Pick<Input<FlagTable>, "settings">): Record<string, string> {
  return Object.fromEntries(
    settings.filter(({ isDefault }) => !isDefault).map(({ name, text }) => [name, text]),
  );
}

/**
 * Throws `UsageError` if a setting of an earlier version is given, as a variable or as a flag. `gone`: the
 * names of these settings, each with what to write instead.
 */
export function refuseGone(
  gone: Readonly<Record<string, string>>,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): void {
  for (const [name, instead] of Object.entries(gone)) {
    const flag = `--${flagOf(name)}`;
    const typed = args.find((arg) => arg === flag || arg.startsWith(`${flag}=`)) && flag;
    const given = typed ?? (env[name] ? name : undefined);
    if (given) throw new UsageError(`${given} is not a setting any more: ${instead}`);
  }
}

/** A line for each environment variable that looks like a setting but is not one, and is not empty. */
export function unknownVariables(table: FlagTable, env: NodeJS.ProcessEnv): string[] {
  const known = new Set(Object.entries(table).flatMap(([name, flag]) => variablesOf(name, flag)));
  const unknown = Object.keys(env).filter((name) => env[name] && isVariable(name) && !known.has(name));
  return unknown.map((name) => `${name} is not a setting${suggest(name, Object.keys(table))} (see --help)`);
}

/** The flags' texts by their names on the command line, and the arguments. */
function parseFlags(table: FlagTable, args: readonly string[], wanted: readonly Argument[]) {
  const rows = Object.entries(table).filter(([, flag]) => !flag.isOnlyVariable);
  const flags = new Map(rows.map(([name, flag]) => [flagOf(name, flag), flag]));
  const options = Object.fromEntries(
    [...flags].map(([name, { isSwitch }]) => [name, { type: isSwitch ? "boolean" : "string" } as const]),
  );
  const known = [...PRINTING, ...flags.keys()].map((name) => `--${name}`);
  const isMisspelt = (arg: string) => arg.startsWith("--") && suggest(arg, known) !== "";
  const isArgument = (arg: string, index: number) =>
    wanted.some(({ pattern }) => pattern?.test(arg)) && !isMisspelt(arg) && !isValue(args, index, flags);
  const marked = args.map((arg, index) => (isArgument(arg, index) ? `${MARK}${arg}` : arg));
  const { tokens } = parseArgs({ args: marked, options, strict: false, tokens: true });
  const positionals: string[] = [];
  const texts: Record<string, string> = {};
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value.replace(MARK, ""));
    if (token.kind !== "option") continue;
    const flag = flags.get(token.name);
    if (!flag) {
      if (known.includes(token.rawName)) throw new UsageError(`${token.rawName} takes no value; see --help`);
      throw noFlag(token.rawName, known);
    }
    if (flag.isSwitch) {
      if (token.value !== undefined) throw new UsageError(`${token.rawName} takes no value; see --help`);
    } else if (token.value === undefined || token.value.trim() === "") {
      throw new UsageError(`${token.rawName} needs a value; see --help`);
    } else if (!token.inlineValue && token.value.startsWith("-")) {
      const written = `${token.rawName}=${token.value}`;
      throw new UsageError(
        `${token.rawName} needs a value; if it begins with "-", write ${written} (see --help)`,
      );
    }
    const before = flag.isList && texts[token.name];
    texts[token.name] = before ? `${before},${token.value}` : (token.value ?? "on");
  }
  assertArguments(positionals, wanted, marked, known);
  return { texts, positionals };
}

/**
 * Throws `UsageError` if an argument is missing or unexpected. `marked`: the command line, with MARK before
 * each argument that looks like a flag. `known`: the flags, one of which may be misspelt.
 */
function assertArguments(
  positionals: readonly string[],
  wanted: readonly Argument[],
  marked: readonly string[],
  known: readonly string[],
): void {
  const { isRepeated, alone } = wanted.at(-1) ?? {};
  const missing = wanted.find(({ isOptional }, place) => !isOptional && !positionals[place]);
  if (missing) throw new UsageError(`<${missing.name}> is missing: ${missing.meaning}; see --help`);
  const unexpected = positionals[wanted.length];
  if (unexpected === undefined) return;
  // One of several ids can begin with two dashes, but hardly ever has small letters alone.
  const isFlag = (text: string) =>
    isRepeated ? WORDS.test(text) && marked.includes(`${MARK}${text}`) : text.startsWith("--");
  const dashed = positionals.find(isFlag);
  if (dashed !== undefined) throw noFlag(dashed, known);
  if (isRepeated) return;
  throw new UsageError(
    alone ??
      `unexpected argument "${withoutPassword(unexpected)}"; see --help (after npm run or npm start, put -- before flags)`,
  );
}

function withoutPassword(text: string): string {
  return text.replace(AFTER_SCHEME, "…").replace(BEFORE_HOST, "…@");
}

/** A valid text, as the log may show it: of a URL neither user, password nor query. */
function shownText({ isSecret }: Flag<unknown>, text: string): string {
  return isSecret
    ? "…"
    : text.replace(AFTER_SCHEME, (rest) => rest.replace(/^[^/]*@/, "…@").replace(/\?.*/s, "?…"));
}

function noFlag(name: string, known: readonly string[]): UsageError {
  return new UsageError(`${name} is not a flag${suggest(name, known)} (see --help)`);
}

/** Whether the word at `index` is the value of the flag before it. */
function isValue(args: readonly string[], index: number, flags: ReadonlyMap<string, Flag<unknown>>): boolean {
  const before = flags.get(args[index - 1]?.replace(/^--/, "") ?? "");
  return before !== undefined && !before.isSwitch;
}

/**
 * `shown`: where the text comes from, as errors name it: the flag or the environment variable. `isHidden`:
 * whether errors leave the text out, whatever the flag.
 */
function readValue(shown: string, flag: Flag<unknown>, text: string, isHidden: boolean): unknown {
  if (text.endsWith("\r"))
    throw new UsageError(`${shown}: ends with a carriage return: save its file with Unix line endings`);
  try {
    return flag.read(text);
  } catch (error) {
    if (error instanceof EntryError) throw new UsageError(`${shown}: ${error.message}`);
    const must = messageOf(error).replaceAll(/\s+/g, " ");
    throw new UsageError(
      `${shown}: must be ${must}${flag.isSecret || isHidden ? "" : `, not ${quote(withoutPassword(text))}`}`,
    );
  }
}
