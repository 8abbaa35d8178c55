/**
 * A chat's actions in order. A position counts from the chat's first action, and stays valid when old actions
 * are forgotten. A read returns the later actions that the upstream still holds.
 */
import { dig, isObject, type JsonObject } from "./plain-json.ts";
import type { Says } from "./says.ts";

/** One action of a chat: an entry of the ledger against which readers are judged. */
export interface Entry {
  /**
   * The item's own id; for an action without an item, the id that it names (message, channel, poll, banner).
   */
  id: string;
  /** Not wrapped, even in a replay. */
  action: JsonObject;
  /** The action's message; undefined if it has none or the action was given raw. */
  says: Says | undefined;
  /** Entities that accompany the action in an answer. */
  mutations: readonly JsonObject[];
  /** The time of the action on the monotonic clock, in milliseconds. */
  at: number;
  /** The action's position in the video, in milliseconds. */
  offsetMs: number;
}

/** How much of the past a late reader can still get; both limits may be infinite. */
export interface Hold {
  holdsMs: number;
  holdsMessages: number;
}

/** The number of actions to forget at once, because each time the whole list moves. */
const FORGET_STRIDE = 1000;

export class ChatLog {
  readonly entries: Entry[] = [];
  #forgotten = 0;

  /** The position after the last action. */
  get head(): number {
    return this.#forgotten + this.entries.length;
  }

  append(entry: Entry): void {
    this.entries.push(entry);
  }

  /** At most `limit` actions from a position on, oldest first. */
  from(position: number, limit = Number.POSITIVE_INFINITY): Entry[] {
    const start = Math.max(0, position - this.#forgotten);
    return this.entries.slice(start, Math.min(this.entries.length, start + limit));
  }

  /**
   * The actions after `position` that are still held at `nowMs` (monotonic); older ones are lost to this
   * reader.
   */
  held(position: number, nowMs: number, hold: Hold): Entry[] {
    return this.from(Math.max(position, this.#oldestHeld(nowMs, hold)));
  }

  /** The last `count` actions of any age that a view shows. */
  latest(count: number, isShown: (entry: Entry) => boolean = () => true): Entry[] {
    const shown: Entry[] = [];
    for (let at = this.entries.length - 1; at >= 0 && shown.length < count; at -= 1) {
      const entry = this.entries[at];
      if (entry && isShown(entry)) shown.push(entry);
    }
    return shown.reverse();
  }

  /**
   * The position of the first action at `offsetMs` of the video or later. The start of the video (0) includes
   * the messages from before the stream.
   */
  positionAt(offsetMs: number): number {
    if (offsetMs <= 0) return this.#forgotten;
    const index = this.entries.findIndex((entry) => entry.offsetMs >= offsetMs);
    return index < 0 ? this.head : this.#forgotten + index;
  }

  /** Drops actions that are no longer held, except the last `keep`. */
  forget(nowMs: number, hold: Hold, keep: number): void {
    const floor = Math.min(this.#oldestHeld(nowMs, hold), this.head - keep);
    if (floor - this.#forgotten < FORGET_STRIDE) return;
    this.entries.splice(0, floor - this.#forgotten);
    this.#forgotten = floor;
  }

  #oldestHeld(nowMs: number, hold: Hold): number {
    const byNumber = Math.max(0, this.entries.length - hold.holdsMessages);
    return this.#forgotten + Math.max(byNumber, this.#firstSince(nowMs - hold.holdsMs));
  }

  /** The index of the first entry at this time or later, by binary search: the list is sorted by time. */
  #firstSince(time: number): number {
    let [low, high] = [0, this.entries.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.entries[middle]?.at ?? time) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The path to the id in each action without an item. */
const NAMED_IDS: Record<string, readonly string[]> = {
  addBannerToLiveChatCommand: ["bannerRenderer", "liveChatBannerRenderer", "actionId"],
  removeBannerForLiveChatCommand: ["targetActionId"],
  showLiveChatActionPanelAction: ["panelToShow", "liveChatActionPanelRenderer", "id"],
  updateLiveChatPollAction: ["pollToUpdate", "pollRenderer", "liveChatPollId"],
  closeLiveChatActionPanelAction: ["targetPanelId"],
  markChatItemAsDeletedAction: ["targetItemId"],
  markChatItemsByAuthorAsDeletedAction: ["externalChannelId"],
  removeChatItemAction: ["targetItemId"],
  removeChatItemByAuthorAction: ["externalChannelId"],
  replaceChatItemAction: ["targetItemId"],
  updateOrAddInteractivityWidgetAction: ["widgetRenderer", "interactivityWidgetRenderer", "id"],
};

/**
 * The id of an action, from its content; and its kind, the upstream's name of it: the renderer's key for an
 * item, otherwise the action's key.
 */
export function identify(action: JsonObject): { id: string; kind: string } {
  const key = Object.keys(action).find((name) => isObject(action[name])) ?? "";
  const item = dig(action, key, "item");
  if (isObject(item)) {
    const renderer = Object.keys(item).find((name) => isObject(item[name])) ?? "";
    return { id: String(dig(item, renderer, "id") ?? ""), kind: renderer };
  }
  const path = NAMED_IDS[key];
  return { id: path ? String(dig(action, key, ...path) ?? "") : "", kind: key };
}
