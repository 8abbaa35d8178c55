/** More of what was recorded, read by eye: the catalogue of 2020, what phones are given, and a poll from open to close. */
import { type Facts, notice, WALL } from "./recorded-facts.ts";

const NEW_MEMBER: Facts = {
  type: "membership",
  id: "ChwKGkNQallvTmJJaE9rQ0ZZek5nZ29kdVZ3S2Z3",
  message: "New member",
  timestamp: "-3:51",
};

/** The nineteen of the list, all kinds of 2020. */
export const CATALOGUE: readonly (Facts | string)[] = [
  { type: "chat", author: "viewer-x8pzqf", message: "Consistency Level ASL ❤️", timestamp: "11:42 AM" },
  notice("Live chat replay is on. Messages that appeared when the stream was live will show up here."),
  NEW_MEMBER,
  {
    type: "donation",
    author: "",
    message: "Anonymous donated $50.00 to UN Foundation (UNF)",
    amount: "$50.00",
    timestamp: "-0:02",
    details: { amount: { value: 50, currency: "USD" } },
  },
  { type: "supersticker", amount: "$9.99", color: "#ffb300", timestamp: "-0:17", details: { tier: 4 } },
  { type: "mode", message: "Slow mode is on Send a message every 60 seconds", timestamp: "12:49 AM" },
  { type: "supersticker", author: "viewer-wn9wgx", amount: "$20.00", details: { tier: 5 } },
  {
    type: "deleted",
    message: "[message deleted]",
    details: {
      target: {
        messageId:
          "CkUKGkNNV3k0WUcyMHUwQ0ZZa3NyUVlkRlYwUHpREidDSi1HanZLMDB1MENGWW1UY0FvZEdaWUw2QTE2MDgxMTg5NzI2Njc%3D",
      },
    },
  },
  {
    type: "author_deleted",
    id: "author_deleted:UCzIM5Inb5ZJIo2IPLxxkar4",
    message: "[message deleted]",
  },
  "liveChatPlaceholderItemRenderer",
  "showLiveChatTooltipCommand",
  { type: "superchat", author: "viewer-0hacr5", amount: "$10.00", color: "#ffca28", timestamp: "-1:32" },
  NEW_MEMBER,
  "liveChatPlaceholderItemRenderer",
  {
    type: "banner",
    id: "banner:ChwKGkNJLVd2LU9laXU0Q0Zab0hyUVlkcGVJTFNn",
    author: "viewer-o3lzi0",
    timestamp: "3:04 PM",
    parts: [
      { kind: "text", text: "Click here to buy Dr Vipan's course : " },
      { kind: "link", text: "https://bit.ly/2wJs0SV", url: "https://bit.ly/2wJs0SV" },
    ],
    details: {
      banner: { kind: "pinned_message", header: "Pinned by Study IQ education" },
      target: {
        messageId: "CjkKGkNOR29pLUtlaXU0Q0ZXVUhmUW9kRThjSFF3EhtDUENBdzltZWl1NENGVTBiWkFvZHhKRUhIQTA%3D",
      },
    },
  },
  { type: "banner_removed", id: "banner_removed:ChwKGkNJejduN25PZ3U0Q0ZjTU01d29kenJjSjZn" },
  { type: "poll", message: "What color does the LIKE button turn for you?" },
  {
    type: "poll",
    details: {
      poll: {
        question: "What color does the LIKE button turn for you?",
        choices: [
          { text: "Blue", percent: 47 },
          { text: "White", percent: 24 },
          { text: "Black", percent: 30 },
        ],
        votes: 22812,
        state: "updated",
      },
    },
  },
  // The panel of a poll that this list does not open.
  "closeLiveChatActionPanelAction",
];

/** What phones are given. */
export const PHONES: Record<string, Facts> = {
  "element-chat": {
    type: "chat",
    id: "sanitized-message-id",
    author: "@viewer-ddsh4m",
    message: "Fixture mobile chat message",
    timestamp: "3:04 PM",
    details: { authorId: "UCxAEYoVuBqB1qugszcIwVJ3", authorPhoto: "https://img.example/avatar=s32" },
  },
  "jewels-gift": {
    type: "jewels",
    id: "gift-event-001",
    author: "@viewer-kddhbk",
    message: "Sent a gift",
    details: {
      authorId: "UCcFdNR8b0lCXNN5oQHlSnsA",
      gift: { count: 3 },
      sticker: {
        label: "@gift_sender sent a gift, Image of a star",
        url: "https://example.com/gift-160.png",
      },
    },
  },
};

/** A poll as three recorded updates tell it, in the order of its votes, and the panel that closes it. */
export const POLL_LIFE = {
  pollId: WALL,
  files: [
    "show-poll-action-wall-vs-floor",
    "update-poll-action-zero-votes",
    "update-poll-action-mid-poll-wall45-floor55",
    "update-poll-action-mid-poll-wall45-floor55",
    "update-poll-action-final-result-wall47-floor53",
    "close-poll-panel",
    "close-poll-panel",
  ],
  states: ["open 0", "updated 0", "updated 1301", "updated 1972", "closed 1972"],
};
