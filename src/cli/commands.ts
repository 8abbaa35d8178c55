/**
 * The commands in one table, each with its flags. A command's code is loaded when it is called, so help and
 * usage errors load no package, and of the service only what reads its settings.
 */

import { CAPTURE, IMPORT_FLAGS } from "../../terminal/import/import-flags.ts";
import {
  ANSWER_FLAGS,
  EXPORT_FLAGS,
  RECORD_FLAGS,
  VIDEO,
  VIDEO_OR_CHANNEL,
  VIDEOS,
  WATCH_FLAGS,
} from "../../terminal/reader/reader-flags.ts";
import { suggest } from "../base/suggest.ts";
import { DEMO_FLAGS } from "./demo-flags.ts";
import { type Argument, type FlagTable, type Input, readFlags, refuseGone, UsageError } from "./flags.ts";
import type { ProcessIo } from "./process-io.ts";
import { ALL_SETTINGS, CHECK_FLAGS, EDGE_SETTINGS, GONE, SERVE_FLAGS, SETTINGS } from "./setting-table.ts";
import { runUntilKilled, runUntilSignal } from "./signals.ts";
import { TOKEN_FLAGS } from "./token-flags.ts";

export interface Command {
  name: string;
  /** The command's purpose in one line. */
  usage: string;
  arguments?: readonly Argument[];
  examples: readonly string[];
  flags: FlagTable;
  /**
   * Resolves to the exit code. Rejects with the error that stops the command; the process exits with its
   * `exitCode`, or `EXIT.failed`.
   */
  run(args: readonly string[], io: ProcessIo): Promise<number>;
}

