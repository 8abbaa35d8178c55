/**
 * What the recorded actions say, read by eye: for each file the messages that its actions give, in order, as far as
 * they are told apart by it; or the kind that carries nothing.
 */
import type { Message } from "../../src/protocol/message.ts";

export type Facts = { [K in keyof Message]?: Partial<Message[K]> };

const GO_NOW = "Don't miss out! People are going to watch something from ";
const JOINED = " and their viewers just joined. Say hello!";
const HELP = "https://support.google.com/youtube/answer/10359590?hl=en";

const leaving = (actionId: string, channel: string, videoId: string): Facts => ({
  type: "raid",
  id: `raid:${actionId}`,
  message: GO_NOW + channel,
  author: "",
  details: { raid: { direction: "out", videoId, url: `https://www.youtube.com/watch?v=${videoId}` } },
});
const joining = (actionId: string, channel: string): Facts => ({
  type: "raid",
  id: `raid:${actionId}`,
  message: channel + JOINED,
  author: "",
  details: { raid: { direction: "in", url: HELP } },
});

export const WALL = "ChwKGkNKTzk4NUNiNzVNREZYWlFUQWdkT2U0VjVR";
const wallOrFloor = (votes: number, wall: number, floor: number): Facts => ({
  type: "poll",
  message: "for the wood",
  details: {
    poll: {
      question: "for the wood",
      choices: [
        { text: "wall", percent: wall },
        { text: "floor", percent: floor },
      ],
      votes,
      state: "updated",
    },
  },
});
export const notice = (message: string): Facts => ({
  type: "notice",
  author: "",
  message,
  amount: "",
  color: "",
});

