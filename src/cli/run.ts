/** The command line: finds the command and runs it. A failure is reported in one line. */
import { versionLine } from "../base/commit.ts";
import { asError } from "../base/error-message.ts";
import { completeMaps } from "../base/maps.ts";
import { COMMAND_NAME, licences } from "../base/own-files.ts";
import { commandNamed } from "./commands.ts";
import { EXIT } from "./exit-codes.ts";
import { commandHelp, help } from "./help.ts";
import type { ProcessIo } from "./process-io.ts";

completeMaps();

/** What asks for help; after a command, only as a flag. */
const HELP = /^(help|--help|-h)$/;

/**
 * Resolves to the exit code. Rejects only if a package is not installed; the launcher then says what to do.
 */
export async function run(args: readonly string[], io: ProcessIo): Promise<number> {
  try {
    return await dispatch(args, io);
  } catch (error) {
    if (isMissingPackage(error)) throw error;
    const { message, exitCode = EXIT.failed }: Error & { exitCode?: number } = asError(error);
    io.stderr.write(named(`livechat-relay: ${message}\n`));
    return exitCode;
  }
}

async function dispatch(args: readonly string[], io: ProcessIo): Promise<number> {
  const show = async (text: string): Promise<number> => {
    const { print } = await import("./output.ts"); // a service at rest does not load it
    await print(named(text), io.stdout);
    return 0;
  };
  const [first = "", second = "help"] = args;
  if (first === "-v") return await show(versionLine());
  if (first === "help") return await show(HELP.test(second) ? help() : commandHelp(commandNamed(second)));
  const isNamed = first !== "" && !first.startsWith("-");
  const command = commandNamed(isNamed ? first : "serve");
  const flags = isNamed ? args.slice(1) : args;
  if (flags.some((flag) => flag !== "help" && HELP.test(flag)))
    return await show(isNamed ? commandHelp(command) : help());
  if (flags.includes("--version")) return await show(versionLine());
  if (first === "--licenses") return await show(licences());
  return command.run(flags, io);
}

/** The text with the name under which the program was called. */
function named(text: string): string {
  return text.replaceAll(/\blivechat-relay(?=[ :`]|$)/gm, () => COMMAND_NAME);
}

function isMissingPackage(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
}
