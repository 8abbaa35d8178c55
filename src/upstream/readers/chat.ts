/**
 * What viewers write, and the upstream's sentence when one of them joins the channel's members or changes the
 * level of membership.
 */
import { asArray, asObject, dig } from "../json.ts";
import { partsOf, wordsOf } from "../text.ts";
import { chatItem } from "./chat-item.ts";
import type { Reader } from "./reader.ts";

export const chat: Reader = (item, moment) =>
  chatItem(item, moment, { type: "chat", parts: partsOf(dig(item, "message")) });

/** A new member, or an upgrade. With a primary header it is another event: so many months of membership. */
export const membership: Reader = (item, moment) => {
  if (asObject(dig(item, "headerPrimaryText"))) return undefined;
  const sentence = dig(item, "headerSubtext");
  // "Welcome to ", the level, "!": what varies stands between what does not.
  const runs = asArray(dig(sentence, "runs")) ?? [];
  const level = runs.length === 3 ? wordsOf({ runs: [runs[1]] }) : "";
  return chatItem(item, moment, {
    type: "membership",
    parts: partsOf(sentence),
    details: { level: level === "" ? undefined : level },
  });
};
