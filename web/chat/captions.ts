/** The words that a page itself puts on a message: its heading, its state, what it did to others. */

/** Replaces the text of a deleted message. */
export const TAKEN_DOWN = { message: "Message deleted", author: "Author’s messages deleted" } as const;

/**
 * Texts of rows in the moderation log, for messages that change other messages. `named`: the text around the
 * author's name, if the author is known.
 */
export const EVENT_WORDS: Readonly<Record<string, { text: string; named?: [string, string] }>> = {
  deleted: { text: "A message was deleted.", named: ["A message of ", " was deleted."] },
  author_deleted: {
    text: "An author’s messages were deleted.",
    named: ["All messages of ", " were deleted."],
  },
  replaced: { text: "A message was replaced." },
  banner_removed: { text: "What was pinned was taken down." },
};

/** Headings of the notices that do not say by themselves what they are about. */
export const HEADINGS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    raid: "Raid",
    summary: "Chat summary",
    notice: "Notice",
    mode: "Chat mode",
    product: "Product",
    poll_result: "Poll result",
  }),
);
