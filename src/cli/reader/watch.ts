/** `watch`: a chat as lines on a terminal or in a pipe, as JSON lines, or sent on to a webhook. */
import type { Chat } from "../../../client/index.ts";
import type { Input } from "../flags.ts";
import { UsageError } from "../flags.ts";
import { CursorFile } from "./cursor-file.ts";
import type { WATCH_FLAGS } from "./flags.ts";
import { colored, LinePrinter, plain, usesColor } from "./lines.ts";
import type { ReceivedMessage } from "./message.ts";
import { Output } from "./output.ts";
import { notice, openRoom, runSession } from "./session.ts";
import { jsonLine } from "./text.ts";
import { Webhook } from "./webhook.ts";

/** How often the cursor is written where messages come that were not asked for. */
const KEEP_MS = 2000;

type WatchInput = Input<typeof WATCH_FLAGS>;

/** Resolves to the exit code. Rejects with `CommandError` or `UsageError`. */
export function watch(input: WatchInput): Promise<number> {
  const { values } = input;
  if (!values.post && input.given.has("cursor-file"))
    throw new UsageError("--cursor-file is of use with --post alone; see --help");
  return runSession(values.RELAY_URL, (signal) =>
    values.post ? send(input, values.post, signal) : print(input, signal),
  );
}

async function print(
  { values, arguments: [videoId = ""] }: WatchInput,
  stopped: AbortSignal,
): Promise<number> {
  const { json } = values;
  const output = new Output(process.stdout, "standard output");
  const signal = AbortSignal.any([stopped, output.failed]);
  const room = openRoom(values.RELAY_URL, {
    ...roomOptions(values),
    videoId,
    signal,
    details: !json || values.details,
  });
  const lines = new LinePrinter(usesColor(values.color, output.isTerminal, process.env) ? colored : plain);
  room.on("gap", ({ after, details }) => {
    if (!details || json) notice(`messages may be missing after cursor ${after}`);
  });
  try {
    for await (const message of room) await output.add(json ? jsonLine(message) : lines.line(message));
    return over(room);
  } finally {
    await output.finish().catch(() => {}); // what the signal tells is thrown already
    const isUnread = output.failed.aborted; // then the last ones were not taken
    if (!room.end && !isUnread && room.cursor !== undefined)
      notice(`to go on from here: --since ${room.cursor}`);
  }
}

async function send(
  { values, arguments: [videoId = ""] }: WatchInput,
  url: URL,
  stopped: AbortSignal,
): Promise<number> {
  const cursorFile = new CursorFile(values["cursor-file"], videoId);
  let kept = await cursorFile.read();
  const cursor = kept ?? values.since;
  const ending = new AbortController();
  const signal = AbortSignal.any([stopped, ending.signal]);
  const room = openRoom(values.RELAY_URL, { ...roomOptions(values), cursor, videoId, signal, details: true });
  const webhook = new Webhook(url, values.RELAY_POST_SECRET, videoId);
  room.on("gap", ({ after }) => notice(`messages may be missing after cursor ${after}`));
  let isTaken = true; // whether the receiver has all that was handed out
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
  const timer = setInterval(keepAside, KEEP_MS); // while nothing comes that is wanted
  try {
    for await (const message of room) {
      await webhook.post(message, signal);
      isTaken = true;
      await keep();
    }
    await keep();
    return over(room);
  } finally {
    clearInterval(timer);
  }
}

function roomOptions({ since, backfill, types, wait }: WatchInput["values"]) {
  return { cursor: since, backfill, types, wait };
}

function over(room: Chat<ReceivedMessage>): number {
  notice(`the chat is over: ${room.end?.reason}`);
  return 0;
}
