/**
 * The known facts of the upstream, one per row: whether the simulator imitates it, by which switch, where
 * the simulation draws it, and which test or judge holds the service to it. A simulator that is kinder than
 * the upstream proves nothing. `upstream-facts.test.ts` demands a row for each switch of the simulator, and
 * that each row is true; `captured-keys.test.ts` demands one for each kind of action that captures hold and
 * the simulator does not say.
 */
import type { EndShape } from "../../simulator/answers.ts";
import type { Species } from "../../simulator/generator.ts";
import type { Wall } from "../../simulator/pages.ts";
import type { ChatKind, Place, Scenario } from "../../simulator/scenario.ts";
import type { ChannelScenario } from "../../simulator/simulated-channel.ts";
import type { SimulatorOptions } from "../../simulator/simulator.ts";

/** A choice of the simulator: a property, or a value of one with several. */
export type Switch =
  | `scenario ${keyof Scenario}`
  | `channel ${keyof ChannelScenario}`
  | `simulator ${keyof SimulatorOptions}`
  | `chat ${ChatKind}`
  | `page ${Place}`
  | `wall ${Wall}`
  | `end ${EndShape}`
  | `action ${Species}`
  | `failure ${string}`;

/** A file, from the project's folder, and text in it. */
export type Passage = readonly [file: string, text: string];

/** Where the simulation draws a fact: a kind of fault that a run counts, or a passage. */
export type Drawn = string | Passage;

interface Imitated {
  fact: string;
  /** The switches that turn it on; a passage of the simulator if it is always so. */
  by: readonly Switch[] | Passage;
  /** One or several places, or why the simulation does not draw it. */
  drawn: readonly Drawn[] | { not: string };
  /** The test or the judge that fails if the service does not bear it. */
  held: Passage;
}

interface NotImitated {
  fact: string;
  /** Why not. */
  not: string;
  /** The paths of its actions and items, as captures hold them. */
  kinds?: readonly string[];
  /** The test that holds the service to it all the same. */
  held?: Passage;
}

export type Fact = Imitated | NotImitated;

const WORLD = "test/simulation/world.ts";
const ROOM_JUDGE = "test/simulation/room-judge.ts";
const LIVE_CHANNEL = "test/simulation/live-channel.ts";
const FINISHED = "test/simulation/finished-stream.ts";
const BOOTSTRAP = "test/relay/upstream/bootstrap.test.ts";
const SOURCES = "test/relay/upstream/chat-sources.test.ts";
const VIEWS = "test/relay/upstream/views.test.ts";
const WALLS = "test/relay/upstream/walls.test.ts";
const ANSWERS = "test/relay/upstream/upstream-answers.test.ts";
const GENERATED = "test/relay/reading/generated-chat.test.ts";
const LOOK = "test/relay/upstream/channel-look.test.ts";
const CHANNEL_PAGE = "test/unit/upstream/channel-page.test.ts";

/** Every run says actions of all kinds, in their shares. */
const SAID: readonly Drawn[] = [[WORLD, "chat.speak(random.pick("]];
const GENERATED_TITLE: Passage = [GENERATED, "give exactly the messages they describe"];
const FORM = { not: "one reader reads this form, whatever happens around it" };
const TEST_SWITCH = { not: "a switch of tests that is no fact of the upstream" };

