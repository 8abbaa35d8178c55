/** The forms of captures that `import` reads, each served as a live chat or a replay. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { gzipSync } from "node:zlib";
import { asReplay } from "../../simulator/replay.ts";
import type { Details } from "../../src/protocol/kinds.ts";
import { deletionOf, paidAction, textAction } from "../support/chat-actions.ts";
import { outcome } from "../support/command.ts";
import { startRelay } from "../support/relay.ts";
import { temporaryFile } from "../support/store-subject.ts";
import { Stream } from "../support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
/** 2026-11-20T20:17:31Z, in microseconds. */
const USEC = Date.parse("2026-11-20T20:17:31Z") * 1000;
const MINUTE = 60_000_000;

/** The action with another time. */
const at = (usec: number, action: object): object =>
  JSON.parse(JSON.stringify(action).replace(/"timestampUsec":"\d+"/, `"timestampUsec":"${usec}"`));

/** The lines that yt-dlp writes of a live chat. An action without a time has the offset of the one before. */
const CAPTURED_LIVE = [
  ["0", at(USEC, textAction("one"))],
  ["60000", at(USEC + MINUTE, paidAction("two", "KWD\u00a01.234"))],
  ["60000", deletionOf("one")],
  ["120000", at(USEC + 2 * MINUTE, textAction("three"))],
].map(([videoOffsetTimeMsec, action]) =>
  JSON.stringify({ replayChatItemAction: { actions: [action] }, videoOffsetTimeMsec, isLive: true }),
);

/** Items of chat-downloader, as it writes them while a chat is live. */
const author = {
  id: "UCines",
  name: "@ines",
  images: [
    { id: "source", url: "https://yt4.ggpht.com/ines" },
    { id: "32x32", url: "https://yt4.ggpht.com/ines=s32", width: 32, height: 32 },
    { id: "64x64", url: "https://yt4.ggpht.com/ines=s64", width: 64, height: 64 },
  ],
  badges: [
    { icon_name: "moderator", title: "Moderator" },
    { title: "Member (6 months)", icons: [{ id: "source", url: "https://yt3.ggpht.com/badge" }] },
  ],
};
const add = { action_type: "add_chat_item", author };
const DOWNLOADED = [
  {
    ...add,
    message_id: "d1",
    message_type: "text_message",
    timestamp: USEC,
    message: 'see "[1]" {:_cup::smile: \\ https://example.org/a',
    emotes: [
      { id: "UCx/1", name: ":_cup:", shortcuts: [":_cup:"], is_custom_emoji: true, images: author.images },
      { id: "😀", name: ":smile:", shortcuts: [":smile:"], is_custom_emoji: false, images: [] },
    ],
  },
  {
    ...add,
    message_id: "d2",
    message_type: "paid_message",
    timestamp: USEC + MINUTE,
    message: null,
    money: { amount: 5, currency: "USD", currency_symbol: "$", text: "$5.00" },
    body_background_colour: "#1de9b6ff",
    header_background_colour: "#00bfa5ff",
  },
  {
    ...add,
    message_id: "d3",
    message_type: "membership_item",
    timestamp: USEC + MINUTE,
    message: "hooray",
    header_primary_text: "Member for 6 months",
    header_secondary_text: "Crew",
  },
  {
    ...add,
    message_id: "d4",
    message_type: "sponsorships_gift_purchase_announcement",
    timestamp: USEC + MINUTE,
    message: "Sent 5 Relay gift memberships",
  },
  {
    action_type: "mark_chat_item_as_deleted",
    message_type: "deleted_message",
    target_message_id: "d1",
    message: "[message deleted]",
  },
  {
    action_type: "mark_chat_items_by_author_as_deleted",
    message_type: "ban_user",
    author: { id: "UCines" },
    message: "[deleted]",
  },
  { action_type: "add_banner_to_live_chat", message_type: "live_chat_banner", message: "pinned" },
  { ...add, message_id: "d5", message_type: "text_message", timestamp: USEC + 2 * MINUTE, message: "bye" },
];
/** The same as of a replay. */
const DOWNLOADED_REPLAY = DOWNLOADED.map((item, n) => ({
  ...item,
  time_in_seconds: n * 30.5 - 12,
  time_text: n === 0 ? "-0:12" : `0:${10 + n}`,
}));

