/** The command line: finds the command and runs it. A failure is reported in one line. */
import "#check-node";
import { readFileSync } from "node:fs";
import { PACKAGE_ROOT } from "../package-root.ts";
import { commandNamed } from "./commands.ts";
import { commandHelp, help } from "./help.ts";

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (isMissingPackage(error)) throw error; // the launcher says what to do
  const { message, exitCode = 1 }: Error & { exitCode?: number } =
    error instanceof Error ? error : new Error(String(error));
  process.stderr.write(`livechat-relay: ${message}\n`);
  process.exitCode = exitCode;
}

async function main(args: readonly string[]): Promise<void> {
  const [first = "", second] = args;
  if (first === "--version" || first === "-v")
    return print(`${JSON.parse(readFileSync(new URL("package.json", PACKAGE_ROOT), "utf8")).version}\n`);
  if (first === "help") return print(second === undefined ? help() : commandHelp(commandNamed(second)));
  const isNamed = first !== "" && !first.startsWith("-");
  const command = commandNamed(isNamed ? first : "serve");
  const flags = isNamed ? args.slice(1) : args;
  if (flags.some((flag) => flag === "--help" || flag === "-h")) {
    return print(isNamed ? commandHelp(command) : help());
  }
  process.exitCode = await command.run(flags, process.env);
}

function isMissingPackage(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
}

function print(text: string): void {
  process.stdout.write(text);
}