export const FACTS: readonly Fact[] = [
  // Scripts and pages
  {
    fact: "/sw.js is usually a stub without key and version; /sw.js_data and the pages may have them",
    by: ["simulator serviceWorker", "simulator serviceWorkerData", "simulator pageCredentials"],
    drawn: { not: "the version is then that of the page, which every run loads anyway" },
    held: [SOURCES, "a bootstrap works even if any two sources are dead"],
  },
  {
    fact: "a chat is shown on the popout page, the watch page and by next, or on some of them",
    by: ["page popout", "page watch", "page next", "scenario foundOn"],
    drawn: [[WORLD, 'foundOn: random.pick(["everywhere"']],
    held: [BOOTSTRAP, "finds a chat "],
  },
  {
    fact: "the popout page shows the chat's last messages; the first answer repeats some of them",
    by: ["scenario page", "scenario overlap"],
    drawn: [
      [WORLD, "{ page: 20 }"],
      [WORLD, "overlap: random.pick("],
    ],
    held: [ROOM_JUDGE, "is stored twice"],
  },
  {
    fact: "the popout page shows standing banners and open polls, however long ago they came",
    by: ["simulator/shown-above.ts", "actionsBeside"],
    drawn: SAID,
    held: [ROOM_JUDGE, "is taken down, but the chat still shows it"],
  },
  {
    fact: "a page shows the upstream's notices under new ids and times each time",
    by: ["simulator/shown-again.ts", "liveChatViewerEngagementMessageRenderer"],
    drawn: SAID,
    held: ["test/relay/reading/notices.test.ts", "not if a page shows it under a new id"],
  },
  {
    fact: "the mobile site writes its data as an escaped string",
    by: ["scenario initialData"],
    drawn: FORM,
    held: [
      "test/unit/upstream/initial-data.test.ts",
      "resolves the escapes of the mobile site's string form",
    ],
  },
  {
    fact: "a replay's page has a renderer of its own, or the live one with a mark",
    by: ["scenario replayRenderer"],
    drawn: FORM,
    held: ["test/relay/rooms/rooms-over.test.ts", "is sent whole to the viewer that opens it"],
  },
  {
    fact: "old answers are wrapped in `response`, and older pages have other paths to the chat",
    not: "captures of them are played as they are",
    held: ["test/captured/captures.test.ts", "a page of a replay, then its end"],
  },

  // Tokens, views and continuations
  {
    fact: "the menu of a watch page and of next holds short dead tokens, which are refused with 400",
    by: ["simulator/continuation-book.ts", "export function deadToken"],
    drawn: [[WORLD, 'foundOn: random.pick(["everywhere"']],
    held: [VIEWS, "a chat whose page has a dead menu"],
  },
  {
    fact: "the first answer to a page's token, and no later one, has a menu with whole tokens",
    by: ["simulator/simulated-chat.ts", "isOfPage && this.#header(grant)"],
    drawn: [[WORLD, 'foundOn: random.pick(["everywhere"']],
    held: [
      "test/harness/upstream-judge.ts",
      "its room goes on in Top chat, though a menu offers all messages",
    ],
  },
  {
    fact: "Top chat leaves messages out",
    by: ["scenario onlyInAll"],
    drawn: [["test/simulation/settings.ts", "RELAY_CHAT_VIEW"]],
    held: [ROOM_JUDGE, "#isLeftOut"],
  },
  {
    fact: "a page shows a number of messages of its view, so one in Top chat may reach further back",
    by: ["scenario isTopLonger"],
    drawn: [[WORLD, "isTopLonger: true"]],
    held: [
      "test/relay/reading/top-chat-page.test.ts",
      "does not hide a gap before the token of all messages",
    ],
  },
  {
    fact: "a menu's token of a live chat brings its backlog: of when it was made, or of the call",
    by: ["scenario backlogOf"],
    drawn: [[WORLD, 'backlogOf: "call"']],
    held: ["test/relay/reading/fast-chats.test.ts", "each gap of a chat is marked"],
  },
  {
    fact: "a token can answer 200 without messages for ever, also from its first poll on",
    by: ["scenario mute"],
    drawn: ["tokens silent"],
    held: [
      "test/relay/reading/fresh-page.test.ts",
      "a live chat whose token brings nothing from the first poll on",
    ],
  },
  {
    fact: "a token may be valid once or for long, and expires",
    by: ["scenario tokens"],
    drawn: [[WORLD, 'tokens: random.pick(["strict"'], "tokens expired", "all tokens expired"],
    held: ["test/relay/reading/lost-chat.test.ts", "a room whose chat is lost"],
  },
  {
    fact: "a live answer asks for a wait of ten seconds, another one, or none, by either of two keys",
    by: ["scenario timeoutMs", "scenario continuation"],
    drawn: [[WORLD, "timeoutMs: random.pick("]],
    held: ["test/relay/upstream/bootstrap-client.test.ts", "if the upstream asks for "],
  },
  {
    fact: "each live answer may end its chat, although its page shows it again",
    by: ["scenario continuation"],
    drawn: { not: "its room ends with each answer, and the judge knows one end of a chat" },
    held: ["test/relay/rooms/reopened-chats.test.ts", "a live chat whose every answer ends it"],
  },
  {
    fact: "the upstream holds ten seconds or 200 messages for a late reader",
    by: ["scenario holdsMs", "scenario holdsMessages"],
    drawn: [[WORLD, "random.chance(0.7) ? HOLD"], "bursts"],
    held: [ROOM_JUDGE, "which no gap reports"],
  },
  {
    fact: "a replay comes in pages of its own length, whose actions have an offset in the video",
    by: ["chat replay", "scenario pageSize", "scenario spacingMs"],
    drawn: ["replays beside", [WORLD, 'kind: "replay", pageSize: 40']],
    held: ["test/simulation/chat-judge.ts", "is sent end of a replay without"],
  },
  {
    fact: "one wrapper of a replay holds several actions",
    by: ["scenario perWrapper"],
    drawn: [[WORLD, "perWrapper: 4"]],
    held: ["test/relay/rooms/rooms-over.test.ts", "each) is sent whole to the viewer that opens it"],
  },
  {
    fact: "answers of next carry like and reply counts as entities beside the actions",
    by: ["action counts"],
    drawn: SAID,
    held: [
      "test/relay/upstream/jewels-ledger.test.ts",
      "ranks, likes, replies, their targets, months, levels, givers and counts",
    ],
  },
  {
    fact: "an answer may name the view in use",
    not: "known from code alone, no capture has it; the service reads the menu",
  },
  {
    fact: "entities also tell reactions and a creator's goal, first whole and then what changed",
    not: "the service reads the counts of paid messages alone, by the keys that these name",
    held: ["test/unit/upstream/jewels.test.ts", "do not include deleted values, values of another message"],
  },
  {
    fact: "some clients alone work, at one endpoint",
    by: ["scenario works"],
    drawn: { not: "the pair is chosen once, at an opening, and does not change the reading" },
    held: ["test/relay/upstream/bootstrap-client.test.ts", "tries it after those before it"],
  },
  {
    fact: "clients of mobile apps get another schema, of element models without times",
    not: "rooms are read as WEB or TVHTML5, and the probe only counts actions",
    kinds: ["addChatItemAction.item.elementRenderer"],
    held: [
      "test/relay/upstream/probe.test.ts",
      "count raw actions, known or not, in both of the upstream's schemas",
    ],
  },

  // Ends, absent chats
  {
    fact: "a chat ends in five shapes, with or without last messages; then its popout says that it is disabled",
    by: [
      ...(["end reload-only", "end seek-only", "end continuations-absent"] as const),
      ...(["end continuations-empty", "end no-contents", "chat disabled", "scenario end"] as const),
    ],
    drawn: [
      ...["chats over reload-only", "chats over seek-only", "chats over continuations-absent"],
      ...["chats over continuations-empty", "chats over no-contents"],
    ],
    held: ["test/simulation/chat-judge.ts", "is sent an end of a chat that is open"],
  },
  {
    fact: "a live chat that is over has a replay after a while, which is another chat",
    by: ["chat live", "chat replay"],
    drawn: [[FINISHED, "live chats replayed"]],
    held: ["test/simulation/chat-judge.ts", "it is sent the other chat"],
  },
  {
    fact: "a chat can be switched off or hidden while its stream goes on, and is there again",
    by: ["chat off", "chat private", "chat members-only", "scenario stream"],
    drawn: ["chats off", "chats private", "chats members-only"],
    held: ["test/relay/rooms/standing.test.ts", "the chat of an open room that is "],
  },
  {
    fact: "a video may have no chat, be gone, or ask for a sign-in because of age, or for a check of age or content",
    by: ["chat none", "chat unavailable", "chat age-limit", "chat age-check", "chat content-check"],
    drawn: ["made-up ids", [`test/simulation/recorded-chat.ts`, '["none", "off", "private"]']],
    held: [BOOTSTRAP, "answers NO_LIVE_CHAT if neither page holds a chat"],
  },
  {
    fact: "a scheduled stream has a chat before it begins",
    by: ["chat upcoming"],
    drawn: [[LIVE_CHANNEL, "announced: () =>"]],
    held: ["test/relay/rooms/video-facts.test.ts", "has no begin while the stream is only scheduled"],
  },

  // Walls and failures
  {
    fact: "an address that the upstream distrusts is told something else than others: a wall is not an end",
    by: ["wall bot", "wall consent", "wall no-data", "wall other-video", "wall offline"],
    drawn: ["page bot", "wall consent", "wall no-data", "page other-video", "wall offline", "walls together"],
    held: [WALLS, "a room whose token is refused waits behind a wall and tries again"],
  },
  {
    fact: "a call is answered with an error object or an error page, of any status",
    by: ["failure status", "failure invalid-argument", "failure response-errors", "failure html"],
    drawn: ["chat 500", "chat 503", "chat 403", "chat 404", "chat invalid argument", "chat response errors"],
    held: [ANSWERS, "as a bootstrap attempt it "],
  },
  {
    fact: "throttling is 429, a quota's error object with 200, or a captcha with 200",
    by: ["failure quota", "failure captcha", "failure status", "simulator perAddress"],
    drawn: ["chat 429", "chat 429 with Retry-After", "chat quota", "chat captcha", "address throttled"],
    held: ["test/harness/upstream-judge.ts", "ms before the end of a cooldown"],
  },
  {
    fact: "pages are throttled long before polls are",
    by: ["failure status", "failure captcha"],
    drawn: ["page captcha"],
    held: [WALLS, "pages that are throttled"],
  },
  {
    fact: "an answer can be empty, no JSON, or another JSON than an answer",
    by: ["failure empty", "failure null", "failure array", "failure object", "failure no-contents"],
    drawn: ["chat empty", "chat null", "chat array", "chat object", "chat without contents"],
    held: [ANSWERS, "as a bootstrap attempt it "],
  },
  {
    fact: "a connection breaks before, within or after an answer, or stays silent",
    by: ["failure reset", "failure lost", "failure truncated", "failure silent"],
    drawn: ["chat reset", "chat lost", "chat truncated", "chat silent", "connections refused", "outages"],
    held: [ROOM_JUDGE, "was in an answer, and is not stored at the next call"],
  },
  {
    fact: "answers come late, or in small pieces",
    by: ["failure delayMs", "failure drip"],
    drawn: ["chat slow", "chat in pieces", "slow network"],
    held: [
      "test/relay/reading/slow-calls.test.ts",
      "nothing is missing without a gap if calls take 0.2 to 3 s",
    ],
  },
  {
    fact: "pages and scripts redirect, also to a sign-in on a foreign host",
    by: ["failure redirect"],
    drawn: ["page redirect", "script redirect"],
    held: [BOOTSTRAP, "sends nothing to a foreign host"],
  },

  // Actions
  {
    fact: "texts have emoji, links, roles and ranks, or no author's name; some are translated",
    by: ["action text"],
    drawn: SAID,
    held: GENERATED_TITLE,
  },
  {
    fact: "a paid message or sticker has an amount in some currency, and may have no text",
    by: ["action paid", "action sticker"],
    drawn: SAID,
    held: GENERATED_TITLE,
  },
  {
    fact: "a ticker repeats a payment, a member or a gift under the same id",
    by: ["action ticker"],
    drawn: SAID,
    held: ["test/unit/upstream/order.test.ts", "give a paid message of the answer's ticker"],
  },
  {
    fact: "a page, and the first answer to a menu's token, show the tickers that still stand, however old",
    by: ["simulator/ticker-bar.ts", "actionsBeside"],
    drawn: SAID,
    held: ["test/relay/reading/tickers.test.ts", "a payment that a page shows only in its ticker"],
  },
  {
    fact: "a reply to a paid message is a text whose button names the thread",
    by: ["action reply"],
    drawn: SAID,
    held: ["test/relay/reading/replies.test.ts", "names the author and the message"],
  },
  {
    fact: "members join, are upgraded, have milestones and give memberships; each sentence has several forms",
    by: ["action membership", "action upgrade", "action milestone", "action gift", "action redemption"],
    drawn: SAID,
    held: ["test/relay/upstream/run-forms.test.ts", "a membership's level"],
  },
  {
    fact: "a gift in jewels is an item, a widget or both under two ids; a raised combo is more money",
    by: ["action jewels"],
    drawn: SAID,
    held: ["test/relay/upstream/jewels-ledger.test.ts", "the sum over all combos equals the ledger's"],
  },
  {
    fact: "donations, changes of the chat's mode and notices are items of the upstream's own",
    by: ["action donation", "action mode", "action engagement"],
    drawn: SAID,
    held: GENERATED_TITLE,
  },
  {
    fact: "messages are deleted one by one or by author, in an older and a newer form",
    by: ["action deletion", "action authorDeletion"],
    drawn: SAID,
    held: [
      "test/relay/reading/author-deletions.test.ts",
      "is deleted again with the first message since then",
    ],
  },
  {
    fact: "an item is replaced by another, or by a placeholder that is filled later or never",
    by: ["action placeholder", "action replacement"],
    drawn: SAID,
    held: ["test/relay/reading/replaced-messages.test.ts", "each new content is sent once"],
  },
  {
    fact: "a poll opens, is counted and closes; its result is a notice",
    by: ["action poll"],
    drawn: SAID,
    held: ["test/relay/upstream/polls.test.ts", "the id changes with the poll's contents"],
  },
  {
    fact: "banners pin a message, a product or questions, sum up the chat, or tell of a raid",
    by: ["action banner", "action raid", "action summary", "action product", "action questions"],
    drawn: SAID,
    held: [
      "test/captured/captured-banners.test.ts",
      "a simulated banner is stackable if the captured one is",
    ],
  },
  {
    fact: "some actions are for the upstream's own page, and new kinds keep coming",
    by: ["action goal", "action tooltip", "action aside", "action unknown"],
    drawn: SAID,
    held: [
      "test/unit/upstream/actions.test.ts",
      "actions that give no message are counted by kind and reason",
    ],
  },

  // Channels
  {
    fact: "/live shows one stream's watch page, or the channel's page with none or with several",
    by: ["channel livePage"],
    drawn: [[LIVE_CHANNEL, "livePage }"]],
    held: [LOOK, "finds the live stream if /live shows a scheduled one, or none because there are several"],
  },
  {
    fact: "the streams tab has an older and a newer layout, in the language of the request",
    by: ["channel layout", "channel language", "channel title"],
    drawn: [[LIVE_CHANNEL, "layout,"]],
    held: ["test/captured/captured-channels.test.ts", "are read like the simulator's "],
  },
  {
    fact: "a channel may not exist, or be closed",
    by: ["channel state"],
    drawn: { not: "nothing of it changes with time" },
    held: [CHANNEL_PAGE, "is gone, or reports an alert"],
  },
  {
    fact: "the streams of a channel start, end and move; its pages fail like others",
    by: ["wall consent", "failure status"],
    drawn: [
      [LIVE_CHANNEL, '"page fails": () =>'],
      [LIVE_CHANNEL, "late: () =>"],
    ],
    held: [LOOK, "continues with one page if the other is a wall, and is a wall if both are"],
  },

  // Not the upstream's
  {
    fact: "tests choose kinds of actions, forget old ones, and play at their own seed, time and ports",
    by: [
      ...([
        "scenario kind",
        "scenario kinds",
        "scenario forget",
        "simulator seed",
        "simulator clock",
      ] as const),
      ...(["simulator ports", "simulator keepRequests", "failure answer"] as const),
    ],
    drawn: TEST_SWITCH,
    held: ["test/simulation/simulation.test.ts", "a seed always plays the same, line by line"],
  },
];
