/** Chat messages so long that few of them fill what the system buffers for a connection. */
import type { JsonObject } from "../../simulator/plain-json.ts";

/**
 * This many chat actions, with ids numbered from `first`. On the stream a message takes twice its characters.
 * `usec` gives the time of each. Where others speak it comes from the chat: a page is read by time.
 */
export function longActions(
  first: number,
  count: number,
  characters = 10_000,
  usec = () => String(Date.now() * 1000),
): JsonObject[] {
  return Array.from({ length: count }, (_, index) => {
    const item = {
      id: `long ${first + index}`,
      timestampUsec: usec(),
      authorName: { simpleText: "@somebody" },
      message: { runs: [{ text: `${first + index} ${"long ".repeat(characters / 5)}` }] },
    };
    return { addChatItemAction: { item: { liveChatTextMessageRenderer: item }, clientId: item.id } };
  });
}
