/** Prints `--help` and `help` from the tables of commands and flags. */
import { COMMANDS, type Command } from "./commands.ts";
import { type Argument, defaultOf, type FlagTable, fileVariableOf, flagOf, isVariable } from "./flags.ts";
import { SETTING_GROUPS } from "./setting-table.ts";

const COLUMNS = 100;
/** Before the meaning of a flag. */
const INDENT = " ".repeat(6);
const FLAGS_TITLE =
  "Flags. Some can also be given as an environment variable (RELAY_…); the flag takes precedence:";

/** Lists all commands, and the flags of the default one. */
export function help(): string {
  const [serve] = COMMANDS;
  const rows = [
    ...COMMANDS.map(({ name, usage }) => [name, usage]),
    ["help", "show a command and its flags, for example `livechat-relay help demo`"],
    ["--version", "print the version"],
    ["--licenses", "print the licences of the program and of the packages in it"],
  ];
  const commands = rows.map(([name = "", usage = ""]) => lines(`  ${name.padEnd(15)}`, usage)).join("");
  return `Usage: livechat-relay [command] [flags]\n\n${commands}\n${commandHelp(serve)}`;
}

export function commandHelp({ name, usage, arguments: words = [], examples, flags }: Command): string {
  const hasFlags = Object.keys(flags).length > 0;
  const nameOf = ({ name, isOptional }: Argument) => (isOptional ? `[${name}]` : `<${name}>`);
  const names = words.map((word) => ` ${nameOf(word)}${word.isRepeated ? "..." : ""}`).join("");
  const meanings = words.map((word) => lines(`  <${word.name}>  `, word.meaning)).join("");
  return `${lines(`livechat-relay ${name}: `, usage, 2)}
Usage: livechat-relay ${name}${names}${hasFlags ? " [flags]" : ""}
${meanings && `\n${meanings}`}
Examples:
${examples.map((line) => `  ${line}\n`).join("")}${hasFlags ? `\n${FLAGS_TITLE}\n${flagRows(flags)}` : ""}`;
}

/** The settings of `serve` are many, so they have titles. */
function flagRows(flags: FlagTable): string {
  const titles = new Map(
    SETTING_GROUPS.flatMap(([title, settings]) => Object.keys(settings).map((name) => [name, title])),
  );
  const isGrouped = "RELAY_PORT" in flags;
  let shown: string | undefined;
  const rows = Object.entries(flags).map(([name, flag]) => {
    const option = `--${flagOf(name, flag)}`;
    const names = [isVariable(name) && name, !flag.isOnlyVariable && option].filter(Boolean).join(", ");
    const title = isGrouped ? titles.get(name) : undefined;
    const heading = title === shown ? "" : `\n${title}:\n`;
    shown = title;
    const file = fileVariableOf(name, flag);
    const place = file === undefined ? "" : lines(INDENT, `Or name a file that contains it in ${file}.`);
    const meaning = lines(INDENT, flag.meaning.replaceAll("`", ""));
    return `${heading}  ${names} (default ${defaultOf(flag)})\n${meaning}${place}`;
  });
  return rows.join("");
}

/** The text behind `first`, in lines that fit the columns; those after the first one begin with spaces. */
function lines(first: string, text: string, indent = first.length): string {
  const words = text.split(" ");
  let line = `${first}${words.shift()}`;
  let all = "";
  for (const word of words) {
    const isFull = line.length + 1 + word.length > COLUMNS;
    if (isFull) all += `${line}\n`;
    line = isFull ? `${" ".repeat(indent)}${word}` : `${line} ${word}`;
  }
  return `${all}${line}\n`;
}
