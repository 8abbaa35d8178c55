/**
 * Every known kind, by its key: that of a chat item's renderer, else that of the action. "silent" kinds
 * contain nothing for a viewer. A kind without a row is unknown.
 */
import { banner, bannerRemoved, questions, raid, summary } from "./banner.ts";
import { authorDeleted, deleted, replaced } from "./change.ts";
import { chat } from "./chat-item.ts";
import { chatModel, element, noticeModel, superchatModel, superstickerModel } from "./element.ts";
import { item, ticker, widget } from "./holder.ts";
import { giftInList, giftInWidget } from "./jewels.ts";
import { gift, giftReceived, membership, newSponsor } from "./membership.ts";
import { mode, notice, product, productBought } from "./notice.ts";
import { donation, superchat, supersticker } from "./paid.ts";
import { pollClosed, pollInBanner, pollOpened, pollUpdated } from "./poll.ts";
import type { Reader } from "./reader.ts";

export const READERS: ReadonlyMap<string, Reader | "silent"> = new Map<string, Reader | "silent">([
  // Holders of another kind.
  ["addChatItemAction", item],
  ["addLiveChatTickerItemAction", item],
  ["liveChatTickerPaidMessageItemRenderer", ticker],
  ["liveChatTickerPaidStickerItemRenderer", ticker],
  ["liveChatTickerSponsorItemRenderer", ticker],
  ["addInteractivityWidgetAction", widget],
  ["updateOrAddInteractivityWidgetAction", widget],
  ["elementRenderer", element],

  // Items of the chat's list.
  ["liveChatTextMessageRenderer", chat],
  ["liveChatPaidMessageRenderer", superchat],
  ["liveChatPaidStickerRenderer", supersticker],
  ["liveChatMembershipItemRenderer", membership],
  ["liveChatLegacyPaidMessageRenderer", newSponsor],
  ["liveChatSponsorshipsGiftPurchaseAnnouncementRenderer", gift],
  ["liveChatSponsorshipsGiftRedemptionAnnouncementRenderer", giftReceived],
  ["giftMessageViewModel", giftInList],
  ["giftAttributionItemViewModel", giftInWidget],
  ["liveChatDonationAnnouncementRenderer", donation],
  ["liveChatViewerEngagementMessageRenderer", notice],
  ["liveChatModerationMessageRenderer", notice],
  ["liveChatModeChangeMessageRenderer", mode],
  ["liveChatProductItemRenderer", product],
  ["liveChatPurchasedProductMessageRenderer", productBought],

  // The same for the phone apps.
  ["liveChatTextMessageModel", chatModel],
  ["liveChatTextMessageBannerModel", chatModel],
  ["superChatItemModel", superchatModel],
  ["liveChatPaidStickerModel", superstickerModel],
  ["viewerEngagementMessageModel", noticeModel],

  // Changes to earlier messages.
  ["markChatItemAsDeletedAction", deleted],
  ["removeChatItemAction", deleted],
  ["markChatItemsByAuthorAsDeletedAction", authorDeleted],
  ["removeChatItemByAuthorAction", authorDeleted],
  ["replaceChatItemAction", replaced],

  // Banners, and kinds that only banners hold.
  ["addBannerToLiveChatCommand", banner],
  ["removeBannerForLiveChatCommand", bannerRemoved],
  ["liveChatBannerRedirectRenderer", raid],
  ["liveChatBannerChatSummaryRenderer", summary],
  ["liveChatBannerPollRenderer", pollInBanner],
  ["liveChatCallForQuestionsRenderer", questions],

  ["showLiveChatActionPanelAction", pollOpened],
  ["updateLiveChatPollAction", pollUpdated],
  ["closeLiveChatActionPanelAction", pollClosed],

  ["liveChatPlaceholderItemRenderer", "silent"],
  ["liveChatAutoModMessageRenderer", "silent"],
  ["liveChatTickerCreatorGoalViewModel", "silent"],
  ["showLiveChatTooltipCommand", "silent"],
  ["showCreatorGoalTickerChipCommand", "silent"],
  ["showFanzoneTickerChipCommand", "silent"],
  ["removeFanzoneTickerChipCommand", "silent"],
  ["liveChatReportModerationStateCommand", "silent"],
  ["liveChatReportPresenceCommand", "silent"],
  ["showLiveChatDialogAction", "silent"],
  ["changeEngagementPanelVisibilityAction", "silent"],
  ["signalAction", "silent"],
  ["dimChatItemAction", "silent"],
  ["liveChatAddToToastAction", "silent"],
  ["addLiveChatTextMessageFromTemplateAction", "silent"],
  // Pictures of a gift that another action shows.
  ["companionWidgetRenderer", "silent"],
  ["giftOverlayItemViewModel", "silent"],
  // Read in advance, for the messages to which they belong.
  ["entityUpdateCommand", "silent"],
]);
