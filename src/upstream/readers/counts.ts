/**
 * What the upstream counts beside its messages: entities by their key, in each answer beside the actions, or as an
 * action. Of them all, the likes and the replies of paid messages are of use.
 */
import { asArray, asNumber, asString, dig } from "../../json.ts";

/** By entity key, as the upstream writes it. */
export type Counts = ReadonlyMap<unknown, number>;

/** The last count of each entity, from those that came beside the actions and from the actions themselves. */
export function readCounts(mutations: readonly unknown[], actions: readonly unknown[]): Counts {
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
