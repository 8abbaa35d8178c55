/** What the pictures show: an evening's chat, in the upstream's shapes, and the background of a game. */

interface Person {
  name: string;
  badge?: "OWNER" | "MODERATOR" | "VERIFIED" | "member";
}

let said = 0;

const badgeOf = (badge: NonNullable<Person["badge"]>) => ({
  liveChatAuthorBadgeRenderer: {
    tooltip: badge === "member" ? "Member (6 months)" : badge,
    ...(badge === "member"
      ? { customThumbnail: { thumbnails: [{ url: "https://yt3.ggpht.com/member" }] } }
      : { icon: { iconType: badge } }),
  },
});

function common({ name, badge }: Person): object {
  said += 1;
  return {
    id: `picture-${said}`,
    timestampUsec: String((Date.now() - 1_800_000 + said * 9000) * 1000),
    authorName: { simpleText: name },
    authorExternalChannelId: `UC${name}`,
    ...(badge && { authorBadges: [badgeOf(badge)] }),
  };
}

const runs = (text: string) => ({ runs: [{ text }] });
const add = (key: string, renderer: object) => ({ addChatItemAction: { item: { [key]: renderer } } });

const text = (who: Person, words: string) =>
  add("liveChatTextMessageRenderer", { ...common(who), message: runs(words) });

/** The upstream's colours of what is paid, header and body, by tier. */
const TIERS: [header: number, body: number][] = [
  [0x1565c0, 0x1e88e5],
  [0x00b8d4, 0x00e5ff],
  [0x00bfa5, 0x1de9b6],
  [0xffb300, 0xffca28],
  [0xe65100, 0xf57c00],
  [0xc2185b, 0xe91e63],
  [0xd00000, 0xe62117],
];

const paid = (who: Person, amount: string, tier: number, words: string) => {
  const [header, body] = TIERS[tier - 1] ?? [0, 0];
  return add("liveChatPaidMessageRenderer", {
    ...common(who),
    ...(words !== "" && { message: runs(words) }),
    purchaseAmountText: { simpleText: amount },
    headerBackgroundColor: 0xff000000 + header,
    bodyBackgroundColor: 0xff000000 + body,
  });
};

const member = (who: Person, header: string, words?: string) =>
  add("liveChatMembershipItemRenderer", {
    ...common({ ...who, badge: "member" }),
    headerSubtext: runs(words === undefined ? header : "Crew"),
    ...(words !== undefined && { headerPrimaryText: runs(header), message: runs(words) }),
  });

const host: Person = { name: "@harbourlights", badge: "OWNER" };

const poll = (percents?: number[]) => ({
  liveChatPollId: "evening",
  choices: ["The lighthouse", "The old tunnel", "Straight to the boss"].map((choice, at) => ({
    text: runs(choice),
    ...(percents && {
      voteRatio: (percents[at] ?? 0) / 100,
      votePercentage: { simpleText: `${percents[at]}%` },
    }),
  })),
  header: { pollHeaderRenderer: { pollQuestion: runs("Where to next?"), metadataText: runs("1,972 votes") } },
});

const panel = (pollRenderer: object) => ({
  panelToShow: {
    liveChatActionPanelRenderer: { contents: { pollRenderer }, id: "p", targetId: "live-chat-action-panel" },
  },
});

export const pinned = {
  addBannerToLiveChatCommand: {
    bannerRenderer: {
      liveChatBannerRenderer: {
        actionId: "tonight",
        header: { liveChatBannerHeaderRenderer: { text: runs("Pinned by @harbourlights") } },
        contents: {
          liveChatTextMessageRenderer: {
            ...common(host),
            message: runs("Tonight: the last three levels, then your questions."),
          },
        },
      },
    },
  },
};

export const evening: object[] = [
  text({ name: "@mia" }, "good evening from a very rainy Porto"),
  text({ name: "@tomek", badge: "member" }, "that jump was 1 frame, I am not even joking"),
  text({ name: "@omar" }, "0:42 was the best part"),
  member({ name: "@zoe" }, "Welcome to Crew!"),
  text({ name: "@ravi", badge: "MODERATOR" }, "no spoilers for the next level please 🙏"),
  paid(
    { name: "@kaito" },
    "€20.00",
    5,
    "Been watching since the first stream. Thank you for the company through night shifts!",
  ),
  text({ name: "@ines" }, "the soundtrack here is unreal"),
  text({ name: "@noa", badge: "member" }, "can someone explain what just happened"),
  paid({ name: "@bo" }, "$5.00", 3, "for the tea fund"),
  text(host, "we do this without the map, right? RIGHT?"),
  member({ name: "@sofia" }, "Member for 12 months", "one year of shouting at doors with you all"),
  text({ name: "@emil" }, "left, LEFT, the other left"),
  { showLiveChatActionPanelAction: panel(poll()) },
  { updateLiveChatPollAction: { pollToUpdate: { pollRenderer: poll([47, 12, 41]) } } },
  text({ name: "@luna" }, "lighthouse or we riot"),
  text({ name: "@nuno", badge: "VERIFIED" }, "greetings from the other stream, we just finished"),
  paid({ name: "@yuki" }, "¥10,000", 7, "You can do it! One more try."),
  text({ name: "@piotr" }, "W"),
  text({ name: "@mia" }, "W"),
];

