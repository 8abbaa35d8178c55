/** The banners and open polls above a chat, which its popout page shows however long ago they came. */
import { dig, isObject, type JsonObject } from "./plain-json.ts";

/** The upstream shows a few at most. */
const MAX = 20;
/** Banners that vanish by themselves. */
const BRIEF = /_(?:CROSS_CHANNEL_REDIRECT|CHAT_SUMMARY)$/;

export class AboveChat {
  /** By the id of the banner or of the poll: the last action about it, and the action that shows it now. */
  readonly #standing = new Map<string, { last: JsonObject; shown: JsonObject }>();

  /** The id of the poll in each panel. */
  readonly #polls = new Map<unknown, unknown>();

  /** The actions that show them now, the oldest first, except those that the listed ones show. */
  actionsBeside(listed: readonly { action: JsonObject }[]): JsonObject[] {
    const actions = new Set(listed.map(({ action }) => action));
    return [...this.#standing.values()].flatMap(({ last, shown }) => (actions.has(last) ? [] : [shown]));
  }

  hear(action: JsonObject): void {
    const banner = dig(action, "addBannerToLiveChatCommand", "bannerRenderer", "liveChatBannerRenderer");
    if (isObject(banner) && !BRIEF.test(String(banner.bannerType)))
      this.#show(banner.actionId, action, action);
    this.#standing.delete(String(dig(action, "removeBannerForLiveChatCommand", "targetActionId")));

    const panel = dig(action, "showLiveChatActionPanelAction", "panelToShow", "liveChatActionPanelRenderer");
    if (isObject(panel)) this.#showPoll(dig(panel, "contents", "pollRenderer"), panel.id, action, action);
    const poll = dig(action, "updateLiveChatPollAction", "pollToUpdate", "pollRenderer");
    if (isObject(poll)) {
      const panelId = this.#panelOf(poll.liveChatPollId) ?? poll.liveChatPollId;
      this.#showPoll(poll, panelId, action, openedAs(poll, panelId));
    }
    const closed = dig(action, "closeLiveChatActionPanelAction", "targetPanelId");
    this.#standing.delete(String(this.#polls.get(closed)));
    this.#polls.delete(closed);
  }

  #panelOf(pollId: unknown): unknown {
    return [...this.#polls].find(([, id]) => id === pollId)?.[0];
  }

  #showPoll(poll: unknown, panelId: unknown, last: JsonObject, shown: JsonObject): void {
    const pollId = dig(poll, "liveChatPollId");
    this.#polls.set(panelId, pollId);
    this.#show(pollId, last, shown);
  }

  #show(id: unknown, last: JsonObject, shown: JsonObject): void {
    this.#standing.set(String(id), { last, shown });
    const [oldest = ""] = this.#standing.keys();
    if (this.#standing.size > MAX) this.#standing.delete(oldest);
  }
}

function openedAs(pollRenderer: JsonObject, id: unknown): JsonObject {
  const panel = { contents: { pollRenderer }, id, targetId: "live-chat-action-panel" };
  return { showLiveChatActionPanelAction: { panelToShow: { liveChatActionPanelRenderer: panel } } };
}
