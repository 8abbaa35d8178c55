/**
 * What a deletion does to what is stored where `RELAY_DELETED` is `blank`: the messages that it is about keep cursor,
 * id, type and times, and nothing of what somebody said, paid or is.
 */
import { omitUndefined } from "../json.ts";
import type { Details } from "../protocol/kinds.ts";
import type { Message } from "../protocol/message.ts";
import type { MessageSearch } from "../store/port.ts";
import {
  decodeMessage,
  type EncodedMessage,
  encodeMessage,
  type StoredMessage,
} from "../store/stored-message.ts";
import type { Item } from "../upstream/readers/reader.ts";

/** What a deletion is about: one message, or all that an author has said before it. */
type Target = { messageId: string } | { authorId: string };

/** What an append writes: of what was read, and in place of what the room holds. */
interface Blanked {
  messages: readonly Message[];
  overwriting: readonly EncodedMessage[];
}

/** The ids of which `blankDeleted` must know whether the room holds them. */
export function deletionIds(items: readonly Item[]): string[] {
  return items
    .flatMap(({ message, replaces }) => (replaces ? [message, replaces.as] : [message]))
    .flatMap((message) => (targetOf(message) ? [message.id] : namesOf(message).map((id) => `deleted:${id}`)));
}

/**
 * The messages without what deletions are about, among themselves and in the room. A deletion that the room holds is
 * only read again: what an author has said since stays. `find` searches the room.
 */
export async function blankDeleted(
  messages: readonly Message[],
  held: { has(id: string): boolean },
  find: (by: MessageSearch) => Promise<readonly StoredMessage[]>,
): Promise<Blanked> {
  const targets = messages.map((message) => (held.has(message.id) ? undefined : targetOf(message)));
  const isDeleted = (message: Message, place: number) =>
    !targetOf(message) &&
    (namesOf(message).some((id) => held.has(`deleted:${id}`)) ||
      // One message is deleted for good, wherever its deletion stands.
      targets.some(
        (target, i) => target && ("messageId" in target || i > place) && isAbout(target, message),
      ));
  const found = await Promise.all(searchesFor(targets.filter((target) => target !== undefined)).map(find));
  const overwriting = new Map<string, EncodedMessage>();
  for (const stored of found.flat()) {
    const message = decodeMessage(stored);
    if (targets.some((target) => target && isAbout(target, message)))
      overwriting.set(stored.id, encodeMessage(blank(message)));
  }
  return {
    messages: messages.map((message, i) => (isDeleted(message, i) ? blank(message) : message)),
    overwriting: [...overwriting.values()],
  };
}

/** What a stored message deletes; undefined where it is no deletion. */
export function storedTarget(message: StoredMessage): Target | undefined {
  return /^(author_)?deleted:/.test(message.id) ? targetOf(decodeMessage(message)) : undefined;
}

/** The stored message as it is after the deletion. */
export function afterDeletion(stored: StoredMessage, target: Target): StoredMessage {
  const name = "messageId" in target ? target.messageId : target.authorId;
  if (stored.id !== name && !stored.details.includes(JSON.stringify(name))) return stored;
  const message = decodeMessage(stored);
  return isAbout(target, message) ? { ...encodeMessage(blank(message)), cursor: stored.cursor } : stored;
}

/** Whether nothing is left of the message: what comes to replace it is not to be shown either. */
export function isBlank({ author, message, amount, parts }: Omit<Message, "details">): boolean {
  return author === "" && message === "" && amount === "" && parts.length === 0;
}

function targetOf(message: Message): Target | undefined {
  if (message.type === "deleted") return { messageId: message.details.target.messageId };
  if (message.type === "author_deleted") return { authorId: message.details.target.authorId };
  return undefined;
}

/** The message's id, and that of the one which it replaces, pins or goes on with: deleted is what says the same. */
function namesOf({ id, details }: Message): string[] {
  const { target }: Details = details;
  return target?.messageId === undefined ? [id] : [id, target.messageId];
}

function isAbout(target: Target, message: Message): boolean {
  if (targetOf(message)) return false;
  if ("messageId" in target) return namesOf(message).includes(target.messageId);
  return (message.details as Details).authorId === target.authorId;
}

/** Where the room holds what these are about, beside other messages. */
function searchesFor(targets: readonly Target[]): MessageSearch[] {
  const searches = targets.flatMap((target): MessageSearch[] => {
    if ("authorId" in target) return [target];
    const { messageId } = target;
    return [{ idPrefix: messageId }, { idPrefix: `replaced:${messageId}:` }];
  });
  const isOfOne = targets.some((target) => "messageId" in target);
  return isOfOne ? [...searches, { idPrefix: "banner:" }] : searches;
}

/** Of the details stay times and targets, and empty ones where the type needs them. */
function blank({ type, id, timestamp, details }: Message): Message {
  const { publishedAt, offsetMs, target, upstreamKind, sticker, jewels }: Details = details;
  const left = { publishedAt, offsetMs, target, upstreamKind };
  return {
    ...{ type, id, timestamp, author: "", message: "", amount: "", color: "", parts: [] },
    details: omitUndefined<Details>({
      ...left,
      sticker: sticker && { label: "" },
      jewels: jewels && { gift: "" },
    }),
  } as unknown as Message; // the details are of its type, which the compiler cannot follow
}
