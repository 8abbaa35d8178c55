/** What the upstream itself says in a chat: rules, results of polls, changes of mode. Nobody is its author. */
import { dig } from "../../json.ts";
import { chatItem } from "./chat-item.ts";
import type { Reader } from "./reader.ts";
import { partsOf, sentence } from "./text.ts";

/** The icon tells a poll's result from everything else. */
export const notice: Reader = (item, context) =>
  chatItem(item, context, {
    type: dig(item, "icon", "iconType") === "POLL" ? "poll_result" : "notice",
    parts: partsOf(dig(item, "message")),
  });

export const mode: Reader = (item, context) =>
  chatItem(item, context, { type: "mode", parts: sentence(dig(item, "text"), dig(item, "subtext")) });
