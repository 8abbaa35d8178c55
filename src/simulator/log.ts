/**
 * What a chat has said, in order. A position counts from the chat's first action and stays true when old actions
 * are forgotten. Reading gives what came after a position, as far as the upstream still holds it.
 */
import { dig, isObject, type JsonObject } from "./json.ts";
import type { Says } from "./says.ts";

/** One action of a chat: an entry of the ledger by which a reader is judged. */
export interface Entry {
  /** The item's own id; of an action without an item, the id that it names (message, channel, poll, banner). */
  id: string;
  /** The wire's name: the renderer's key of an item, else the action's key. */
  kind: string;
  /** Bare, also in a replay. */
  action: JsonObject;
  /** What it says; undefined where that is nothing, or the action was given raw. */
  says: Says | undefined;
  /** Entities that an answer brings beside it. */
  mutations: readonly JsonObject[];
  /** When it was said, on the monotonic clock, in milliseconds. */
  at: number;
  /** Where in the video it was said, in milliseconds. */
  offsetMs: number;
}

/** How much of the past a late reader is still given; both may be infinite. */
export interface Hold {
  holdsMs: number;
  holdsMessages: number;
}

/** Forgotten in strides, for each one moves the whole list. */
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

  /** What came after `position` and is still held at `nowMs` (monotonic): what is older is lost to this reader. */
  held(position: number, nowMs: number, hold: Hold): Entry[] {
    return this.from(Math.max(position, this.#oldestHeld(nowMs, hold)));
  }

  /** The last `count` actions, whatever their age. */
  latest(count: number): Entry[] {
    return count > 0 ? this.entries.slice(-count) : [];
  }

  /** The first position said at `offsetMs` of the video or later; at its start, what was said while waiting for it too. */
  positionAt(offsetMs: number): number {
    if (offsetMs <= 0) return this.#forgotten;
    const index = this.entries.findIndex((entry) => entry.offsetMs >= offsetMs);
    return index < 0 ? this.head : this.#forgotten + index;
  }

  /** Drops what is neither held nor among the last `keep`. */
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

  /** The index of the first entry that was said at this time or later, halving: the list is in order of time. */
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

/** Where an action that holds no item keeps the id that it names. */
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

/** Names an action by its own content. */
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
