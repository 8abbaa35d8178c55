/** Counts the actions of an answer or a page: those in a replay's wrapper count each. */
import { asArray, dig } from "../base/json.ts";

/** The last ones that together have at most `limit` actions; the list itself if it has no more. */
export function lastWithin(actions: readonly unknown[], limit: number): readonly unknown[] {
  let count = 0;
  const last = actions.findLastIndex((action) => {
    count += asArray(dig(action, "replayChatItemAction", "actions"))?.length ?? 1;
    return count > limit;
  });
  return last < 0 ? actions : actions.slice(last + 1);
}
