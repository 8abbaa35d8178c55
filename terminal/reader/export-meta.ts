/** The file beside an export that says what it is of: `FILE.meta.json`, one object. */
import { statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { ChatError } from "../../client/index.ts";
import { VERSION } from "../../src/base/own-files.ts";
import { jsonLine } from "../../src/base/sanitised-text.ts";
import { beginFile } from "../../src/base/whole-file.ts";
import type { ChatType } from "../../src/protocol/chat.ts";
import { chatNamed } from "../../src/protocol/chat-key.ts";
import type { VideoFacts } from "../../src/protocol/video-facts.ts";
import { ask } from "./ask.ts";
import type { Access } from "./sent-token.ts";

/** For an answer that says what the video is, also after the signal that stops the command. */
const ASK_LIMIT_MS = 2000;

/** The messages of a file, of one chat. */
interface ExportedChat {
  videoId: string;
  /** Undefined if it is not known. */
  chatType: ChatType | undefined;
  /** What the video is, as the chat began with it; undefined if the service is to be asked for it. */
  video: VideoFacts | undefined;
  messages: number;
  /** Undefined if there are none. */
  firstCursor: number | undefined;
  lastCursor: number | undefined;
}

export const metaPath = (path: string) => `${path}.meta.json`;

/**
 * Writes the file beside the export at `path`, unless that is a pipe or a device, or does not exist. Unknown
 * values are null. Rejects if the file cannot be written.
 */
export async function writeMeta(access: Access, path: string, exported: ExportedChat): Promise<void> {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return;
  const { videoId, messages, firstCursor = null, lastCursor = null } = exported;
  const shown: Shown = exported.video ?? (await shownRoom(access, exported));
  const { chatType = shown.chatType ?? null } = exported;
  const { title = null, channel = null, startedAt = null, endedAt = null } = shown;
  const meta = {
    videoId,
    chatType,
    title,
    channel,
    startedAt,
    endedAt,
    exportedAt: new Date().toISOString(),
    version: VERSION,
    messages,
    firstCursor,
    lastCursor,
  };
  await using file = await beginFile(metaPath(path));
  await writeFile(file.part, jsonLine(meta));
  await file.finish();
}

type Shown = VideoFacts & { chatType?: ChatType };

/** The room as the service shows it; nothing of it if the service does not answer. */
async function shownRoom(access: Access, { videoId, chatType }: ExportedChat): Promise<Shown> {
  const signal = AbortSignal.timeout(ASK_LIMIT_MS);
  const query = chatType === undefined ? "" : `?chat=${chatNamed(chatType)}`;
  try {
    return await ask(access, `/v1/rooms/${encodeURIComponent(videoId)}${query}`, { signal });
  } catch (error) {
    if (error instanceof ChatError || signal.aborted) return {};
    throw error;
  }
}
