/** What the chats of a run say beyond what the simulator makes up: messages of several kilobytes. */
import type { JsonObject } from "../src/simulator/json.ts";

const LONG_TEXT =
  "A long message, so that few of them fill what the system buffers for a connection. ".repeat(48);

/** So many chat actions of about 4 KB; the number of the first one names them. */
export function longActions(first: number, count: number): JsonObject[] {
  return Array.from({ length: count }, (_, index) => {
    const n = first + index;
    const item = {
      id: `long-${n}`,
      timestampUsec: String(Date.now() * 1000),
      authorName: { simpleText: "Chatterbox" },
      authorExternalChannelId: "UCchatterbox",
      message: { runs: [{ text: `${n}. ${LONG_TEXT}` }] },
    };
    return { addChatItemAction: { item: { liveChatTextMessageRenderer: item }, clientId: item.id } };
  });
}