/** The first command is the default. */
export const COMMANDS = [
  command({
    name: "serve",
    usage: "run the relay (the default command)",
    examples: ["livechat-relay", "livechat-relay serve --port 8081 --store sqlite:/var/lib/relay.db"],
    flags: SERVE_FLAGS,
    run: async (input, io) => {
      if (input.values.check) return (await import("./check/check.ts")).checkBeforeStart(input, io);
      if (input.values.open) return (await import("./open-page.ts")).serveAndOpen(input, io);
      return runUntilSignal(io, async (stopped) => (await import("./serve.ts")).serve(input, io, stopped));
    },
  }),
  command({
    name: "demo",
    usage: "run the relay against a simulated YouTube, without internet",
    examples: [
      "livechat-relay demo --rate 50",
      "livechat-relay demo --store sqlite:./data/demo.db",
      "livechat-relay demo --capture video.live_chat.json",
    ],
    flags: DEMO_FLAGS,
    run: (input, io) =>
      runUntilSignal(io, async (stopped) => (await import("./demo.ts")).demo(input, io, stopped)),
  }),
  command({
    name: "edge",
    usage: "follow another instance, and serve its rooms to more viewers",
    examples: [
      "livechat-relay edge --origin https://chat.example.org",
      "livechat-relay edge --origin http://127.0.0.1:8080 --port 8081",
    ],
    flags: EDGE_SETTINGS,
    run: (input, io) =>
      runUntilSignal(io, async (stopped) => (await import("./edge.ts")).edge(input, io, stopped)),
  }),
  command({
    name: "watch",
    usage: "print a chat message by message, or send it to a webhook",
    arguments: [VIDEO_OR_CHANNEL],
    examples: [
      "livechat-relay watch dQw4w9WgXcQ",
      "livechat-relay watch @NASA",
      "livechat-relay watch dQw4w9WgXcQ --types paid,members --json --details | jq .amount",
      "livechat-relay watch dQw4w9WgXcQ --post https://example.org/hook --wait",
    ],
    flags: WATCH_FLAGS,
    run: async (input, io) => (await import("../../terminal/reader/watch-command.ts")).watch(input, io),
  }),
  command({
    name: "export",
    usage: "write stored messages of chats as JSON lines, CSV or text",
    arguments: [VIDEOS],
    examples: [
      "livechat-relay export dQw4w9WgXcQ --output chat.csv",
      "livechat-relay export dQw4w9WgXcQ --from 2h --format txt",
      "livechat-relay export --all --output archive --append",
      "livechat-relay export dQw4w9WgXcQ --output chat.jsonl --append",
      "livechat-relay export @NASA --follow --output nasa.jsonl --append",
      "livechat-relay export dQw4w9WgXcQ --types superchat | jq .details.amount",
    ],
    flags: EXPORT_FLAGS,
    run: async (input, io) => (await import("../../terminal/reader/export.ts")).exportChats(input, io),
  }),
  command({
    name: "probe",
    usage: "test which of YouTube's client identities (WEB, ANDROID, …) can currently read a video's chat",
    arguments: [VIDEO],
    examples: ["livechat-relay probe dQw4w9WgXcQ", "livechat-relay probe dQw4w9WgXcQ --json"],
    flags: ANSWER_FLAGS,
    run: async (input, io) => (await import("../../terminal/reader/probe-command.ts")).probeVideo(input, io),
  }),
  command({
    name: "rooms",
    usage: "list the rooms that a service stores or reads",
    examples: ["livechat-relay rooms", "livechat-relay rooms --json | jq '.rooms[].videoId'"],
    flags: ANSWER_FLAGS,
    run: async (input, io) => (await import("../../terminal/reader/rooms-command.ts")).listRooms(input, io),
  }),
  command({
    name: "import",
    usage: "import captured chats as ended rooms; stop the service that uses the store first",
    arguments: [CAPTURE],
    examples: [
      "livechat-relay import 'My stream [dQw4w9WgXcQ].live_chat.json'",
      "livechat-relay import chat.jsonl --video dQw4w9WgXcQ",
    ],
    flags: IMPORT_FLAGS,
    run: (input, io) =>
      runUntilKilled(io, async () =>
        (await import("../../terminal/import/import.ts")).importFiles(input, io),
      ),
  }),
  command({
    name: "record",
    usage: "list, add and remove recordings of a running service",
    arguments: [
      { name: "action", meaning: "list, add or remove" },
      {
        ...VIDEO,
        name: "name",
        meaning: "for add and remove: a video or a channel, as id, handle or URL",
        isOptional: true,
      },
    ],
    examples: [
      "livechat-relay record list",
      "livechat-relay record add @handle",
      "livechat-relay record remove dQw4w9WgXcQ",
    ],
    flags: RECORD_FLAGS,
    run: async (input, io) => (await import("../../terminal/reader/record.ts")).record(input, io),
  }),
  command({
    name: "token",
    usage: "print a token that opens what a service does not show to everybody",
    examples: [
      "livechat-relay token --right watch:@name --for 12h",
      "livechat-relay token --right watch,rooms --sub ann --viewers 3 --key-file private.pem",
    ],
    flags: TOKEN_FLAGS,
    run: async (input, io) => (await import("./token-command.ts")).printToken(input, io),
  }),
  command({
    name: "check",
    usage: "say line by line whether the service can run here, and whether it reads a video's chat today",
    arguments: [
      { ...VIDEO, meaning: "a video with a chat, to be read by a few calls to YouTube", isOptional: true },
    ],
    examples: [
      "livechat-relay check",
      "livechat-relay check dQw4w9WgXcQ",
      "livechat-relay check dQw4w9WgXcQ --report report.json",
    ],
    flags: CHECK_FLAGS,
    run: async (input, io) => (await import("./check/check.ts")).check(input, io),
  }),
  command({
    name: "settings",
    usage: "print the settings as they apply, and where each comes from, without secrets",
    examples: ["livechat-relay settings", "livechat-relay settings | grep -v ' default '"],
    flags: ALL_SETTINGS,
    run: async (input, io) => (await import("./settings-command.ts")).printSettings(input, io),
  }),
  command({
    name: "files",
    usage: "write the documents, the examples and the files of deploy/ that belong to this version",
    arguments: [{ name: "folder", meaning: "path of the folder to write them to" }],
    examples: ["livechat-relay files /usr/local/share/livechat-relay"],
    flags: { force: EXPORT_FLAGS.force },
    run: async (input, io) => (await import("./files-command.ts")).writeFiles(input, io),
  }),
  command({
    name: "backup",
    usage: "copy the store to a file, while the service runs",
    arguments: [{ name: "file", meaning: "path of the copy; an existing file is replaced" }],
    examples: [
      "livechat-relay backup backup.db",
      "livechat-relay backup /backups/relay.db --store sqlite:/var/lib/relay.db",
    ],
    flags: { RELAY_STORE: SETTINGS.RELAY_STORE },
    run: (input, io) => runUntilKilled(io, async () => (await import("./backup-store.ts")).backup(input, io)),
  }),
  command({
    name: "migrate-store",
    usage: "copy one store into another; stop all services that use them first",
    arguments: [
      { name: "from", meaning: "the store to read: sqlite:<path> or postgres://…" },
      { name: "to", meaning: "an empty store, or the incomplete copy of an interrupted run" },
    ],
    examples: [
      "livechat-relay migrate-store sqlite:./data/relay.db postgres://relay@db.example/relay",
      "livechat-relay migrate-store postgres://relay@db.example/relay sqlite:./data/relay.db",
    ],
    flags: {},
    run: (input, io) =>
      runUntilKilled(io, async () => (await import("./migrate-store.ts")).migrate(input, io)),
  }),
] as const satisfies Command[];

/** Throws `UsageError`, which suggests the nearest command, if there is no command of this name. */
export function commandNamed(name: string): Command {
  const found = COMMANDS.find((command) => command.name === name);
  if (found) return found;
  const names = COMMANDS.map((command) => command.name);
  throw new UsageError(`"${name}" is not a command${suggest(name, names)} (--help lists commands and flags)`);
}

/** A row of the table: its `run` reads the command's flags first. */
function command<Table extends FlagTable>({
  run,
  ...row
}: Omit<Command, "run"> & {
  flags: Table;
  run(input: Input<Table>, io: ProcessIo): Promise<number>;
}): Command {
  const read = (args: readonly string[], { env }: ProcessIo) => {
    if ("RELAY_PORT" in row.flags) refuseGone(GONE, args, env);
    return readFlags(row.flags, args, env, row.arguments);
  };
  return { ...row, run: (args, io) => run(read(args, io), io) };
}
