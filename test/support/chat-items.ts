/**
 * Chat items in the upstream's shapes, one of each kind with all that it can carry, and the actions that
 * bring them.
 */

/** A text of several runs. */
export const runs = (...texts: string[]) => ({ runs: texts.map((text) => ({ text })) });
export const adding = (item: object, beside: object = {}) => ({
  ...beside,
  addChatItemAction: { item, clientId: "c" },
});
export const replaying = (offset: unknown, ...actions: unknown[]) => ({
  replayChatItemAction: { actions, videoOffsetTimeMsec: offset },
});
export const COMMON = {
  id: "made-up-id",
  timestampUsec: "1767323045678901",
  authorName: { simpleText: " @somebody " },
  authorExternalChannelId: "UCmade-up",
  authorPhoto: {
    thumbnails: [
      { url: "https://img.example/32", width: 32 },
      { url: "//img.example/64", width: 64 },
    ],
  },
  authorBadges: [
    { liveChatAuthorBadgeRenderer: { icon: { iconType: "MODERATOR" }, tooltip: "Moderator" } },
    {
      liveChatAuthorBadgeRenderer: {
        customThumbnail: { thumbnails: [{ url: "https://img.example/badge" }] },
        accessibility: { accessibilityData: { label: "Member (6 months)" } },
      },
    },
    { liveChatAuthorBadgeRenderer: { icon: { iconType: "BRAND_NEW" }, tooltip: "New" } },
  ],
  contextMenuEndpoint: { liveChatItemContextMenuEndpoint: { params: "p" } },
  trackingParams: "t",
};
export const MESSAGE = { runs: [{ text: "hi " }, { emoji: { emojiId: "👏" } }] };
export const TEXT = { liveChatTextMessageRenderer: { ...COMMON, message: MESSAGE } };
/** The button of a message that replies to a Super Chat; `params`: base64 that names the thread. */
export const replyButton = (title: string, params: string) => ({
  buttonViewModel: {
    iconName: "MESSAGE",
    title,
    onTap: {
      innertubeCommand: {
        showEngagementPanelEndpoint: {
          identifier: { tag: "PAreply_thread" },
          globalConfiguration: { params },
        },
      },
    },
  },
});
export const REPLY = {
  liveChatTextMessageRenderer: {
    ...COMMON,
    message: MESSAGE,
    beforeContentButtons: [replyButton("@donor", "p")],
  },
};
export const PAID = {
  liveChatPaidMessageRenderer: {
    ...COMMON,
    message: MESSAGE,
    purchaseAmountText: { simpleText: "NT$1,500.00" },
    headerBackgroundColor: 0xffd00000,
    headerTextColor: 0xffffffff,
    bodyBackgroundColor: 0xffe62117,
    bodyTextColor: 0xfffefefe,
    authorNameTextColor: 0xb3ffffff,
    timestampColor: 0x80fdfdfd,
  },
};
export const STICKER = {
  liveChatPaidStickerRenderer: {
    ...COMMON,
    purchaseAmountText: { simpleText: "€2" },
    sticker: {
      thumbnails: [{ url: "//img.example/sticker", width: 40 }],
      accessibility: { accessibilityData: { label: "A cat waves" } },
    },
    moneyChipBackgroundColor: 0xff00e5ff,
    moneyChipTextColor: 0xff000000,
    backgroundColor: 0xff00b8d4,
    authorNameTextColor: 0xb3000000,
  },
};
export const MEMBER = {
  liveChatMembershipItemRenderer: {
    ...COMMON,
    headerSubtext: { runs: [{ text: "Welcome to " }, { text: "Gold" }, { text: "!" }] },
  },
};
export const MILESTONE = {
  liveChatMembershipItemRenderer: {
    ...COMMON,
    headerPrimaryText: { runs: [{ text: "Member for " }, { text: "6" }, { text: " months" }] },
    headerSubtext: { simpleText: "Gold" },
    message: MESSAGE,
  },
};

/** A paid message of an author on the leaderboard, with likes and replies. */
export const LIKED = {
  liveChatPaidMessageRenderer: {
    ...PAID.liveChatPaidMessageRenderer,
    leaderboardBadge: { buttonViewModel: { iconName: "CROWN", title: "#2" } },
    pdgLikeButton: { pdgLikeViewModel: { likeCountEntityKey: "likes-1" } },
    replyButton: { pdgReplyButtonViewModel: { replyCountEntityKey: "replies-1" } },
  },
};
const update = (entityKey: string, payload: object) => ({
  entityKey,
  type: "ENTITY_MUTATION_TYPE_REPLACE",
  payload,
});
/** The mutations beside the actions: the likes and replies of that message. */
export const MUTATIONS = [
  update("likes-1", { likeCountEntity: { key: "likes-1", likeCountIfIndifferentNumber: "12" } }),
  update("replies-1", { replyCountEntity: { key: "replies-1", replyCountNumber: "3" } }),
];
