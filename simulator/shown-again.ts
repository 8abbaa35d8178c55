/** What a page shows again, under another id and as if it were said just now: the upstream's notices. */
import { dig, isObject, type JsonObject } from "./plain-json.ts";

const NOTICE = "liveChatViewerEngagementMessageRenderer";

/** The action as a page shows it; results of polls keep their ids. */
export function shownAgain(action: JsonObject, id: () => string, usec: number): JsonObject {
  const added = action.addChatItemAction;
  const notice = dig(added, "item", NOTICE);
  if (!isObject(added) || !isObject(notice) || notice.id === undefined) return action;
  if (dig(notice, "icon", "iconType") === "POLL") return action;
  const time = notice.timestampUsec === undefined ? {} : { timestampUsec: String(usec) };
  const item = { [NOTICE]: { ...notice, id: id(), ...time } };
  return { ...action, addChatItemAction: { ...added, item } };
}
