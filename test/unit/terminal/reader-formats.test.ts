/**
 * What chats say, as text, JSON lines and CSV: nothing of it drives a terminal or a spreadsheet, nothing is
 * lost.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parse } from "csv-parse/sync";
import { cleanText, jsonLine } from "../../../src/base/sanitised-text.ts";
import { CHAT_TABLE } from "../../../src/serving/history/csv.ts";
import { LinePrinter, plain } from "../../../src/serving/history/line-printer.ts";
import type { ReceivedMessage } from "../../../src/serving/history/received-message.ts";
import { formatFor } from "../../../terminal/reader/export-formats.ts";
import { usesColor } from "../../../terminal/reader/watch-command.ts";

const EVERY_CONTROL = String.fromCharCode(
  ...Array.from({ length: 32 }, (_, code) => code),
  ...Array.from({ length: 33 }, (_, code) => 0x7f + code),
);
const EVERY_OVERRIDE = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069";

function message(fields: Partial<ReceivedMessage> = {}): ReceivedMessage {
  const words = { author: "@ines", message: "hello", amount: "", color: "" };
  const parts = [{ kind: "text" as const, text: "hello" }];
  return { cursor: 7, type: "chat", id: "m1", timestamp: "9:05 PM", ...words, parts, ...fields };
}

describe("text for people", () => {
  const rows: [string, string, string][] = [
    ["words", "hello 👋🏽 שלום", "hello 👋🏽 שלום"],
    ["line breaks", "a\nb\r\nc\rd\u2028e", "a b c d e"],
    ["tabs", "a\tb", "a b"],
    ["escape sequences", "\x1b[31mred\x1b]0;title\x07", "[31mred]0;title"],
    ["8-bit sequences", "\x9b2Jgone", "2Jgone"],
    ["overrides", `abc${EVERY_OVERRIDE}def`, "abcdef"],
  ];
  for (const [what, given, expected] of rows) {
    it(`keeps or cleans ${what}`, () => assert.equal(cleanText(given), expected));
  }

  it("contains no control character, whatever the input", () => {
    assert.match(cleanText(EVERY_CONTROL), /^ *$/);
  });
});

describe("a JSON line", () => {
  it("contains a whole text, but no raw control or override character", () => {
    const text = `${EVERY_CONTROL}${EVERY_OVERRIDE}\u2028\u2029`;
    const line = jsonLine({ text });
    assert.doesNotMatch(line.slice(0, -1), /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u);
    assert.equal(JSON.parse(line).text, text);
  });
});

describe("a line of watch", () => {
  const badges = [
    { kind: "moderator" as const, label: "Moderator" },
    { kind: "member" as const, label: "Member" },
  ];
  const poll = {
    question: "Which?",
    choices: [{ text: "A", percent: 40 }, { text: "B" }],
    state: "open" as const,
  };
  const rows: [string, Partial<ReceivedMessage>, string][] = [
    ["words", {}, "@ines: hello"],
    ["badges", { details: { badges } }, "@ines (moderator, member): hello"],
    ["to whom it replies", { details: { replyTo: { author: "@\x1bdonor" } } }, "@ines to @donor: hello"],
    ["an amount", { type: "superchat", amount: "$5.00" }, "@ines [superchat] $5.00: hello"],
    [
      "a header",
      { type: "milestone", details: { header: "6 months" } },
      "@ines [milestone]: 6 months: hello",
    ],
    ["a poll", { type: "poll", author: "", details: { poll } }, "[poll]: Which? | A 40 % | B (open)"],
    ["no words", { type: "gift", message: "" }, "@ines [gift]"],
    ["a message that is stored blank", { author: "", message: "" }, "(deleted)"],
    [
      "a foreign badge",
      { details: { badges: [{ kind: "\x1b[2Jconstructor" as "member", label: "" }] } },
      "@ines ([2Jconstructor): hello",
    ],
    ["a foreign type", { type: "n\x1bew" as "chat" }, "@ines [new]: hello"],
    [
      "an unknown deletion",
      { type: "deleted", author: "", details: { target: { messageId: "x" } } },
      "[deleted]: message x",
    ],
  ];
  for (const [what, fields, expected] of rows) {
    it(`shows ${what}`, () =>
      assert.equal(new LinePrinter(plain).line(message(fields)), `9:05 PM   ${expected}\n`));
  }

  it("names the author whose messages were deleted", () => {
    const printer = new LinePrinter(plain);
    printer.line(message({ details: { authorId: "UC1" } }));
    const removal = { author: "", message: "" };
    const one = printer.line(
      message({ ...removal, type: "deleted", details: { target: { messageId: "m1" } } }),
    );
    const all = printer.line(
      message({ ...removal, type: "author_deleted", details: { target: { authorId: "UC1" } } }),
    );
    assert.equal(one, "9:05 PM   [deleted]: a message by @ines\n");
    assert.equal(all, "9:05 PM   [author deleted]: all messages by @ines\n");
  });
});

describe("a message that comes after its deletion", () => {
  it("is printed without its words", () => {
    const printer = new LinePrinter(plain);
    const target = { messageId: "m1" };
    printer.line(
      message({ type: "deleted", id: "deleted:m1", author: "", message: "", details: { target } }),
    );
    assert.equal(printer.line(message()), "9:05 PM   @ines: (deleted)\n");
    assert.equal(printer.line(message({ id: "m2" })), "9:05 PM   @ines: hello\n");
  });
});

describe("colour", () => {
  const rows: [Parameters<typeof usesColor>, boolean][] = [
    [["auto", true, {}], true],
    [["auto", false, {}], false],
    [["auto", true, { NO_COLOR: "1" }], false],
    [["auto", true, { NO_COLOR: "" }], true],
    [["auto", true, { TERM: "dumb" }], false],
    [["never", true, {}], false],
    [["always", false, { NO_COLOR: "1", TERM: "dumb" }], true],
  ];
  for (const [args, expected] of rows) {
    it(`is ${expected ? "there" : "absent"} for ${JSON.stringify(args)}`, () => {
      assert.equal(usesColor(...args), expected);
    });
  }
});

describe("CSV", () => {
  const full = message({
    type: "superchat",
    message: 'two\nlines, "quoted"',
    amount: "$5.00",
    color: "#1de9b6",
    details: {
      publishedAt: "2026-11-20T20:17:31.123456Z",
      offsetMs: -1500,
      authorId: "UC1",
      badges: [
        { kind: "owner", label: "" },
        { kind: "verified", label: "" },
      ],
      amount: { value: 5, currency: null },
      tier: 3,
      level: "Gold",
      header: "h",
      target: { messageId: "m0", authorId: "UC0" },
      poll: {
        question: "Which?",
        choices: [{ text: "A", percent: 40 }, { text: "B" }, { text: "C", ratio: 0.004 }],
        votes: 9,
        state: "open",
      },
      gift: { count: 5 },
      jewels: { gift: "Rose", count: 100, combo: 3 },
      months: 6,
      giver: "@giver",
      replyTo: { author: "@donor", messageId: "m2" },
      storedAt: "2026-11-20T20:17:33.000Z",
      gap: { since: "2026-11-20T20:17:31.500Z", until: "2026-11-20T20:17:32.750Z", reason: "down" },
    },
  });

  it("has the promised columns, and another parser reads it back unchanged", () => {
    const [row] = parse(CHAT_TABLE.header + CHAT_TABLE.line(full, false), {
      columns: true,
      record_delimiter: "\r\n",
    });
    assert.deepEqual(row, {
      cursor: "7",
      type: "superchat",
      id: "m1",
      timestamp: "9:05 PM",
      publishedAt: "2026-11-20T20:17:31.123456Z",
      offsetMs: "-1500",
      author: "@ines",
      authorId: "UC1",
      badges: "owner verified",
      message: 'two\nlines, "quoted"',
      amount: "$5.00",
      amountValue: "5",
      amountCurrency: "",
      color: "#1de9b6",
      tier: "3",
      level: "Gold",
      header: "h",
      targetMessageId: "m0",
      targetAuthorId: "UC0",
      pollQuestion: "Which?",
      pollChoices: "A 40 % | B | C <1 %",
      pollVotes: "9",
      pollState: "open",
      giftCount: "5",
      jewelsGift: "Rose",
      jewelsCount: "100",
      jewelsCombo: "3",
      months: "6",
      giver: "@giver",
      replyToAuthor: "@donor",
      replyToMessageId: "m2",
      storedAt: "2026-11-20T20:17:33.000Z",
      gap: "1250",
      reason: "down",
      since: "2026-11-20T20:17:31.500Z",
      until: "2026-11-20T20:17:32.750Z",
    });
  });

  const lineOf = (said: string, raw = false) => CHAT_TABLE.line(message({ author: "", message: said }), raw);
  const saidIn = (said: string, raw = false) => parse(lineOf(said, raw), { record_delimiter: "\r\n" });

  for (const start of ["=", "+", "-", "@", "\t", "\r", "\n", ";", ..."＝＋－＠﹦﹢﹣﹫"]) {
    it(`guards a text that begins with ${JSON.stringify(start)}, unless --raw is given`, () => {
      const said = `${start}1+1`;
      assert.equal(saidIn(said)[0]?.[9], `'${said}`);
      assert.equal(saidIn(said, true)[0]?.[9], said);
    });
  }

  for (const said of ["a;=1;", "a\n=1;", ";=1;", "a\r\n＝1;", 'a; "=1', 'a;"=1;', "a\t-1\tb", "a;;+1;"]) {
    it(`lets no separator begin a formula in ${JSON.stringify(said)}, even if quotes are ignored`, () => {
      const cells = lineOf(said).split(/[;\t\r\n]/);
      assert.deepEqual(
        cells.filter((cell) => /^[" ]*[=+\-@＝]/.test(cell)),
        [],
      );
      assert.equal(saidIn(said, true)[0]?.[9], said);
    });
  }

  it("quotes a text with any character that may end a cell", () => {
    for (const said of ["a,b", "a;b", "a\tb", "a\rb", "a\nb"])
      assert.ok(lineOf(said).includes(`"${said}"`), said);
  });

  it("writes a time before the stream unchanged, and nothing else that begins with -", () => {
    for (const timestamp of ["-0:12", "-1:02:03", "-12:00"]) {
      const [cells] = parse(CHAT_TABLE.line(message({ timestamp }), false), { record_delimiter: "\r\n" });
      assert.equal(cells?.[3], timestamp);
    }
    for (const said of ["-0:12+1", "-0:1", "-:12", "-12", "-0:12\n", "-1:02:03:04"])
      assert.equal(saidIn(said)[0]?.[9], `'${said}`);
  });

  it("writes a handle unchanged, and nothing else that begins with @", () => {
    for (const handle of ["@ines", "@Иван-2", "@a.b_c", "@日本語", "@élan·ü", "@می\u200cخواهم"])
      assert.equal(saidIn(handle)[0]?.[9], handle);
    for (const said of ["@", "@ines hello", "@SUM(1)", "@a+1", "@ines\n"])
      assert.equal(saidIn(said)[0]?.[9], `'${said}`);
  });
});

describe("the format of an export", () => {
  const rows: [Parameters<typeof formatFor>, string][] = [
    [[undefined, ""], "jsonl"],
    [[undefined, "chat.CSV"], "csv"],
    [[undefined, "chat.txt"], "txt"],
    [[undefined, "chats.d/chat"], "jsonl"],
    [["csv", "chat.json"], "csv"],
    [["csv", "chat.jsonl"], "csv"],
  ];
  for (const [args, expected] of rows) {
    it(`is ${expected} for ${args.join(" ") || "nothing"}`, () => {
      assert.equal(formatFor(...args), formatFor(expected as "csv", ""));
    });
  }

  it("is refused if its arguments make no sense", () => {
    assert.throws(() => formatFor(undefined, "chat.json"), /^UsageError: --output: \.json is not a format/);
    for (const path of ["", "chat.jsonl", "chat.txt"])
      assert.throws(() => formatFor(undefined, path, { bom: true }), /^UsageError: --bom is for CSV/);
  });
});
