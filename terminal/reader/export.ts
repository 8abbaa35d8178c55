/** `export`: writes stored messages of chats as files, or of one chat to standard output. */
import { constants } from "node:fs";
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ChatError } from "../../client/index.ts";
import { fileTrouble } from "../../src/base/file-trouble.ts";
import { jsonLine } from "../../src/base/sanitised-text.ts";
import { beginFile } from "../../src/base/whole-file.ts";
import { EXIT } from "../../src/cli/exit-codes.ts";
import { quote, UsageError } from "../../src/cli/flags.ts";
import type { ProcessIo } from "../../src/cli/process-io.ts";
import type { Chat } from "../../src/protocol/chat.ts";
import { chatKey, chatNamed } from "../../src/protocol/chat-key.ts";
import { withoutSurroundings } from "../../src/protocol/pasted-name.ts";
import { parseVideoId, VIDEO_ID } from "../../src/protocol/video-id.ts";
import { MAX_LISTED } from "../../src/rooms/listing.ts";
import { csvRow } from "../../src/serving/history/csv.ts";
import { type Exported, type ExportInput, exportChat, modeOf } from "./export-chat.ts";
import { assertFree, entryAt } from "./export-file.ts";
import { DEFAULT_FORMAT, FORMAT_NAMES, formatFor } from "./export-formats.ts";
import { roomsOf } from "./rooms-command.ts";
import { CommandError, reasonOf, runSession, type Session } from "./session.ts";
import { assertPlace, channelIn } from "./subject.ts";

const INDEX = "index.csv";

/** Resolves to the exit code. Throws `UsageError`, and rejects with `CommandError` or `UsageError`. */
export function exportChats(input: ExportInput, io: ProcessIo): Promise<number> {
  const { values, given, arguments: videos } = input;
  const { output: path = "", append, follow, force, all, format: asked, bom } = values;
  if (path === "" && (append || force))
    throw new UsageError("--append and --force need --output; see --help");
  if (append && (force || given.has("since")))
    throw new UsageError("--append cannot be combined with --force or --since");
  for (const bound of ["from", "said-from"] as const)
    if (given.has(bound) && given.has("since"))
      throw new UsageError(`--${bound} cannot be combined with --since`);
  for (const name of ["from", "to", "said-from", "said-to", "q", "text", "author"] as const)
    if (follow && given.has(name)) throw new UsageError(`--follow cannot be combined with --${name}`);
  if (follow && values.chat)
    throw new UsageError("--follow cannot be combined with --chat: it reads the chat that goes on");
  const { from = 0, to = Number.POSITIVE_INFINITY } = values;
  if (from >= to) throw new UsageError("--from must be before --to");
  if (all && videos.length > 0)
    throw new UsageError("--all exports all rooms: leave out the videos, or --all");
  if (!all && videos.length === 0)
    throw new UsageError("name the videos, or add --all for all rooms; see --help");
  const found = entryAt(path);
  const isFolder = all || videos.length > 1 || /[/\\]$/.test(path) || found?.isDirectory();
  if (!isFolder) {
    const [name = ""] = videos;
    const ofChannel = channelIn(name) !== undefined;
    if (ofChannel && !follow)
      throw new UsageError("a channel has no end: add --follow, or name one of its videos");
    assertPlace(name, values.since);
    const target = { name, path, format: formatFor(asked, path, { bom, ofChannel }), label: "" };
    return runSession(values, io, async (session) => {
      await exportChat(session, target, values);
      return 0;
    });
  }
  const isFile = FORMAT_NAMES.some((format) => path.endsWith(`.${format}`)) || found;
  if (path === "" || (isFile && !found?.isDirectory()))
    throw new UsageError(
      "several videos need --output with a folder, for one file each, and --format for other files than .jsonl",
    );
  if (follow || given.has("since"))
    throw new UsageError("--follow and --since are for one video: a cursor is a place in one chat");
  const named = videos.map(videoNamed);
  return runSession(values, io, (session) => exportFolder(values, named, path, session));
}

/** The id. Throws `UsageError`. */
function videoNamed(name: string): string {
  try {
    return parseVideoId(name);
  } catch {
    throw new UsageError(`${quote(withoutSurroundings(name))} is neither the id nor the URL of a video`);
  }
}

/**
 * One file for each chat, and an index of them. A chat or file that is refused does not stop the others; a
 * service that does not answer does.
 */
async function exportFolder(
  values: ExportInput["values"],
  videos: readonly string[],
  folder: string,
  session: Session,
): Promise<number> {
  const { stopped, notice } = session;
  const listed = values.all ? (await roomsOf(session, stopped, notice)).rooms : [];
  const strange = listed.filter(({ videoId }) => !VIDEO_ID.test(videoId));
  const stored = listed.filter((room) => room.messages > 0 && !strange.includes(room));
  const wanted: { videoId: string; chat: Chat | undefined }[] = values.all
    ? stored.map(({ videoId, chatType }) => ({ videoId, chat: chatNamed(chatType) }))
    : [...new Set(videos)].map((videoId) => ({ videoId, chat: values.chat }));
  const targets = wanted
    .filter(({ chat }) => values.chat === undefined || chat === values.chat)
    .map(({ videoId, chat }) => {
      // A chat is named as its video, and a replay apart from its live chat.
      const isOne = !values.all || stored.filter((room) => room.videoId === videoId).length === 1;
      const name = isOne ? videoId : chatKey(videoId, chat ?? "live");
      return { videoId, chat, file: `${name}.${values.format ?? DEFAULT_FORMAT}` };
    });
  const format = formatFor(values.format, "", { bom: values.bom });
  if (modeOf(values) === "whole" && !values.force)
    for (const file of [INDEX, ...targets.map(({ file }) => file)]) assertFree(join(folder, file));
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK);
  } catch (error) {
    throw new UsageError(`${folder} ${fileTrouble(folder, "written", error)}`);
  }
  const rows: (string | number | undefined)[][] = [["videoId", "file", "messages", "cursor", "error"]];
  let failures = 0;
  for (const [index, { videoId, chat, file }] of targets.entries()) {
    const label = `${index + 1} of ${targets.length}, ${videoId}: `;
    const target = { name: videoId, path: join(folder, file), format, label };
    try {
      const { messages, cursor }: Exported = await exportChat(session, target, { ...values, chat });
      rows.push([videoId, file, messages, cursor, ""]);
    } catch (error) {
      const reason = refusalOf(error);
      if (reason === undefined) throw error;
      failures += 1;
      notice(label + reason);
      rows.push([videoId, undefined, undefined, undefined, reason]);
    }
  }
  await using index = await beginFile(join(folder, INDEX));
  await writeFile(index.part, rows.map(csvRow).join(""));
  await index.finish();
  for (const { videoId } of strange) // it would be the name of a file
    notice(`the service lists a room that is of no video: ${jsonLine(videoId).trim()}`);
  return failures + strange.length === 0 && listed.length < MAX_LISTED ? 0 : EXIT.failed;
}

/** Why one chat or its file was refused; undefined if the error concerns all of them. */
function refusalOf(error: unknown): string | undefined {
  if (error instanceof CommandError || error instanceof UsageError) return error.message;
  const isRefusal = error instanceof ChatError && error.code !== "NETWORK" && error.code !== "HTTP";
  return isRefusal ? reasonOf(error) : undefined;
}