/** Imports a file of this name, and reads the room from a service: its type, its messages and its CSV. */
async function served(t: TestContext, name: string, content: string | Buffer) {
  const store = await temporaryFile(t);
  const path = join(dirname(store), name);
  await writeFile(path, content);
  const { code, error } = await outcome(["import", path, "--store", `sqlite:${store}`]);
  assert.equal(code, 0, error);
  await using relay = await startRelay({
    settings: { RELAY_STORE: `sqlite:${store}`, RELAY_RETENTION_DAYS: "0" },
  });
  await using viewer = await Stream.open(relay.url, { videoId: VIDEO, lastEventId: 0, details: true });
  await viewer.ended();
  const messages = viewer.messages.map(({ message: { details, ...fields } }) => {
    return { ...fields, details: details as Details };
  });
  const csv = await (await fetch(`${relay.url}/v1/messages?videoId=${VIDEO}&format=csv`)).text();
  assert.deepEqual(relay.upstream.requests, []);
  return { error, chatType: viewer.init.chatType, messages, csv };
}

const indented = (items: object[]) => JSON.stringify(items, null, 4);

describe("a capture", () => {
  for (const [form, name, content] of [
    ["as JSON lines", `A [${VIDEO}].live_chat.json`, CAPTURED_LIVE.join("\n")],
    ["compressed", `A [${VIDEO}].live_chat.json.gz`, gzipSync(CAPTURED_LIVE.join("\n"))],
  ] as const)
    it(`that yt-dlp made while the chat was live is a live chat: ${form}`, async (t) => {
      const { error, chatType, messages, csv } = await served(t, name, content);
      assert.match(error, /: 4 new messages\n$/);
      assert.equal(chatType, "liveChatRenderer");
      assert.deepEqual(
        messages.map(({ id, timestamp, details }) => [
          id,
          timestamp,
          details?.publishedAt,
          details?.offsetMs,
        ]),
        [
          ["one", "8:17 PM", "2026-11-20T20:17:31.000000Z", undefined],
          ["two", "8:18 PM", "2026-11-20T20:18:31.000000Z", undefined],
          ["deleted:one", "8:18 PM", undefined, undefined],
          ["three", "8:19 PM", "2026-11-20T20:19:31.000000Z", undefined],
        ],
      );
      // The language of the capture is not known: the point may also separate thousands.
      assert.deepEqual(messages[1]?.details?.amount, { value: null, currency: "KWD" });
      assert.match(csv, /\r\n\d+,chat,three,8:19 PM,2026-11-20T20:19:31\.000000Z,,@somebody,/);
    });

  it("of a replay is a replay, also if it is compressed", async (t) => {
    const actions = [textAction("one"), textAction("two")];
    const lines = asReplay(actions.map((action, n) => ({ action, offsetMs: 5000 * n }))).map((one) =>
      JSON.stringify(one),
    );
    const { chatType, messages } = await served(t, `${VIDEO}.json.gz`, gzipSync(lines.join("\n")));
    assert.equal(chatType, "liveChatReplayRenderer");
    assert.deepEqual(
      messages.map(({ id, timestamp, details }) => [id, timestamp, details?.offsetMs]),
      [
        ["one", "0:00", 0],
        ["two", "0:05", 5000],
      ],
    );
  });

  it("that was exported is the chat that it was", async (t) => {
    const fields = { author: "@a", message: "x", amount: "", color: "", parts: [], type: "chat" };
    const line = (id: string, timestamp: string, details: object) =>
      JSON.stringify({ cursor: 1, ...fields, id, timestamp, details });
    const live = [
      line("one", "8:17 PM", { publishedAt: "2026-11-20T20:17:31.000000Z" }),
      line("two", "8:17 PM", {}),
    ];
    assert.equal((await served(t, `${VIDEO}.jsonl`, live.join("\n"))).chatType, "liveChatRenderer");
    const replay = [
      line("one", "0:01", { publishedAt: "2026-11-20T20:17:31.000000Z", offsetMs: 1000 }),
      line("two", "0:01", {}),
    ];
    const { chatType } = await served(t, `${VIDEO}.jsonl.gz`, gzipSync(replay.join("\n")));
    assert.equal(chatType, "liveChatReplayRenderer");
  });
});

