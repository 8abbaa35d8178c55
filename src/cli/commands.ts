/**
 * The commands, in one table: each with its flags, and its code loaded when it is called, so that help and wrong
 * usage load nothing of the service.
 */
import { SETTINGS } from "./config.ts";
import { type Flag, type FlagTable, type Input, readFlags, suggest, UsageError } from "./flags.ts";
import { runUntilSignal } from "./signals.ts";

export interface Command {
  name: string;
  /** What it does, in one line. */
  usage: string;
  examples: readonly string[];
  flags: FlagTable;
  /** Rejects with what stops it; an error's `exitCode`, else 1, is that of the process. */
  run(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void>;
}

const MAX_RATE = 1000;

const recording: Flag<string> = {
  default: "",
  meaning: "file or folder of recorded chat to play instead of a generated one",
  read: (path) => path,
};

const rate: Flag<number> = {
  default: "5",
  meaning: "generated messages a second",
  read: (text) => {
    const number = Number(text);
    if (text.trim() !== "" && number > 0 && number <= MAX_RATE) return number;
    throw new Error(`messages a second, above 0 and up to ${MAX_RATE}`);
  },
};

const DEMO_FLAGS = { recording, rate, ...SETTINGS };

/** The first is the default. */
export const COMMANDS = [
  command({
    name: "serve",
    usage: "run the relay (the default command)",
    examples: ["livechat-relay", "livechat-relay serve --port 8081 --store sqlite:/var/lib/relay.db"],
    flags: SETTINGS,
    run: (input) => runUntilSignal(async (stopped) => (await import("./serve.ts")).serve(input, stopped)),
  }),
  command({
    name: "demo",
    usage: "run the relay against a simulated upstream, in memory, without internet",
    examples: ["livechat-relay demo --rate 50", "livechat-relay demo --recording video.live_chat.json"],
    flags: DEMO_FLAGS,
    run: (input) => runUntilSignal(async (stopped) => (await import("./demo.ts")).demo(input, stopped)),
  }),
] as const satisfies Command[];

/** Throws `UsageError`, naming the nearest command, where there is none of that name. */
export function commandNamed(name: string): Command {
  const found = COMMANDS.find((command) => command.name === name);
  if (found) return found;
  const names = COMMANDS.map((command) => command.name);
  throw new UsageError(`"${name}" is not a command${suggest(name, names)} (--help lists commands and flags)`);
}

/** Reads a command's own flags for what it runs. */
function command<Table extends FlagTable>({
  run,
  ...row
}: Omit<Command, "run"> & { flags: Table; run(input: Input<Table>): Promise<void> }): Command {
  return { ...row, run: (args, env) => run(readFlags(row.flags, args, env)) };
}
