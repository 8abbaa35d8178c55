/** The pages' lists of authors and words (`hide`, `mark`), and the time of paid messages in a ticker. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Budget, compile } from "../../../web/chat/pattern.ts";
import { readPeople } from "../../../web/chat/people.ts";
import { completed } from "../../../web/chat/shown-message.ts";
import { standsInTickerMs } from "../../../web/chat/ticker-times.ts";
import { workOf } from "../../support/work.ts";

const PATTERNS = [
  ..."a ^a a$ ^a$ (a|b)+c a{2,3}b [a-c]+\\d \\bcat\\b x*y (?:ab)*c [^a-z] a?b?c?$ ^(a+)+$ a|b (|a)b a*?b".split(
    " ",
  ),
  ..."\\w+@\\w+ [\\d-]x b{0}a ^\\s*$ (a|ab)(c|bcd) a.c \\. \\Bb [^\\s]{3} ж+ a{2} a{2,} (a{2}b?){2} [a\\]] \\/ [.] 💥+".split(
    " ",
  ),
];
const TEXTS = [
  ..." a b abc aab aaab cat concat ABC 1 a1 -x aXc abcd c foo@bar ] xxxy Ж 💥💥 a/b .".split(" "),
  ...["", "a cat.", "   ", "\n", "aabaab"],
];

const said = (author: string, message: string, authorId?: string) =>
  completed({ type: "chat", cursor: 1, author, message, details: { authorId } } as never);

describe("a pattern", () => {
  it("matches as JavaScript's own, in any letter case", () => {
    let count = 0;
    for (const pattern of PATTERNS) {
      const own = compile(pattern, new Budget());
      const theirs = new RegExp(pattern, "iu");
      for (const text of TEXTS) {
        assert.equal(own(text), theirs.test(text), `/${pattern}/ in ${JSON.stringify(text)}`);
        count += 1;
      }
    }
    assert.ok(count > 700);
  });

  it("takes a bounded time, whatever it is", () => {
    const text = `${"a".repeat(390)}!`;
    const easy = compile("never there", new Budget());
    const thousand = workOf(() => {
      for (let i = 0; i < 1000; i++) easy(text);
    });
    for (const pattern of ["^(a+)+$", "(a*)*(a*)*b", "(.*.*.*.*.*.*.*.*){1,7}x", "(a|aa)+$", "(x+x+)+y"]) {
      const matches = compile(pattern, new Budget());
      const work = workOf(() => assert.equal(matches(text), false, pattern));
      assert.ok(work < thousand, `${pattern} took ${work} µs, a thousand easy ones ${thousand} µs`);
    }
  });

  for (const pattern of [
    "(",
    "a)",
    "[a",
    "\\1",
    "(?=a)",
    "*a",
    "a{3,1}",
    "\\p{L}",
    "(((a{99}){99}){99})",
    "(((){999}){999}){999}",
    "(a{0}){999}",
    "a{1000}",
    "a{0,1000}",
    "\\",
  ]) {
    it(`is refused if it is invalid: ${pattern}`, () => {
      assert.throws(() => compile(pattern, new Budget()), SyntaxError);
    });
  }
});

describe("a list of authors and words", () => {
  const reported: string[] = [];
  const isNamed = readPeople(
    "NightBot, @mia,UCabc, /free,? money{1,2}y?/,/^!/,@,/(/,,ünal",
    (item) => void reported.push(item),
  );

  it("names authors by name, in any letter case and with or without @, and by channel id", () => {
    for (const author of ["@nightbot", "NightBot", "@Mia", "ÜNAL"])
      assert.ok(isNamed(said(author, "x")), author);
    assert.ok(isNamed(said("@else", "x", "UCabc")));
    for (const author of ["@night", "@mia2", "UCab", ""])
      assert.ok(!isNamed(said(author, "x", "UCx")), author);
  });

  it("looks for patterns in names and texts; a pattern may contain commas", () => {
    assert.ok(isNamed(said("@x", "get FREE, money")));
    assert.ok(isNamed(said("free money", "x")));
    assert.ok(isNamed(said("@x", "!uptime")));
    assert.ok(!isNamed(said("@x", "freedom")));
  });

  it("knows names and patterns in any composed form and width", () => {
    const isNamed = readPeople("émilie,＠İlker,/caf[é]/,/が./,/ﬁn/,/^[à-ý]x/", assert.fail);
    for (const author of ["@E\u0301MILIE", "İlker", "@ilker"]) assert.ok(isNamed(said(author, "x")), author);
    for (const words of ["a CAFE\u0301", "か\u3099き\u3099", "FIN", "ﬁn", "E\u0301x"])
      assert.ok(isNamed(said("@x", words)), words);
    for (const words of ["cafe", "emilie", "が", "Ex"]) assert.ok(!isNamed(said("@x", words)), words);
  });

  it("finds a shortened link by its hidden part, and as it is shown", () => {
    const url = "https://example.org/a/long/path";
    const [shown, parts] = ["example.org/a/lo...", [{ kind: "link", text: "example.org/a/lo...", url }]];
    const linked = completed({ type: "chat", cursor: 1, author: "@x", message: shown, parts } as never);
    for (const list of ["/long.path$/", "/lo\\.{3}/"]) assert.ok(readPeople(list, assert.fail)(linked), list);
  });

  it("takes a full-width bracket for itself", () => {
    const isNamed = readPeople("/（笑/", assert.fail);
    assert.ok(isNamed(said("@x", "(笑)")));
    assert.ok(!isNamed(said("@x", "笑")));
  });

  it("reports invalid items, and is bounded", () => {
    assert.deepEqual(reported, ["@", "/(/"]);
    const many: string[] = [];
    const list = Array.from({ length: 300 }, (_, at) => `/a{${at}}/`).join();
    readPeople(list, (item) => void many.push(item));
    assert.ok(many.length > 250, String(many.length));
  });
});

describe("in a ticker", () => {
  const NOW = Date.parse("2026-07-01T12:00:00Z");
  const paid = (tier: number, details: object = {}) =>
    completed({ type: "superchat", cursor: 1, details: { tier, ...details } } as never);

  it("a Super Chat stays as long as its tier says, and at least for the given time", () => {
    const seconds = [1, 2, 3, 4, 5, 6, 7].map((tier) => standsInTickerMs(paid(tier), NOW, 8000) / 1000);
    assert.deepEqual(seconds, [8, 8, 120, 300, 600, 1800, 3600]);
    const member = completed({ type: "membership", cursor: 1 } as never);
    assert.equal(standsInTickerMs(member, NOW, 8000), 300_000);
  });

  it("the time runs from the message's own time, except in a replay", () => {
    const publishedAt = "2026-07-01T11:59:00.123456Z";
    assert.equal(standsInTickerMs(paid(3, { publishedAt }), NOW, 0), 75_123);
    assert.equal(standsInTickerMs(paid(1, { publishedAt }), NOW, 8000), 0);
    assert.equal(standsInTickerMs(paid(3, { publishedAt, offsetMs: 5 }), NOW, 0), 120_000);
    assert.equal(standsInTickerMs(paid(3, { publishedAt: { toString: 1 } }), NOW, 0), 120_000);
    const ahead = { publishedAt: "2026-07-01T12:01:00Z" };
    assert.equal(standsInTickerMs(paid(3, ahead), NOW, 0), 120_000);
  });
});
