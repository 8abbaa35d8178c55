/** Actions shown above a chat's items: banners (pinned, raid, summary), tickers and chips. */
import type { Origin } from "./author.ts";
import type { Item } from "./items.ts";
import type { JsonObject } from "./plain-json.ts";
import type { Random } from "./random.ts";
import { type Says, says, wordsOf } from "./says.ts";
import * as words from "./words.ts";

/** An action and its message, if it has one. */
export interface Spoken {
  action: JsonObject;
  says?: Says | undefined;
  /** Entities that accompany the action. */
  mutations?: readonly JsonObject[];
}

/** Types of banners that are shown beside others; any other takes the place of the one before. */
const STACKABLE: ReadonlySet<string> = new Set(["CROSS_CHANNEL_REDIRECT", "CHAT_SUMMARY"]);

/** A banner whose message id names the banner's type. */
function banner(
  actionId: string,
  type: string,
  contents: JsonObject,
  said: Pick<Says, "type" | "author" | "message" | "authorId">,
  header?: JsonObject,
): Spoken {
  const shown = {
    ...(header && { header }),
    contents,
    actionId,
    targetId: "live-chat-banner",
    isStackable: STACKABLE.has(type),
  };
  const liveChatBannerRenderer = { ...shown, bannerType: `LIVE_CHAT_BANNER_TYPE_${type}` };
  return {
    action: { addBannerToLiveChatCommand: { bannerRenderer: { liveChatBannerRenderer } } },
    says: { amount: "", ...said, id: `${said.type}:${actionId}` },
  };
}

/** An item pinned by the named user, under a banner id of its own. */
export function pinned(actionId: string, item: Item, by: string): Spoken {
  const header = { icon: { iconType: "KEEP" }, text: { runs: [{ text: "Pinned by " }, { text: by }] } };
  const said = { author: "", message: "", ...item.says, type: "banner", amount: "" };
  const contents = { [item.key]: item.renderer };
  return banner(actionId, "PINNED_MESSAGE", contents, said, { liveChatBannerHeaderRenderer: header });
}

/** A poll in a banner: it shows no votes, and closes when the banner is removed. */
export function pollBanner(actionId: string, random: Random): Spoken {
  const question = random.pick(words.QUESTIONS);
  const pollChoices = random
    .pick(words.ANSWERS)
    .map((text, i) => ({ pollOptionId: String(i + 1), text: { runs: [{ text }] } }));
  const renderer = { pollQuestion: { runs: [{ text: question }] }, pollChoices };
  const said = { type: "poll", author: "", message: question };
  return banner(actionId, "POLL", { liveChatBannerPollRenderer: renderer }, said);
}

/** The banner is taken down, and with it the poll in it. */
export function unpinned({ says: shown }: Spoken, targetActionId: string): Spoken {
  const removed = says("banner_removed", `banner_removed:${targetActionId}`, "", "");
  const before = shown?.type === "poll" ? { ...shown, version: "closed" } : undefined;
  return {
    action: { removeBannerForLiveChatCommand: { targetActionId } },
    says: { ...removed, ...(before && { before }) },
  };
}

/** A raid: viewers who come from another stream or are sent to one. */
export function raid({ id, author }: Origin, random: Random): Spoken {
  const outgoing = random.chance(0.5);
  const name = { text: author.name, bold: true };
  const runs = outgoing
    ? [{ text: "Don't miss out! People are going to watch something from " }, name]
    : [name, { text: " and their viewers just joined. Say hello!" }];
  const command = outgoing
    ? { watchEndpoint: { videoId: random.text(9).slice(0, 11) } }
    : { urlEndpoint: { url: "https://support.google.com/youtube/answer/10359590?hl=en" } };
  const buttonRenderer = { text: { runs: [{ text: outgoing ? "Go now" : "Learn more" }] }, command };
  const renderer = {
    bannerMessage: { runs },
    authorPhoto: author.photo,
    inlineActionButton: { buttonRenderer },
  };
  const said = { type: "raid", author: "", message: wordsOf(runs) };
  return banner(id, "CROSS_CHANNEL_REDIRECT", { liveChatBannerRedirectRenderer: renderer }, said);
}

