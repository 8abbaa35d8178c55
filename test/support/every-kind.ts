/**
 * An action for each kind that is known, in the upstream's shapes: what a viewer is sent of, by the type of
 * the message (the first of a type is its example in the documentation), and what carries nothing.
 */
import assert from "node:assert/strict";
import { MESSAGE_TYPES, type MessageType } from "../../src/protocol/kinds.ts";
import type { Message } from "../../src/protocol/message.ts";
import { type Gap, showGaps } from "../../src/reading/gap.ts";
import {
  adding,
  COMMON,
  LIKED,
  MEMBER,
  MESSAGE,
  MILESTONE,
  MUTATIONS,
  PAID,
  REPLY,
  runs,
  STICKER,
  TEXT,
} from "./chat-items.ts";
import { gift, giftWidget } from "./jewels.ts";
import { PHONE_NOTICE, PHONE_PAID, PHONE_PINNED, PHONE_STICKER, PHONE_TEXT } from "./phone-items.ts";
import { POLL_CLOSED, POLL_OPENED, POLL_UPDATED } from "./poll-items.ts";
import { UTC } from "./read-messages.ts";

const USEC = "1767323045678901";

export const GIFT_HEADER = {
  liveChatSponsorshipsHeaderRenderer: {
    authorName: COMMON.authorName,
    authorPhoto: COMMON.authorPhoto,
    authorBadges: COMMON.authorBadges,
    primaryText: runs("Sent ", "5", " ", "Channel 77", " gift memberships"),
  },
};

/** An item shown in a ticker, as one of the three renderers. */
export const ticking = (key: string, item: object, own: object = {}) => ({
  addLiveChatTickerItemAction: {
    durationSec: "290",
    item: {
      [key]: {
        id: "made-up-id",
        authorExternalChannelId: "UCmade-up",
        fullDurationSec: 300,
        showItemEndpoint: { showLiveChatItemEndpoint: { renderer: item } },
        ...own,
      },
    },
  },
});

export const bannered = (contents: object, own: object = {}) => ({
  addBannerToLiveChatCommand: {
    bannerRenderer: {
      liveChatBannerRenderer: { contents, actionId: "banner-1", targetId: "live-chat-banner", ...own },
    },
    bannerProperties: { isEphemeral: true, bannerTimeoutMs: "20000" },
  },
});

const redirect = (message: object, command: object) =>
  bannered(
    {
      liveChatBannerRedirectRenderer: {
        bannerMessage: message,
        authorPhoto: COMMON.authorPhoto,
        inlineActionButton: { buttonRenderer: { text: runs("Go"), command } },
      },
    },
    { bannerType: "LIVE_CHAT_BANNER_TYPE_CROSS_CHANNEL_REDIRECT" },
  );

export const REPLACED = {
  replaceChatItemAction: { targetItemId: "made-up-id", replacementItem: TEXT },
};
const DELETED_STATE = runs("[message deleted]");

const product = { title: "Enamel mug", price: "$12.00", vendorName: "Made-up Shop" };

/** The gap that a room whose last cursor is `head` writes at its end. */
export function gapAfter(head: number): Message {
  const [sinceMs, untilMs] = [Date.parse("2026-01-02T15:01:00Z"), Date.parse("2026-01-02T15:04:05Z")];
  const suspectedGap: Gap = { sinceMs, untilMs, reason: "unreachable" };
  const room = { head, held: new Map(), gap: undefined, above: new Map() };
  const moment = { receivedAt: untilMs, timeOfDay: UTC, offsetMs: undefined };
  const { messages } = showGaps([{ items: [], suspectedGap, isLast: true }], [], room, moment);
  return messages[0] ?? assert.fail("the room writes no gap");
}

/** The types as which something of the upstream is read. */
export const READ_TYPES = MESSAGE_TYPES.filter((type) => type !== "gap");

