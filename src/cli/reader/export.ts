/** `export`: writes all stored messages of a chat as JSON lines or CSV, to standard output or a file. */
import type { Writable } from "node:stream";
import type { Chat } from "../../../client/index.ts";
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
  const { stopped, notice, surroundings } = session;
  const { output: path = "", append, follow, force, raw } = values;
  const format = formatFor(values.format, path, values.bom);
  const mode = append ? "append" : follow ? "growing" : "whole";
  const file =
    path === ""
      ? standardOutput(surroundings.stdout, format)
      : await openExportFile(path, format, mode, force);
  const signal = AbortSignal.any([stopped, file.output.failed]);
  let room: Room | undefined;
  let isComplete = false;
  try {
    const cursor = file.cursor ?? values.since ?? 0;
    const { types } = values;
    const until = follow ? undefined : "now";
    room = openChat(session, { videoId, cursor, types, until, signal, details: true });
    const written = await copy(session, room, file.output, { format, raw });
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
}

/** Resolves to the number of messages written. */
async function copy(
  { notice, surroundings }: Session,
  room: Room,
  output: Output,
  { format, raw }: CopyOptions,
): Promise<number> {
  const isShown = output.isTerminal;
  const startedAt = performance.now();
  const encode = format.encoder(raw);
  let [written, offsetMs] = [0, Number.NaN];
  const hideProgress = isShown ? () => {} : showProgress(surroundings, () => progressText());
  const progressText = () => {
    const rate = Math.round((written / (performance.now() - startedAt)) * 1000);
    const place = Number.isNaN(offsetMs) ? "" : `, ${clockTime(offsetMs)} into the video`;
    return `${written} messages, ${rate} a second${place}`;
  };
  room.on("gap", ({ after, cursor }) =>
    notice(`messages may be missing between cursors ${after} and ${cursor}`),
  );
  try {
    for await (const message of room) {
      written += 1;
      offsetMs = message.details?.offsetMs ?? offsetMs;
      const record = encode(message);
      await output.add(isShown ? `${cleanText(record.trimEnd())}\n` : record);
    }
    return written;
  } finally {
    hideProgress();
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