const target = text({ name: "@noisy" }, "buy my things");
const typo = text({ name: "@luna" }, "helo");
const idOf = ({ addChatItemAction: { item } }: ReturnType<typeof add>): string =>
  Object.values(item as Record<string, { id: string }>)[0]?.id ?? "";

/** One of everything that can happen, and words that try to leave their row. */
export const everything: object[] = [
  ...TIERS.map((_, at) =>
    paid(
      { name: `@tier${at + 1}` },
      `$${at + 1}0.00`,
      at + 1,
      at % 3 === 2 ? "" : "Keep going, you are nearly there.",
    ),
  ),
  add("liveChatPaidStickerRenderer", {
    ...common({ name: "@ines", badge: "MODERATOR" }),
    purchaseAmountText: { simpleText: "€10.00" },
    sticker: { accessibility: { accessibilityData: { label: "Fox claps with both paws" } } },
    backgroundColor: 0xffffb300,
    moneyChipBackgroundColor: 0xffffca28,
  }),
  member({ name: "@zoe" }, "Welcome to Crew!"),
  member({ name: "@ravi" }, "Member for 24 months", "still the best evening of the week"),
  add("liveChatSponsorshipsGiftPurchaseAnnouncementRenderer", {
    ...common({ name: "@sofia" }),
    header: {
      liveChatSponsorshipsHeaderRenderer: {
        authorName: { simpleText: "@sofia" },
        primaryText: runs("Sent 5 Harbour gift memberships"),
      },
    },
  }),
  add("liveChatSponsorshipsGiftRedemptionAnnouncementRenderer", {
    ...common({ name: "@emil" }),
    message: runs("received a gift membership by @sofia"),
  }),
  add("liveChatDonationAnnouncementRenderer", {
    ...common({ name: "" }),
    text: runs("@nuno donated $50.00"),
    subtext: runs("to Clean Harbours"),
  }),
  add("liveChatModeChangeMessageRenderer", {
    ...common({ name: "" }),
    text: runs("Slow mode is on"),
    subtext: runs("Send a message every 60 seconds"),
  }),
  add("liveChatViewerEngagementMessageRenderer", {
    ...common({ name: "" }),
    icon: { iconType: "YOUTUBE_ROUND" },
    message: runs("Welcome to live chat! Remember to guard your privacy."),
  }),
  target,
  { markChatItemAsDeletedAction: { targetItemId: idOf(target), deletedStateMessage: runs("[deleted]") } },
  typo,
  {
    replaceChatItemAction: {
      targetItemId: idOf(typo),
      replacementItem: {
        liveChatTextMessageRenderer: { ...common({ name: "@luna" }), message: runs("hello") },
      },
    },
  },
  text({ name: "@averylongnamethatneverendsandneverbreaksandgoesonandonandon" }, "hi"),
  text({ name: "@مها" }, "مساء الخير من بيروت، هذا الفصل هو الأفضل"),
  text({ name: "@rtl\u202egnp.exe" }, "\u202eoverride stays in its row"),
  text({ name: "@long" }, `${"Donaudampfschifffahrt".repeat(9)} 🎉🎉🎉`),
  text(
    { name: "@zalgo" },
    "h\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301e\u0323\u0323\u0323\u0323\u0323\u0323llo",
  ),
  { showLiveChatActionPanelAction: panel(poll([61, 8, 31])) },
  { closeLiveChatActionPanelAction: { targetPanelId: "p", skipOnDismissCommand: true } },
  text({ name: "@mia" }, "good night!"),
];

/** A night by the sea, drawn by gradients alone. */
export const GAME = `html { background:
  radial-gradient(circle at 78% 22%, #ffe9b0 0 3.5%, transparent 4%),
  radial-gradient(ellipse at 20% 100%, #14231c 0 32%, transparent 33%),
  radial-gradient(ellipse at 70% 108%, #1c3226 0 36%, transparent 37%),
  linear-gradient(#27406b 0%, #7a5a86 42%, #e8946a 62%, #2f5d73 62.5%, #173445 100%) !important; }`;