/** `replaced` is for a room that holds the message; read alone, it gives the item itself. */
export const SENT: Record<Exclude<MessageType, "replaced" | "gap">, [object, ...object[]]> = {
  chat: [adding(TEXT), adding(PHONE_TEXT), REPLACED, adding(REPLY)],
  superchat: [
    adding(PAID),
    adding(LIKED),
    ticking("liveChatTickerPaidMessageItemRenderer", PAID),
    adding(PHONE_PAID),
  ],
  supersticker: [
    adding(STICKER),
    ticking("liveChatTickerPaidStickerItemRenderer", STICKER),
    adding(PHONE_STICKER),
  ],
  membership: [
    adding(MEMBER),
    ticking("liveChatTickerSponsorItemRenderer", MEMBER),
    adding({
      liveChatMembershipItemRenderer: {
        ...COMMON,
        headerSubtext: runs("Upgraded membership to ", "Gold", "!"),
      },
    }),
    adding({
      liveChatLegacyPaidMessageRenderer: {
        ...COMMON,
        eventText: runs("NEW MEMBER"),
        detailText: { simpleText: "Welcome, @somebody!" },
      },
    }),
  ],
  milestone: [adding(MILESTONE), ticking("liveChatTickerSponsorItemRenderer", MILESTONE)],
  gift: [
    adding({
      liveChatSponsorshipsGiftPurchaseAnnouncementRenderer: {
        id: "made-up-id",
        timestampUsec: USEC,
        authorExternalChannelId: "UCmade-up",
        header: GIFT_HEADER,
      },
    }),
    // The copy in a ticker has neither id nor time.
    ticking("liveChatTickerSponsorItemRenderer", {
      liveChatSponsorshipsGiftPurchaseAnnouncementRenderer: { header: GIFT_HEADER },
    }),
  ],
  gift_received: [
    adding({
      liveChatSponsorshipsGiftRedemptionAnnouncementRenderer: {
        ...COMMON,
        message: runs("received a gift membership by ", "@giver"),
      },
    }),
  ],
  jewels: [
    gift("made-up-id", "sent Gold coin for 10 Jewels", {
      authorAvatar: { avatarViewModel: { image: { sources: [{ url: "//img.example/64", width: 64 }] } } },
      giftImage: { sources: [{ url: "//img.example/coin", width: 480 }] },
      giftImageA11yLabel: "Gold coin",
    }),
    giftWidget("made-up-id", 3),
    { addInteractivityWidgetAction: giftWidget("made-up-id").updateOrAddInteractivityWidgetAction },
  ],
  donation: [
    adding({
      liveChatDonationAnnouncementRenderer: {
        id: "made-up-id",
        timestampUsec: USEC,
        text: runs("Somebody donated ", "$50.00"),
        subtext: runs("to ", "Clean Harbours"),
      },
    }),
  ],
  poll: [
    POLL_UPDATED,
    POLL_OPENED,
    bannered({
      liveChatBannerPollRenderer: {
        pollQuestion: runs("Wall or floor?"),
        pollChoices: [{ pollOptionId: "1", text: runs("wall") }],
      },
    }),
  ],
  poll_result: [
    adding({
      liveChatViewerEngagementMessageRenderer: {
        id: "made-up-id",
        icon: { iconType: "POLL" },
        message: runs("Wall or floor?", "\n", "floor (53%)", "\n", "wall (47%)"),
      },
    }),
  ],
  banner: [
    bannered(TEXT, {
      bannerType: "LIVE_CHAT_BANNER_TYPE_PINNED_MESSAGE",
      header: {
        liveChatBannerHeaderRenderer: { icon: { iconType: "KEEP" }, text: runs("Pinned by ", "@owner") },
      },
    }),
    bannered(PAID),
    bannered(PHONE_PINNED),
    bannered(
      {
        liveChatCallForQuestionsRenderer: {
          creatorAuthorName: { simpleText: "@owner" },
          questionMessage: runs("Ask me anything"),
        },
      },
      { bannerType: "LIVE_CHAT_BANNER_TYPE_QNA_START" },
    ),
  ],
  banner_removed: [{ removeBannerForLiveChatCommand: { targetActionId: "banner-1" } }],
  raid: [
    redirect(runs("People are going to watch something from ", "@other"), {
      watchEndpoint: { videoId: "aaaaaaaaaaa" },
    }),
    redirect(runs("@other", " and their viewers just joined. Say hello!"), {
      urlEndpoint: { url: "https://support.example/raids" },
    }),
  ],
  summary: [
    bannered(
      {
        liveChatBannerChatSummaryRenderer: { chatSummary: runs("Chat summary", "\n", "Viewers say hello.") },
      },
      { bannerType: "LIVE_CHAT_BANNER_TYPE_CHAT_SUMMARY" },
    ),
  ],
  notice: [
    adding({
      liveChatViewerEngagementMessageRenderer: {
        id: "made-up-id",
        timestampUsec: USEC,
        icon: { iconType: "YOUTUBE_ROUND" },
        message: runs("Be kind, and keep what is private private."),
      },
    }),
    adding({
      liveChatModerationMessageRenderer: { id: "made-up-id", message: runs("@somebody was put in timeout.") },
    }),
    adding(PHONE_NOTICE),
  ],
  mode: [
    adding({
      liveChatModeChangeMessageRenderer: {
        id: "made-up-id",
        timestampUsec: USEC,
        icon: { iconType: "SLOW_MODE" },
        text: runs("Slow mode is on"),
        subtext: runs("Send a message every ", "60 seconds"),
      },
    }),
  ],
  product: [
    bannered({ liveChatProductItemRenderer: product }, { bannerType: "LIVE_CHAT_BANNER_TYPE_PRODUCT" }),
    adding({ liveChatProductItemRenderer: product }),
    adding({
      liveChatPurchasedProductMessageRenderer: { ...COMMON, message: runs("bought ", "Enamel mug") },
    }),
  ],
  deleted: [
    {
      markChatItemAsDeletedAction: { targetItemId: "made-up-id", deletedStateMessage: DELETED_STATE },
    },
    { removeChatItemAction: { targetItemId: "made-up-id" } },
  ],
  author_deleted: [
    {
      markChatItemsByAuthorAsDeletedAction: {
        externalChannelId: "UCmade-up",
        deletedStateMessage: DELETED_STATE,
      },
    },
    { removeChatItemByAuthorAction: { externalChannelId: "UCmade-up" } },
  ],
};

