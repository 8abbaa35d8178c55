/** `watch`: prints a chat as lines on a terminal or in a pipe, or as JSON lines, or sends it to a webhook. */
import { styleText } from "node:util";
import { systemClock } from "../../src/base/clock.ts";
import { jsonLine } from "../../src/base/sanitised-text.ts";
import type { Input } from "../../src/cli/flags.ts";
import { UsageError } from "../../src/cli/flags.ts";
import { Output } from "../../src/cli/output.ts";
import type { ProcessIo } from "../../src/cli/process-io.ts";
import { LinePrinter, type Paint, plain } from "../../src/serving/history/line-printer.ts";
import { CursorFile } from "./cursor-file.ts";
import { ONE_CHAT, type WATCH_FLAGS } from "./reader-flags.ts";
import { type Notice, openChat, type Room, runSession, type Session } from "./session.ts";
import { assertPlace, isVideoOrChannel, sinceFlag, videoIn } from "./subject.ts";
import { Webhook } from "./webhook.ts";

/** The interval at which the cursor is saved while only unwanted messages arrive. */
const KEEP_MS = 2000;

const colored: Paint = (style, text) => styleText(style, text, { validateStream: false });

/** Whether the lines have colours. */
export function usesColor(
  asked: "auto" | "always" | "never",
  isTerminal: boolean,
  { NO_COLOR, TERM }: NodeJS.ProcessEnv,
): boolean {
  if (asked !== "auto") return asked === "always";
  return isTerminal && !NO_COLOR && TERM !== "dumb";
}

type WatchInput = Input<typeof WATCH_FLAGS>;

/** Resolves to the exit code. Throws `UsageError`, and rejects with `CommandError` or `UsageError`. */
export function watch(input: WatchInput, io: ProcessIo): Promise<number> {
  const { values } = input;
  if (!values.post && input.given.has("cursor-file"))
    throw new UsageError("--cursor-file needs --post; see --help");
  if (values.details && !values.json && !values.post)
    throw new UsageError("--details needs --json: text shows no details; see --help");
  const [name = ""] = input.arguments;
  const names = name.split(",");
  if (names.length > 1 && names.every(isVideoOrChannel)) throw new UsageError(ONE_CHAT);
  assertPlace(name, values.since);
  return runSession(values, io, (session) =>
    values.post ? send(input, values.post, session) : print(input, session),
  );
}

async function print({ values, arguments: [name = ""] }: WatchInput, session: Session): Promise<number> {
  const { stopped, notice, io } = session;
  const { json } = values;
  const output = new Output(io.stdout);
  const signal = AbortSignal.any([stopped, output.failed]);
  const room = openChat(session, {
    ...roomOptions(values),
    name,
    signal,
    details: !json || values.details,
  });
  const lines = new LinePrinter(usesColor(values.color, output.isTerminal, io.env) ? colored : plain);
  room.on("gap", ({ after, details }) => {
    if (!details || json) notice(`messages may be missing after cursor ${after}`);
  });
  try {
    for await (const message of room)
      await output.add(json ? jsonLine(message) : lines.line(message), stopped);
    return over(room, notice);
  } finally {
    await output.finish(stopped).catch(() => {}); // the signal's reason is already thrown
    const isUnread = output.failed.aborted; // a failed output has not taken the last messages
    if (!room.end && !isUnread && room.cursor !== undefined)
      notice(`to resume from here: ${sinceFlag(room.cursor)}`);
  }
}

async function send(
  { values, arguments: [name = ""] }: WatchInput,
  url: URL,
  session: Session,
): Promise<number> {
  const { stopped, notice } = session;
  const cursorFile = new CursorFile(values["cursor-file"], name);
  using _ = await cursorFile.lock();
  let kept = await cursorFile.read();
  await cursorFile.assertWritable();
  const cursor = kept ?? values.since;
  const ending = new AbortController();
  const signal = AbortSignal.any([stopped, ending.signal]);
  const room = openChat(session, { ...roomOptions(values), cursor, name, signal, details: true });
  const webhook = new Webhook(url, values.RELAY_POST_SECRET, videoIn(name), notice, systemClock);
  room.on("gap", ({ after }) => notice(`messages may be missing after cursor ${after}`));
  let isTaken = true; // whether the receiver has all messages handed out so far
  room.on("message", () => {
    isTaken = false;
  });
  const keep = async (): Promise<void> => {
    if (!isTaken || room.cursor === undefined || room.cursor === kept) return;
    kept = room.cursor;
    await cursorFile.write(kept);
  };
  const keepAside = () => void keep().catch((error) => ending.abort(error));
  room.on("init", keepAside);
  const timer = setInterval(keepAside, KEEP_MS); // saves the cursor while no wanted message arrives
  try {
    for await (const message of room) {
      await webhook.post(message, signal);
      isTaken = true;
      await keep();
    }
    await keep();
    return over(room, notice);
  } finally {
    clearInterval(timer);
    await cursorFile.settled(); // before another process may have the file
  }
}

function roomOptions({ since, backfill, types, wait }: WatchInput["values"]) {
  return { cursor: since, backfill, types, wait, isEndless: true };
}

function over(room: Room, notice: Notice): number {
  notice(`the chat is over: ${room.end?.reason}`);
  return 0;
}
