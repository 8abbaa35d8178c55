/**
 * The messages of type `banner` above a chat until they are removed, and its polls until they are closed.
 * Read from the messages alone, of a room or of a page.
 */
import type { Message } from "../../protocol/message.ts";
import { removedBanner } from "./banner.ts";
import { closedPoll } from "./poll.ts";
import type { ActionTime } from "./reader.ts";

/** By banner or poll: the id of the last message about it; the oldest first. */
export type AboveChat = ReadonlyMap<string, string>;

/** Beyond this number, the oldest are forgotten. A chat shows a few. */
const MAX_ABOVE = 50;
const BANNER = "banner:";
const POLL = "poll:";

/** The banners and polls after these messages. */
export function aboveAfter(before: AboveChat, messages: Iterable<Message>): AboveChat {
  const above = new Map(before);
  for (const message of messages) {
    const { type, id } = message;
    if (type === "banner") above.set(id, id);
    else if (type === "banner_removed") above.delete(BANNER + id.slice(id.indexOf(":") + 1));
    else if (type === "poll" && message.details.poll.state === "closed") above.delete(keyOfPoll(id));
    else if (type === "poll") above.set(keyOfPoll(id), id);
  }
  return new Map([...above].slice(-MAX_ABOVE));
}

/** Without the hash of what it shows. */
function keyOfPoll(id: string): string {
  return id.slice(0, id.lastIndexOf(":"));
}

/**
 * The messages that take down the banners and polls that are not shown any more, in the upstream's form.
 * `held`: the last messages about it that the room holds.
 */
export function takenDown(
  above: AboveChat,
  shown: AboveChat,
  held: ReadonlyMap<string, Message>,
  moment: ActionTime,
): Message[] {
  return [...above].flatMap(([key, id]) => {
    const message = held.get(id);
    if (shown.has(key) || !message) return [];
    if (message.type !== "poll") return [removedBanner(key.slice(BANNER.length), moment)];
    const pollId = key.slice(POLL.length);
    const { poll, banner } = message.details;
    const closed = closedPoll({ pollId, question: message.parts, poll }, moment);
    return banner ? [closed, removedBanner(pollId, moment)] : [closed];
  });
}