export const SILENT: readonly object[] = [
  POLL_CLOSED,
  adding({ liveChatPlaceholderItemRenderer: { id: "made-up-id", timestampUsec: USEC } }),
  {
    replaceChatItemAction: {
      targetItemId: "made-up-id",
      replacementItem: { liveChatPlaceholderItemRenderer: { id: "made-up-id", timestampUsec: USEC } },
    },
  },
  adding({
    liveChatAutoModMessageRenderer: { id: "made-up-id", autoModeratedItem: TEXT, headerText: MESSAGE },
  }),
  ticking("liveChatTickerCreatorGoalViewModel", {}),
  { showLiveChatTooltipCommand: { tooltip: { tooltipRenderer: { detailsText: MESSAGE } } } },
  {
    showCreatorGoalTickerChipCommand: {
      creatorGoalTickerChip: { liveChatTickerCreatorGoalViewModel: { id: "goal" } },
    },
  },
  { showFanzoneTickerChipCommand: {} },
  { removeFanzoneTickerChipCommand: {} },
  { liveChatReportModerationStateCommand: {} },
  { liveChatReportPresenceCommand: {} },
  { showLiveChatDialogAction: { dialog: { liveChatDialogRenderer: { dialogMessages: [MESSAGE] } } } },
  { changeEngagementPanelVisibilityAction: { targetId: "panel" } },
  { signalAction: { signal: "made-up" } },
  { dimChatItemAction: { clientId: "c" } },
  { liveChatAddToToastAction: {} },
  { addLiveChatTextMessageFromTemplateAction: { template: TEXT } },
  {
    updateOrAddInteractivityWidgetAction: {
      companionWidgetRenderer: { interactivityWidgetRenderer: { content: { giftOverlayItemViewModel: {} } } },
    },
  },
  {
    addInteractivityWidgetAction: {
      widgetRenderer: { interactivityWidgetRenderer: { content: { giftOverlayItemViewModel: {} } } },
    },
  },
  ...["PAID_STICKER", "PROMPT"].map((type) => ({
    updateOrAddInteractivityWidgetAction: {
      widgetRenderer: {
        interactivityWidgetRenderer: {
          id: "widget-1",
          type: `INTERACTIVITY_WIDGET_TYPE_${type}`,
          content: { elementRenderer: {} },
        },
      },
    },
  })),
  { entityUpdateCommand: { entityBatchUpdate: { mutations: MUTATIONS } } },
];
