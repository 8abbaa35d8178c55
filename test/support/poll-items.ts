/** A poll as the upstream shows it: opened, with votes, and closed. */
import { runs } from "./chat-items.ts";

export const poll = (votes: string, ...ratios: number[]) => ({
  liveChatPollId: "poll-1",
  choices: ["wall", "floor"].map((text, i) => {
    const ratio = ratios[i];
    const counted = {
      voteRatio: ratio,
      votePercentage: { simpleText: `${Math.round((ratio ?? 0) * 100)}%` },
    };
    return { text: runs(text), selected: false, ...(ratio === undefined ? {} : counted) };
  }),
  header: {
    pollHeaderRenderer: {
      pollQuestion: runs("Wall or floor?"),
      metadataText: runs("@somebody", " • ", "just now", " • ", votes),
      liveChatPollType: "LIVE_CHAT_POLL_TYPE_CREATOR",
    },
  },
});
export const POLL_OPENED = {
  showLiveChatActionPanelAction: {
    panelToShow: {
      liveChatActionPanelRenderer: {
        contents: { pollRenderer: poll("0 votes") },
        id: "panel-1",
        targetId: "live-chat-action-panel",
      },
    },
  },
};
export const POLL_UPDATED = {
  updateLiveChatPollAction: { pollToUpdate: { pollRenderer: poll("1,972 votes", 0.47, 0.53) } },
};
/** A poll in the banner `banner-1`, and what takes the banner down. */
export const POLL_IN_BANNER = {
  addBannerToLiveChatCommand: {
    bannerRenderer: {
      liveChatBannerRenderer: {
        actionId: "banner-1",
        bannerType: "LIVE_CHAT_BANNER_TYPE_POLL",
        contents: {
          liveChatBannerPollRenderer: {
            pollQuestion: runs("Wall or floor?"),
            pollChoices: [{ text: runs("wall") }, { text: runs("floor") }],
          },
        },
      },
    },
  },
};
export const BANNER_REMOVED = { removeBannerForLiveChatCommand: { targetActionId: "banner-1" } };
export const POLL_CLOSED = {
  closeLiveChatActionPanelAction: { targetPanelId: "panel-1", skipOnDismissCommand: true },
};
