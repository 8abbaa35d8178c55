/** Chat items in the schema that phones are given. */

const element = (name: string, model: object) => ({
  elementRenderer: {
    compatibilityOptions: { liveChatId: "made-up-id", liveChatAuthorExternalChannelId: "UCmade-up" },
    newElement: { type: { componentType: { model: { [name]: model } } } },
  },
});
const SAID_ON_PHONE = {
  messageData: {
    attributedTextData: {
      authorName: { content: "@somebody" },
      contentText: { content: "hi" },
      timestamp: { content: "7:14 PM" },
    },
    authorAvatar: { image: { sources: [{ url: "https://img.example/32", width: 32 }] } },
  },
};

export const PHONE_TEXT = element("liveChatTextMessageModel", SAID_ON_PHONE);
export const PHONE_PINNED = element("liveChatTextMessageBannerModel", SAID_ON_PHONE);
export const PHONE_PAID = element("superChatItemModel", {
  paidMessageData: {
    paidItemHeaderStaticData: { authorName: "@somebody" },
    paidMessageHeaderData: { priceText: "$5.00" },
    message: { content: "hi" },
  },
});
export const PHONE_STICKER = element("liveChatPaidStickerModel", {
  priceText: "$5.00",
  liveChatPaidSticker: {
    authorName: { content: "@somebody" },
    stickerAccessibilityLabel: "A cat waves",
    sticker: { sources: [{ url: "https://img.example/sticker" }] },
  },
});
export const PHONE_NOTICE = element("viewerEngagementMessageModel", {
  data: { messageText: { content: "Be kind." } },
});
