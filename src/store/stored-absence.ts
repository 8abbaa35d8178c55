/** Why a stored room waits for its chat: its owner writes it into the checkpoint. */
import { asString, dig, parseJson } from "../base/json.ts";
import type { AwaitedAbsence } from "../protocol/chat-standing.ts";
import type { RoomRecord } from "./port.ts";

/** Undefined if the room does not wait. */
export function absenceOf({ checkpoint }: Pick<RoomRecord, "checkpoint">): AwaitedAbsence | undefined {
  const stored = dig(parseJson(checkpoint), "absence");
  const [is, why] = [asString(dig(stored, "is")), asString(dig(stored, "why"))];
  return (is === "off" || is === "hidden") && why !== undefined ? { is, why } : undefined;
}
