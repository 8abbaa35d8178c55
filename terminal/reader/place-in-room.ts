/** Finds the place in a room after which an export continues a file. */
import { ChatError } from "../../client/index.ts";
import { EXIT } from "../../src/cli/exit-codes.ts";
import type { Chat } from "../../src/protocol/chat.ts";
import { ask } from "./ask.ts";
import type { LastMessage } from "./export-formats.ts";
import type { Access } from "./sent-token.ts";
import { CommandError } from "./session.ts";
import type { Cursor } from "./subject.ts";

/** The service's maximum. */
const PAGE_LENGTH = 1000;

/** What the search needs of an answer of `/v1/messages`. */
interface Page {
  base: number;
  floor: number;
  head: number;
  messages: { cursor: number; id: string }[];
  prev: number | null;
}

/**
 * The cursor of the file's last message in the room. It differs from the file's if the store was restored
 * from a backup, or if the room was imported: then the message is looked for by its id, from the newest
 * message backwards. Rejects with `CommandError` if the room lacks it, and with `ChatError` or the signal's
 * reason.
 */
export async function placeInRoom(
  access: Access,
  { name, chat }: { name: string; chat?: Chat | undefined },
  path: string,
  last: LastMessage,
  signal: AbortSignal,
): Promise<Cursor> {
  const channelVideo = typeof last.cursor === "string" ? last.cursor.slice(0, 11) : undefined;
  const videoId = channelVideo ?? name;
  try {
    const cursor = await cursorIn(access, { videoId, ...(chat && { chat }) }, last, signal);
    if (cursor !== undefined) return channelVideo ? `${channelVideo}.${cursor}` : cursor;
  } catch (error) {
    if (!(error instanceof ChatError && error.code === "NOT_STORED")) throw error;
    // Nothing is kept of this stream, so the file ends with it; the channel continues with another one.
    if (channelVideo) return last.cursor;
  }
  throw new CommandError(
    EXIT.failed,
    `${path} ends with message ${last.id}, which the service does not have in room ${videoId}: the file is of another video, or the service has lost messages since. Name a new file, or replace this one with --force instead of --append`,
  );
}

async function cursorIn(
  access: Access,
  of: { videoId: string; chat?: Chat },
  last: LastMessage,
  signal: AbortSignal,
): Promise<number | undefined> {
  const page = (place: Record<string, string>) =>
    ask<Page>(access, `/v1/messages?${new URLSearchParams({ ...of, ...place })}`, { signal });
  const cursor = Number(`${last.cursor}`.split(".").at(-1));
  const { base, floor, head, messages } = await page({ after: `${cursor - 1}`, limit: "1" });
  const [held] = messages;
  if (held?.cursor === cursor && held.id === last.id) return cursor;
  if (base <= cursor && cursor <= floor) return cursor; // deleted by the retention
  for (let before: number | null = head + 1; before !== null; ) {
    const { messages, prev }: Page = await page({ before: `${before}`, limit: `${PAGE_LENGTH}` });
    const found = messages.find(({ id }) => id === last.id);
    if (found) return found.cursor;
    before = prev;
  }
  return undefined;
}