export function summary({ id }: Origin, random: Random): Spoken {
  const phrase = { text: `Viewers say: ${random.pick(words.PHRASES)}` };
  const runs = [{ text: "Chat summary", bold: true }, { text: "\n" }, phrase];
  const renderer = { liveChatSummaryId: id, chatSummary: { runs }, icon: { iconType: "SPARK" } };
  const said = { type: "summary", author: "", message: wordsOf(runs) };
  return banner(id, "CHAT_SUMMARY", { liveChatBannerChatSummaryRenderer: renderer }, said);
}

/** A product of the channel's shop: no id and no author, its title a bare string. */
export function product({ id }: Origin, random: Random): Spoken {
  const title = random.pick(words.PRODUCTS);
  const renderer = { title, accessibilityTitle: title, price: "$12.00", vendorName: "Simulated Shop" };
  const said = { type: "product", author: "", message: title };
  return banner(id, "PRODUCT", { liveChatProductItemRenderer: renderer }, said);
}

/** The channel asks for questions. */
export function questions({ id }: Origin, channel: string): Spoken {
  const renderer = {
    creatorAuthorName: { simpleText: channel },
    featureLabel: { simpleText: "Q&A" },
    questionMessage: { runs: [{ text: "Ask me anything" }] },
  };
  const said = { type: "banner", author: channel, message: "Ask me anything" };
  return banner(id, "QNA_START", { liveChatCallForQuestionsRenderer: renderer }, said);
}

/** The ticker that repeats each item; members and gifts share one. */
const TICKER_KEYS: Record<string, string> = {
  liveChatPaidMessageRenderer: "liveChatTickerPaidMessageItemRenderer",
  liveChatPaidStickerRenderer: "liveChatTickerPaidStickerItemRenderer",
};

/** A ticker repeats an item under the same id; its copy of a gift has neither id nor time. */
export function ticker({ key, renderer, says, mutations = [] }: Item): Spoken {
  const { id, timestampUsec, ...anonymous } = renderer;
  const gift = key === "liveChatSponsorshipsGiftPurchaseAnnouncementRenderer";
  const copy = gift ? anonymous : { id, timestampUsec, ...anonymous };
  const item = {
    id,
    ...(key === "liveChatPaidMessageRenderer" && { amount: renderer.purchaseAmountText }),
    ...(TICKER_KEYS[key] === undefined && { detailText: { simpleText: gift ? "Gifts" : "Member" } }),
    startBackgroundColor: renderer.bodyBackgroundColor ?? 0xff0f9d58,
    endBackgroundColor: renderer.headerBackgroundColor ?? 0xff0b8043,
    durationSec: 290,
    fullDurationSec: 300,
    authorExternalChannelId: renderer.authorExternalChannelId,
    showItemEndpoint: { showLiveChatItemEndpoint: { renderer: { [key]: copy } } },
  };
  const name = TICKER_KEYS[key] ?? "liveChatTickerSponsorItemRenderer";
  return {
    action: { addLiveChatTickerItemAction: { item: { [name]: item }, durationSec: "290" } },
    says,
    mutations,
  };
}

export function goalChip({ id }: Origin): Spoken {
  const model = { id, initialTickerText: { content: "Goal" }, a11yLabel: "See the goal" };
  const creatorGoalTickerChip = { liveChatTickerCreatorGoalViewModel: model };
  return { action: { showCreatorGoalTickerChipCommand: { creatorGoalTickerChip } } };
}

export function tooltip(): Spoken {
  const detailsText = { runs: [{ text: "Pinned messages are shown here" }] };
  const tooltip = { tooltipRenderer: { targetId: "live-chat-banner", detailsText } };
  return { action: { showLiveChatTooltipCommand: { tooltip } } };
}

/** An action for the upstream's own client, with nothing for a viewer. */
export function aside({ id }: Origin, random: Random): Spoken {
  const widget = (type: string) => ({
    interactivityWidgetRenderer: { id, type: `INTERACTIVITY_WIDGET_TYPE_${type}` },
  });
  const dialogMessages = [{ runs: [{ text: "Your comments are public" }] }];
  return {
    action: random.pick([
      { liveChatReportPresenceCommand: { liveChatId: id } },
      { showLiveChatDialogAction: { dialog: { liveChatDialogRenderer: { dialogMessages } } } },
      { updateOrAddInteractivityWidgetAction: { widgetRenderer: widget("PAID_STICKER") } },
      { updateOrAddInteractivityWidgetAction: { widgetRenderer: widget("PROMPT") } },
    ]),
  };
}