export const SINGLE_ACTIONS: Record<string, readonly (Facts | string)[]> = {
  "add-banner-chat-summary": [
    {
      type: "summary",
      id: "summary:z4B7kTpSbWc_1776232797929176",
      author: "",
      details: { banner: { kind: "chat_summary" } },
    },
  ],
  "add-banner-redirect-command": [
    leaving("ChwKGkNKLW1yNjd4NkpNREZhRE5GZ2tkVUFNWUNn", "@TakanashiKiara", "OcULALBAXRA"),
  ],
  "add-banner-redirect-go-now": [
    leaving("ChwKGkNMdk96OG55NzVNREZYYkNsQWtkNFVVRndB", "@usadapekora", "AFcfu7GuxVs"),
  ],
  "add-banner-redirect-learn-more": [
    joining("ChwKGkNPNzM0NEdnNlpNREZUUFFsQWtkM25ZN3NR", "@holoen_ceciliaimmergreen"),
  ],
  "add-banner-redirect-learn-more-2": [joining("ChwKGkNPdjN0b1g0N1pNREZmWENsQWtkaFVveU1B", "@KureijiOllie")],
  "add-banner-to-live-chat-command": [
    leaving("ChwKGkNMT0gxWURDM3BJREZXRFVsQWtkX2FBV3hB", "@Lutra_rescute", "DFyEjE4ijRo"),
  ],
  "close-live-chat-action-panel": ["closeLiveChatActionPanelAction"],
  "close-poll-panel": ["closeLiveChatActionPanelAction"],
  "creator-goal-ticker-chip-with-tracking-params": ["showCreatorGoalTickerChipCommand"],
  "gift-message-view-model-action": [
    {
      type: "jewels",
      author: "@viewer-ylysak",
      message: "sent Gold coin for 10 Jewels",
      timestamp: "3:04 PM",
    },
  ],
  "gift-message-view-model-with-avatar-and-gift-image": [
    {
      type: "jewels",
      author: "@viewer-ibn3uk",
      message: "sent Sparkles",
      details: {
        authorPhoto: "https://yt4.ggpht.com/bIdDo4jfNY03oEcJWyoh=s64-c-k-c0x00ffffff-no-rj",
        sticker: {
          label: "@franciscosaranteheredia1890 sent a gift, Sparkles",
          url: "https://www.gstatic.com/youtube/img/pdg/gift/assets/sparkles_v2_320x320.png=w640-h640",
        },
      },
    },
  ],
  "membership-upgrade": [
    {
      type: "membership",
      author: "@viewer-a5pdim",
      message: "Upgraded membership to Cardinal Archer!",
      details: { level: "Cardinal Archer" },
    },
  ],
  "new-membership-welcome": [
    { type: "membership", message: "Welcome to 開拓者組合!", details: { level: "開拓者組合" } },
  ],
  "paid-sticker-with-lower-bumper": [
    {
      type: "supersticker",
      message: "Beaming face with smiling eyes",
      amount: "NT$14.00",
      details: { tier: 1 },
    },
  ],
  "paid-sticker-with-member-badge": [
    {
      type: "supersticker",
      amount: "¥1,600",
      color: "#ffca28",
      details: { tier: 4, amount: { value: 1600, currency: "JPY" } },
    },
  ],
  "remove-banner": [
    { type: "banner_removed", id: "banner_removed:PINNED_ACTION_ID_01", message: "", author: "" },
  ],
  "remove-chat-item": [
    {
      type: "deleted",
      id: "deleted:REMOVED_MSG_ID_01",
      message: "",
      details: { target: { messageId: "REMOVED_MSG_ID_01" } },
    },
  ],
  "remove-chat-item-by-author": [
    {
      type: "author_deleted",
      id: "author_deleted:UCOEanx1BGg6zvaLaVvV5Fyp",
      details: { target: { authorId: "UCOEanx1BGg6zvaLaVvV5Fyp" } },
    },
  ],
  "replace-chat-item-with-text": [
    {
      type: "chat",
      id: "ChwKGkNQcTJ5X0t3NlpNREZlZkJ3Z1FkUTI4RmJR",
      author: "@viewer-e0ts9z",
      message: "pagi bokobo",
      timestamp: "10:40 PM",
    },
  ],
  "show-live-chat-action-panel-action": [
    {
      type: "poll",
      message: "like & turn on notif",
      details: {
        poll: {
          question: "like & turn on notif",
          choices: [{ text: "yes" }, { text: "okayy" }],
          votes: 13869,
          state: "open",
        },
      },
    },
  ],
  "show-panel-action-new-poll": [
    {
      type: "poll",
      message: "",
      parts: [],
      details: {
        poll: { question: "", choices: [{ text: "LET IN" }, { text: "OUT" }], votes: 0, state: "open" },
      },
    },
  ],
  "show-poll-action-wall-vs-floor": [
    {
      type: "poll",
      message: "for the wood",
      details: {
        poll: {
          question: "for the wood",
          choices: [{ text: "wall" }, { text: "floor" }],
          votes: 0,
          state: "open",
        },
      },
    },
  ],
  "text-message-with-leaderboard-rank": [{ type: "chat", author: "@viewer-6uep2k", message: "孔明の罠" }],
  "ticker-gift-purchase": [
    {
      type: "gift",
      id: "ChwKGkNLZW9tUDJNM3BJREZTY19yUVlka21JUlpB",
      author: "@viewer-xatxmj",
      message: "Sent 10 AZKi Channel gift memberships",
      timestamp: "3:04 PM",
      details: { gift: { count: 10 }, authorId: "UCjJUxWoGTl1wediKMM470aN" },
    },
  ],
  "ticker-paid-message": [
    {
      type: "superchat",
      id: "ChwKGkNMLWt4ZFRuM1pJREZiN0t3Z1Fkc3N3VFlR",
      message: "超キュート……🫶可愛すぎて感動……",
      amount: "¥500",
      details: { tier: 3 },
    },
  ],
  "ticker-paid-message-with-author-username": [
    {
      type: "superchat",
      id: "ChwKGkNLcTVudG5NNkpNREZVTEJ3Z1FkVEUwMEVn",
      author: "@viewer-3mejrq",
      amount: "¥5,630",
      color: "#e91e63",
      // The header has a colour of its own; the body has the sixth tier's.
      details: { tier: 6 },
    },
  ],
  "ticker-sponsor-item": [
    {
      type: "milestone",
      message: "可愛すぎて止まった心臓動き出した",
      details: { header: "Member for 7 months", level: "すずふぁーむ" },
    },
  ],
  "update-live-chat-poll-action": [
    {
      type: "poll",
      details: {
        poll: {
          question: "like & turn on notif",
          choices: [
            { text: "yes", percent: 91, ratio: 0.908861517906189 },
            { text: "okayy", percent: 9, ratio: 0.09113851189613342 },
          ],
          votes: 13869,
          state: "updated",
        },
      },
    },
  ],
  "update-poll-action-final-result-wall47-floor53": [wallOrFloor(1972, 47, 53)],
  "update-poll-action-mid-poll-wall45-floor55": [wallOrFloor(1301, 45, 55)],
  "update-poll-action-zero-votes": [wallOrFloor(0, 0, 0)],
  "viewer-engagement-community-guidelines": [
    notice("Welcome to live chat! Remember to guard your privacy and abide by our community guidelines."),
  ],
  "viewer-engagement-poll-result": [
    {
      type: "poll_result",
      message: "DIG (70%)\nZZZZZ (30%)\n\nPoll complete: 1.3K votes",
      timestamp: "3:04 PM",
    },
  ],
  "viewer-engagement-poll-result-wall-vs-floor": [
    { type: "poll_result", message: "for the wood\nfloor (53%)\nwall (47%)\n\nPoll complete: 1.9K votes" },
  ],
  "viewer-engagement-subscribers-only": [
    notice(
      "Subscribers-only mode. Messages that appear are from people who’ve subscribed to this channel for 5 minutes or longer.",
    ),
  ],
  "viewer-engagement-subscribers-only20-min": [
    notice(
      "Subscribers-only mode. Messages that appear are from people who’ve subscribed to this channel for 20 minutes or longer.",
    ),
  ],
};
