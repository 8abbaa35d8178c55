/** What the pictures show: an evening's chat, in the upstream's shapes, and the background of a game. */
import { adding, runs } from "../../test/support/chat-items.ts";
import { SENT } from "../../test/support/every-kind.ts";

type Badge = "OWNER" | "MODERATOR" | "VERIFIED" | "member";

let said = 0;

const badgeOf = (badge: Badge) => ({
  liveChatAuthorBadgeRenderer: {
    tooltip: badge === "member" ? "Member (6 months)" : badge,
    ...(badge === "member"
      ? { customThumbnail: { thumbnails: [{ url: "https://yt3.ggpht.com/member" }] } }
      : { icon: { iconType: badge } }),
  },
});

function common(name: string, badge?: Badge): object {
  said += 1;
  return {
    id: `picture-${said}`,
    timestampUsec: String((Date.now() - 1_800_000 + said * 9000) * 1000),
    authorName: { simpleText: name },
    authorExternalChannelId: `UC${name.slice(1).padEnd(22, "-")}`,
    ...(badge && { authorBadges: [badgeOf(badge)] }),
  };
}

const text = (name: string, words: string, badge?: Badge) =>
  adding({ liveChatTextMessageRenderer: { ...common(name, badge), message: runs(words) } });

/** `colours`: of header and body. */
const paid = (name: string, amount: string, colours: [number, number], words: string) =>
  adding({
    liveChatPaidMessageRenderer: {
      ...common(name),
      message: runs(words),
      purchaseAmountText: { simpleText: amount },
      headerBackgroundColor: 0xff000000 + colours[0],
      bodyBackgroundColor: 0xff000000 + colours[1],
    },
  });

const member = (name: string, header: object) =>
  adding({ liveChatMembershipItemRenderer: { ...common(name, "member"), ...header } });

const poll = (...percents: number[]) => ({
  liveChatPollId: "evening",
  choices: ["The lighthouse", "The old tunnel", "Straight to the boss"].map((choice, at) => ({
    text: runs(choice),
    ...(percents.length > 0 && {
      voteRatio: (percents[at] ?? 0) / 100,
      votePercentage: { simpleText: `${percents[at]}%` },
    }),
  })),
  header: { pollHeaderRenderer: { pollQuestion: runs("Where to next?"), metadataText: runs("1,972 votes") } },
});

const PANEL = { contents: { pollRenderer: poll() }, id: "p", targetId: "live-chat-action-panel" };
const HOST = "@harbourlights";

export const pinned = {
  addBannerToLiveChatCommand: {
    bannerRenderer: {
      liveChatBannerRenderer: {
        actionId: "tonight",
        header: { liveChatBannerHeaderRenderer: { text: runs(`Pinned by ${HOST}`) } },
        contents: {
          liveChatTextMessageRenderer: {
            ...common(HOST, "OWNER"),
            message: runs("Tonight: the last three levels, then your questions."),
          },
        },
      },
    },
  },
};

export const evening: Record<string, unknown>[] = [
  text("@mia", "good evening from a very rainy Porto"),
  text("@tomek", "that jump was 1 frame, I am not even joking", "member"),
  text("@omar", "0:42 was the best part"),
  member("@zoe", { headerSubtext: runs("Welcome to Crew!") }),
  text("@ravi", "no spoilers for the next level please 🙏", "MODERATOR"),
  paid(
    "@kaito",
    "€20.00",
    [0xe65100, 0xf57c00],
    "Been watching since the first stream. Thank you for the company through night shifts!",
  ),
  text("@ines", "the soundtrack here is unreal"),
  text("@noa", "can someone explain what just happened", "member"),
  paid("@bo", "$5.00", [0x00bfa5, 0x1de9b6], "for the tea fund"),
  text(HOST, "we do this without the map, right? RIGHT?", "OWNER"),
  member("@sofia", {
    headerSubtext: runs("Crew"),
    headerPrimaryText: runs("Member for 12 months"),
    message: runs("one year of shouting at doors with you all"),
  }),
  text("@emil", "left, LEFT, the other left"),
  { showLiveChatActionPanelAction: { panelToShow: { liveChatActionPanelRenderer: PANEL } } },
  { updateLiveChatPollAction: { pollToUpdate: { pollRenderer: poll(47, 12, 41) } } },
  text("@luna", "lighthouse or we riot"),
  text("@nuno", "greetings from the other stream, we just finished", "VERIFIED"),
  paid("@yuki", "¥10,000", [0xd00000, 0xe62117], "You can do it! One more try."),
  text("@piotr", "W"),
  text("@mia", "W"),
];

/** Words in eight scripts, in both directions, and words that are hard to wrap. */
export const scripts: Record<string, unknown>[] = [
  text("@Δημήτρης", "Καλησπέρα από τη Θεσσαλονίκη, ο ήχος είναι πολύ καλός απόψε"),
  text("@Наталья", "Здравствуйте! Кто-нибудь знает, когда начнётся вторая часть?", "member"),
  text("@ليلى", "مساء الخير من القاهرة، هذا المستوى صعب جدا 😅", "MODERATOR"),
  text("@נועה", "ערב טוב! איזה שלב זה? (level 12)"),
  text("@さくら", "こんばんは！ このボスは本当に強いですね。がんばってください", "VERIFIED"),
  text("@지우", "안녕하세요, 오늘도 방송 재미있게 보고 있어요"),
  text("@अनुज", "नमस्ते दोस्तों, आज का खेल कमाल का है"),
  text("@สมชาย", "สวัสดีครับวันนี้สนุกมากเลยครับขอให้ชนะนะครับสู้ๆ"),
  paid("@محمد", "SAR 75.00", [0xffb300, 0xffca28], "شكرا على كل شيء، استمروا!"),
  paid(
    "@雨宮しおり",
    "¥1,200",
    [0x00bfa5, 0x1de9b6],
    "初めてのスーパーチャットです。いつも配信を楽しみにしています！",
  ),
  member("@Владимир", { headerPrimaryText: runs("Member for 24 months"), message: runs("Два года вместе!") }),
  text(
    "@longest_name_that_anybody_could_want",
    `${"a".repeat(120)} https://www.example.org/${"path/".repeat(20)}`,
  ),
  text(HOST, "مرحبا بكم — welcome — ようこそ — добро пожаловать", "OWNER"),
];

/** One of everything that can happen, each under an id and of an author of its own. */
export const everything: Record<string, unknown>[] = Object.values(SENT)
  .flat()
  .map((action, at) => JSON.parse(JSON.stringify(action).replaceAll(/(UC)?made-up(-id)?/g, `$&-${at}`)));

/** A night by the sea, drawn by gradients alone. */
export const GAME = `html { background:
  radial-gradient(circle at 78% 22%, #ffe9b0 0 3.5%, transparent 4%),
  radial-gradient(ellipse at 20% 100%, #14231c 0 32%, transparent 33%),
  radial-gradient(ellipse at 70% 108%, #1c3226 0 36%, transparent 37%),
  linear-gradient(#27406b 0%, #7a5a86 42%, #e8946a 62%, #2f5d73 62.5%, #173445 100%) !important; }`;
