/** Raw actions of long messages, so that the system's own buffers fill up behind a viewer that does not read. */

/** About 20 KB each on the stream. Ids are numbered from `first`. */
export function longActions(first: number, count: number) {
  return Array.from({ length: count }, (_, i) => ({
    addChatItemAction: {
      item: {
        liveChatTextMessageRenderer: {
          id: `long ${first + i}`,
          timestampUsec: "1767323045678901",
          authorName: { simpleText: "@somebody" },
          message: { runs: [{ text: "long ".repeat(2000) }] },
        },
      },
    },
  }));
}
