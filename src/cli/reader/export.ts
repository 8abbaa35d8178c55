/** `export`: writes all stored messages of a chat as JSON lines or CSV, to standard output or a file. */
import { once } from "node:events";
import type { Writable } from "node:stream";
import { type Chat, ChatError, chat, type Init } from "../../../client/index.ts";
import type { ReceivedMessage } from "../../formats/message.ts";
import { cleanText } from "../../formats/text.ts";
import type { Input } from "../flags.ts";
import { UsageError } from "../flags.ts";
import type { Surroundings } from "../surroundings.ts";
import { type ExportFile, openExportFile } from "./export-file.ts";
import type { EXPORT_FLAGS } from "./flags.ts";
import { type Format, formatFor } from "./formats.ts";
import { Output } from "./output.ts";
import { showProgress } from "./progress.ts";
import { openChat, runSession, type Session } from "./session.ts";

type ExportInput = Input<typeof EXPORT_FLAGS>;
type Room = Chat<ReceivedMessage>;

/** Resolves to the exit code. Rejects with `CommandError` or `UsageError`. */
export function exportChat(input: ExportInput, surroundings: Surroundings): Promise<number> {
  const { values, given } = input;
  const { output: path, append, force } = values;
  if (!path && (append || force)) throw new UsageError("--append and --force need --output; see --help");
  if (append && (force || given.has("since")))
    throw new UsageError("--append cannot be combined with --force or --since");
  return runSession(values.RELAY_URL, surroundings, (session) => run(input, session));
}

async function run({ values, arguments: [videoId = ""] }: ExportInput, session: Session): Promise<number> {
  const { server, stopped, notice, surroundings } = session;
  const { output: path = "", append, follow, force, raw } = values;
  const format = formatFor(values.format, path);
  const mode = append ? "append" : follow ? "growing" : "whole";
  const file =
    path === ""
      ? standardOutput(surroundings.stdout, format)
      : await openExportFile(path, format, mode, force);
  const signal = AbortSignal.any([stopped, file.output.failed]);
  let room: Room | undefined;
  let isComplete = false;
  try {
    const head = follow ? undefined : await headOf(server, videoId, signal);
    room = openChat(session, { videoId, cursor: file.cursor ?? values.since ?? 0, signal, details: true });
    const written = await copy(session, room, file.output, { format, raw, types: values.types, head });
    isComplete = true;
    await file.close(true);
    notice(`${written} messages${room.cursor === undefined ? "" : `, up to cursor ${room.cursor}`}`);
    return 0;
  } finally {
    if (!isComplete) await file.close(false).catch(() => {}); // the error itself is already thrown
    const isLeft = mode !== "whole" && !isComplete && !file.output.failed.aborted;
    if (isLeft && room?.cursor !== undefined) notice(`the file is complete up to cursor ${room.cursor}`);
  }
}

interface CopyOptions {
  format: Format;
  raw: boolean;
  types: readonly string[] | undefined;
  /** The cursor of the last message to write; undefined: continue to the chat's end. */
  head: number | undefined;
}

/** Resolves to the number of messages written. */
async function copy(
  { notice, surroundings }: Session,
  room: Room,
  output: Output,
  { format, raw, types, head }: CopyOptions,
): Promise<number> {
  const isShown = output.isTerminal;
  const wanted = types && new Set([...types, "gap"]);
  const startedAt = performance.now();
  let [read, written, offsetMs] = [0, 0, Number.NaN];
  const hideProgress = isShown ? () => {} : showProgress(surroundings, () => progressText());
  const progressText = () => {
    const rate = Math.round((read / (performance.now() - startedAt)) * 1000);
    const place = Number.isNaN(offsetMs) ? "" : `, ${clockTime(offsetMs)} into the video`;
    return `${read} messages, ${rate} a second${place}`;
  };
  room.on("gap", ({ after, cursor }) =>
    notice(`messages may be missing between cursors ${after} and ${cursor}`),
  );
  room.on("init", ({ cursor }) => {
    if (head !== undefined && cursor >= head) room.close(); // nothing is left to read
  });
  try {
    for await (const message of room) {
      read += 1;
      offsetMs = message.details?.offsetMs ?? offsetMs;
      if (!wanted || wanted.has(message.type)) {
        written += 1;
        const record = format.encode(message, raw);
        await output.add(isShown ? `${cleanText(record.trimEnd())}\n` : record);
      }
      if (head !== undefined && message.cursor >= head) break;
    }
    return written;
  } finally {
    hideProgress();
  }
}

/**
 * The newest cursor of a live chat now. Undefined for a replay, and for a finished chat whose messages may
 * still be stored: these are exported to the end.
 */
async function headOf(server: string, videoId: string, signal: AbortSignal): Promise<number | undefined> {
  const room = chat(server, { videoId, backfill: 0, signal, retry: () => false });
  const { promise, resolve, reject } = Promise.withResolvers<Init>();
  room.on("init", resolve);
  room.on("error", reject);
  room.on("message", () => {}); // a first `message` listener makes the SDK connect
  const stopped = once(signal, "abort").then(() => signal.throwIfAborted());
  try {
    const init = await Promise.race([promise, stopped]);
    return init?.chatType === "liveChatRenderer" ? init.cursor : undefined;
  } catch (error) {
    if (error instanceof ChatError && error.code === "NO_LIVE_CHAT") return undefined;
    throw error;
  } finally {
    room.close();
  }
}

function standardOutput(stdout: Writable, format: Format): ExportFile {
  const output = new Output(stdout);
  if (format.header !== "") void output.add(format.header).catch(() => {}); // the next line reports a failure
  return { output, cursor: undefined, close: () => output.finish() };
}

function clockTime(ms: number): string {
  const seconds = Math.trunc(Math.abs(ms) / 1000);
  const [h, m, s] = [Math.trunc(seconds / 3600), Math.trunc(seconds / 60) % 60, seconds % 60];
  const two = (value: number) => `${value}`.padStart(2, "0");
  return `${ms < 0 ? "-" : ""}${h}:${two(m)}:${two(s)}`;
}
