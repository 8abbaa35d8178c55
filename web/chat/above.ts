/**
 * Finds the newest pinned message and the open poll among the stored messages of a chat: they may be older
 * than those with which a page begins.
 */

import { ChatRows, type Row } from "./chat-rows.ts";
import type { ShownMessage } from "./shown-message.ts";
import { AFTER_ALL, type StoredPage, type StoredQuery } from "./stored.ts";

/** Number of the newest pinned messages, and of their ends, that are read. */
const NEWEST = 20;
const PER_PAGE = 1000;
/** With more deletions since, it would take long to know whether the message was deleted: it is not shown. */
const MAX_PAGES = 5;

type Read = (query: StoredQuery) => Promise<StoredPage>;

/** The newest pinned message as later messages have changed it; undefined if it was taken down or deleted. */
export async function readPinned(read: Read): Promise<Row | undefined> {
  const rows = new ChatRows({ deleted: "remove" }, { changed: () => {}, removed: () => {} });
  const apply = ({ messages, next }: StoredPage): number | null => {
    for (const message of messages) rows.take(message);
    return next;
  };
  apply(await read({ types: "pinned", before: AFTER_ALL, limit: NEWEST }));
  let after = rows.pinned?.message?.cursor ?? null;
  for (let pages = 0; after !== null; pages += 1) {
    if (pages === MAX_PAGES) return undefined;
    after = apply(await read({ types: "moderation", after, limit: PER_PAGE }));
  }
  return rows.pinned;
}

/** The newest state of the newest poll; undefined if that is closed. */
export async function readPoll(read: Read): Promise<ShownMessage | undefined> {
  const { messages } = await read({ types: "poll", before: AFTER_ALL, limit: 1 });
  return messages.find(({ details }) => details.poll && details.poll.state !== "closed");
}
