/** The command line: finds the command and runs it. A failure is reported in one line. */
import "../../bin/check-node.js";
import { readFileSync } from "node:fs";
import { commandNamed } from "./commands.ts";
import { commandHelp, help } from "./help.ts";

const PACKAGE = new URL("../../package.json", import.meta.url);

try {
  await main(process.argv.slice(2));
} catch (error) {
  const { message, exitCode = 1 }: Error & { exitCode?: number } =
    error instanceof Error ? error : new Error(String(error));
  process.stderr.write(`livechat-relay: ${message}\n`);
  process.exitCode = exitCode;
}

async function main(args: readonly string[]): Promise<void> {
  const [first = "", second] = args;
  if (first === "--version") return print(`${JSON.parse(readFileSync(PACKAGE, "utf8")).version}\n`);
  if (first === "help") return print(second === undefined ? help() : commandHelp(commandNamed(second)));
  const isNamed = first !== "" && !first.startsWith("-");
  const command = commandNamed(isNamed ? first : "serve");
  const flags = isNamed ? args.slice(1) : args;
  if (flags.some((flag) => flag === "--help" || flag === "-h")) {
    return print(isNamed ? commandHelp(command) : help());
  }
  await command.run(flags, process.env);
}

function print(text: string): void {
  process.stdout.write(text);
}
