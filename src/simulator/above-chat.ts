/** What stands above a chat, as its popout page shows it however long ago it came: banners and open polls. */
import { dig, isObject, type JsonObject } from "./plain-json.ts";

/** The upstream shows a few at most. */
const MAX = 20;
/** Banners that vanish by themselves. */
const BRIEF = /_(?:CROSS_CHANNEL_REDIRECT|CHAT_SUMMARY)$/;

export class AboveChat {
  /** By the id of the banner or of the poll: the last action about it, and the action that shows it now. */
  readonly #standing = new Map<string, { last: JsonObject; shown: JsonObject }>();

  /** The actions that show what stands there now, the oldest first, but for what the listed ones show. */
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
    if (isObject(panel)) this.#show(panel.id, action, action);
    const poll = dig(action, "updateLiveChatPollAction", "pollToUpdate", "pollRenderer");
    if (isObject(poll)) this.#show(poll.liveChatPollId, action, openedAs(poll));
    this.#standing.delete(String(dig(action, "closeLiveChatActionPanelAction", "targetPanelId")));
  }

  #show(id: unknown, last: JsonObject, shown: JsonObject): void {
    this.#standing.set(String(id), { last, shown });
    const [oldest = ""] = this.#standing.keys();
    if (this.#standing.size > MAX) this.#standing.delete(oldest);
  }
}

/** A poll of the simulator has the id of its panel. */
function openedAs(pollRenderer: JsonObject): JsonObject {
  const id = pollRenderer.liveChatPollId;
  const panel = { contents: { pollRenderer }, id, targetId: "live-chat-action-panel" };
  return { showLiveChatActionPanelAction: { panelToShow: { liveChatActionPanelRenderer: panel } } };
}
