/**
 * The counts that the upstream sends separately from its messages: entities by their key, next to the actions
 * of an answer or in an action. Only the likes and replies of paid messages are used.
 */
import { asArray, asNumber, asString, dig } from "../../base/json.ts";

/** By the upstream's entity key. */
export type EntityCounts = ReadonlyMap<unknown, number>;

/** The last count of each entity, from the mutations next to the actions and from those in actions. */
export function readCounts(mutations: readonly unknown[], actions: readonly unknown[]): EntityCounts {
  const counts = new Map<unknown, number>();
  for (const mutation of mutations) addCount(counts, mutation);
  for (const action of actions) {
    for (const one of asArray(dig(action, "replayChatItemAction", "actions")) ?? [action]) {
      const inside = asArray(dig(one, "entityUpdateCommand", "entityBatchUpdate", "mutations"));
      for (const mutation of inside ?? []) addCount(counts, mutation);
    }
  }
  return counts;
}

function addCount(counts: Map<unknown, number>, mutation: unknown): void {
  const key = asString(dig(mutation, "entityKey"));
  const payload = dig(mutation, "payload");
  const count =
    asNumber(dig(payload, "likeCountEntity", "likeCountIfIndifferentNumber")) ??
    asNumber(dig(payload, "replyCountEntity", "replyCountNumber"));
  if (key !== undefined && count !== undefined && count >= 0) counts.set(key, count);
}
