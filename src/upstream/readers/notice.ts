/** What the upstream itself says in a chat: rules, results of polls, changes of mode. Nobody is its author. */
import { dig } from "../../json.ts";
import { chatItem } from "./chat-item.ts";
import { shortHash } from "./event.ts";
import type { Reader } from "./reader.ts";
import { partsOf, plainText, sentence } from "./text.ts";

/** A poll's result has an icon of its own. A notice's upstream id is another at each load of the page, its text is not. */
export const notice: Reader = (item, context) => {
  const parts = partsOf(dig(item, "message"));
  if (dig(item, "icon", "iconType") === "POLL")
    return chatItem(item, context, { type: "poll_result", parts });
  const id = `notice:${shortHash(plainText(parts))}`;
  return chatItem({ ...item, id }, context, { type: "notice", parts });
};

export const mode: Reader = (item, context) =>
  chatItem(item, context, { type: "mode", parts: sentence(dig(item, "text"), dig(item, "subtext")) });
