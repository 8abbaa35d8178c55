/**
 * The featured message of a video: the one that a moderator has chosen for the viewers that ask for it. The
 * stores keep only the choice, in each chat of the video that has the message. Whether the message is still
 * there is read from the chat itself, so it is gone with every deletion, whichever instance has read that,
 * and with every pruning.
 */
import type { ChatKey } from "../protocol/chat-key.ts";
import { Deletions, deletionIds, storedTarget } from "./blanking.ts";
import type { Featured, FeaturedChoice, Store } from "./port.ts";
import { decodeMessage, isBlank, type StoredMessage } from "./stored-message.ts";

type Reads = Pick<Store, "getFeatured" | "messagesById" | "find">;

/** The featured message of a chat; undefined if there is none. */
export async function readFeatured(store: Reads, key: ChatKey): Promise<Featured | undefined> {
  const choice = await store.getFeatured(key);
  return choice && (await readChosen(store, key, choice));
}

/** The chosen message of a chat; undefined if the chat does not have it any more. */
export async function readChosen(
  store: Reads,
  key: ChatKey,
  { messageId, at }: FeaturedChoice,
): Promise<Featured | undefined> {
  const message = await undeleted(store, key, messageId);
  return message && { message, at };
}

/** The message of a chat with this id; undefined if the chat does not have it, or it was deleted. */
export async function undeleted(
  store: Pick<Store, "messagesById" | "find">,
  key: ChatKey,
  messageId: string,
): Promise<StoredMessage | undefined> {
  const [stored] = await store.messagesById(key, [messageId]);
  const message = stored && decodeMessage(stored);
  if (!message || isBlank(message)) return undefined;
  const { authorId }: { authorId?: string } = message.details;
  const found = await Promise.all([
    store.messagesById(key, deletionIds([message])),
    authorId === undefined ? [] : store.find(key, { idPrefix: `author_deleted:${authorId}` }),
  ]);
  const deletions = new Deletions();
  for (const deletion of found.flat()) {
    const target = storedTarget(deletion);
    if (target) deletions.add(target, deletion.cursor);
  }
  return deletions.affect(message, stored.cursor) ? undefined : stored;
}
