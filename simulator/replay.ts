/**
 * An action as a replay wraps it, with its position in the video, and the bare action as it was when live.
 */

import { identify } from "./chat-log.ts";
import { dig, isObject, type JsonObject } from "./plain-json.ts";

interface Placed {
  action: JsonObject;
  offsetMs: number;
}

/** Wraps actions, those of one position in the video together; an item also gets the position as text. */
export function asReplay(placed: readonly Placed[]): JsonObject[] {
  const wrappers: { actions: JsonObject[]; offsetMs: number }[] = [];
  for (const { action, offsetMs } of placed) {
    const last = wrappers.at(-1);
    const stampedAction = stamped(action, offsetMs);
    if (last?.offsetMs === offsetMs) last.actions.push(stampedAction);
    else wrappers.push({ actions: [stampedAction], offsetMs });
  }
  return wrappers.map(({ actions, offsetMs }) => ({
    replayChatItemAction: { actions, videoOffsetTimeMsec: String(offsetMs) },
  }));
}

/** The time in the video as viewers see it: `m:ss`, `h:mm:ss`, with a minus before the start. */
function offsetText(offsetMs: number): string {
  const seconds = Math.floor(Math.abs(offsetMs) / 1000);
  const sign = offsetMs < 0 ? "-" : "";
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const tail = String(seconds % 60).padStart(2, "0");
  if (hours === 0) return `${sign}${minutes}:${tail}`;
  return `${sign}${hours}:${String(minutes).padStart(2, "0")}:${tail}`;
}

/** An item without a wall time gets no text; a captured text stays. */
function stamped(action: JsonObject, offsetMs: number): JsonObject {
  const { kind } = identify(action);
  const added = action.addChatItemAction;
  const item = dig(added, "item", kind);
  if (!isObject(added) || !isObject(item) || item.timestampUsec === undefined) return action;
  const timed = { timestampText: { simpleText: offsetText(offsetMs) }, ...item };
  return { ...action, addChatItemAction: { ...added, item: { [kind]: timed } } };
}

/** The actions inside a replay's action; a bare action is returned as it is. */
export function bare(action: JsonObject): JsonObject[] {
  const inner = dig(action, "replayChatItemAction", "actions");
  return Array.isArray(inner) ? inner.filter(isObject) : [action];
}
