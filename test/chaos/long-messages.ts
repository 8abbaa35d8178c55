/** Chat messages so long that few of them fill what the system buffers for a connection. */
import type { JsonObject } from "../../src/simulator/plain-json.ts";

/**
 * This many chat actions, with ids numbered from `first`. On the stream a message takes twice its characters.
 */
export function longActions(first: number, count: number, characters = 10_000): JsonObject[] {
  return Array.from({ length: count }, (_, index) => {
    const item = {
      id: `long ${first + index}`,
      timestampUsec: String(Date.now() * 1000),
      authorName: { simpleText: "@somebody" },
      message: { runs: [{ text: `${first + index} ${"long ".repeat(characters / 5)}` }] },
    };
    return { addChatItemAction: { item: { liveChatTextMessageRenderer: item }, clientId: item.id } };
  });
}