describe("a capture of chat-downloader", () => {
  const expected = [
    ["chat", "d1"],
    ["superchat", "d2"],
    ["milestone", "d3"],
    ["gift", "d4"],
    ["deleted", "deleted:d1"],
    ["author_deleted", "author_deleted:UCines"],
    ["chat", "d5"],
  ];

  for (const [form, name, content] of [
    ["as an array", `${VIDEO}.json`, indented(DOWNLOADED)],
    ["as an array on one line", `${VIDEO}.json`, `\ufeff ${JSON.stringify(DOWNLOADED)}`],
    ["as JSON lines", `${VIDEO}.jsonl`, DOWNLOADED.map((item) => JSON.stringify(item)).join("\n")],
    ["compressed", `${VIDEO}.json.gz`, gzipSync(indented(DOWNLOADED))],
  ] as const)
    it(`that was made while the chat was live is a live chat: ${form}`, async (t) => {
      const { error, chatType, messages } = await served(t, name, content);
      assert.match(error, /: 7 new messages; left out: 1 line, damaged or of unknown kinds\n$/);
      assert.equal(chatType, "liveChatRenderer");
      assert.deepEqual(
        messages.map(({ type, id }) => [type, id]),
        expected,
      );
      assert.deepEqual(
        messages.map(({ timestamp }) => timestamp),
        ["8:17 PM", "8:18 PM", "8:18 PM", "8:18 PM", "8:18 PM", "8:18 PM", "8:19 PM"],
      );
      assert.ok(messages.every(({ details }) => details?.offsetMs === undefined));
      const [text, paid, milestone, gift] = messages;
      assert.deepEqual(text?.parts, [
        { kind: "text", text: 'see "[1]" {' },
        { kind: "emoji", text: ":_cup:", url: "https://yt4.ggpht.com/ines=s64", custom: true },
        { kind: "emoji", text: "😀", custom: false },
        { kind: "text", text: " \\ https://example.org/a" },
      ]);
      const { badges, authorId, authorPhoto, publishedAt } = text?.details ?? {};
      assert.deepEqual(
        [text?.author, authorId, authorPhoto, publishedAt],
        ["@ines", "UCines", "https://yt4.ggpht.com/ines=s64", "2026-11-20T20:17:31.000000Z"],
      );
      assert.deepEqual(badges, [
        { kind: "moderator", label: "Moderator" },
        { kind: "member", label: "Member (6 months)", url: "https://yt3.ggpht.com/badge" },
      ]);
      assert.deepEqual([paid?.amount, paid?.color, paid?.message], ["$5.00", "#1de9b6", ""]);
      assert.partialDeepStrictEqual(paid?.details, { amount: { value: 5, currency: "USD" }, tier: 3 });
      assert.equal(milestone?.message, "hooray");
      assert.partialDeepStrictEqual(milestone?.details, {
        header: "Member for 6 months",
        months: 6,
        level: "Crew",
      });
      assert.deepEqual([gift?.author, gift?.message], ["@ines", "Sent 5 Relay gift memberships"]);
      assert.deepEqual(gift?.details?.gift, { count: 5 });
    });

  it("of a replay is a replay", async (t) => {
    const { chatType, messages, csv } = await served(t, `${VIDEO}.json`, indented(DOWNLOADED_REPLAY));
    assert.equal(chatType, "liveChatReplayRenderer");
    assert.deepEqual(
      messages.map(({ type, id }) => [type, id]),
      expected,
    );
    assert.deepEqual(
      messages.map(({ timestamp, details }) => [timestamp, details?.offsetMs]),
      [
        ["-0:12", -12_000],
        ["0:11", 18_500],
        ["0:12", 49_000],
        ["0:13", 79_500],
        ["1:50", 110_000],
        ["2:20", 140_500],
        ["0:17", 201_500],
      ],
    );
    assert.match(csv, /,chat,d1,-0:12,2026-11-20T20:17:31\.000000Z,-12000,@ines,/);
  });

  it("continues where it had ended, and leaves out an item that is cut off", async (t) => {
    const store = await temporaryFile(t);
    const path = join(dirname(store), `${VIDEO}.json`);
    const whole = indented(DOWNLOADED);
    const importing = () => outcome(["import", path, "--store", `sqlite:${store}`]);
    await writeFile(path, whole.slice(0, whole.indexOf('"d3"')));
    assert.match((await importing()).error, /: 2 new messages\n$/);
    await writeFile(path, whole);
    assert.match((await importing()).error, /: 5 new messages; left out: 1 line/);
  });

  it("that is damaged is refused in one line", async (t) => {
    const store = await temporaryFile(t);
    const path = join(dirname(store), `${VIDEO}.json.gz`);
    for (const [content, why] of [
      ["not compressed", /cannot be read: it is not a complete gzip file: get it again.* \(Z_DATA_ERROR\)$/m],
      [
        gzipSync(`{"a":"${"x".repeat(9000)}`).subarray(0, 30),
        /cannot be read: it is not a complete gzip file: .* \(Z_BUF_ERROR\)$/m,
      ],
      [gzipSync("[{}]"), /is not a captured chat: give a .*chat-downloader/],
      [
        gzipSync(`[{"a":"${"x".repeat(17_000_000)}`),
        /cannot be read: it has an element of more than 16 million/,
      ],
    ] as const) {
      await writeFile(path, content);
      const { code, error } = await outcome(["import", path, "--store", `sqlite:${store}`]);
      assert.deepEqual([code, error.split("\n").length], [1, 2]);
      assert.match(error, why);
    }
  });
});
