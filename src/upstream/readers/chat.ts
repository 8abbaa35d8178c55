/** What viewers write. */
import { dig } from "../../json.ts";
import { chatItem } from "./chat-item.ts";
import type { Reader } from "./reader.ts";
import { partsOf } from "./text.ts";

export const chat: Reader = (item, context) =>
  chatItem(item, context, { type: "chat", parts: partsOf(dig(item, "message")) });
