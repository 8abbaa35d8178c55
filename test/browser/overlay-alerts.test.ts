/** What an alert has besides its card, which alerts there are, and the goal. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { ask } from "../support/api.ts";
import { violationsIn } from "../support/axe.ts";
import { NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import { authorDeletionOf, deletionOf, paidAction, textAction } from "../support/chat-actions.ts";
import { adding, COMMON, PAID } from "../support/chat-items.ts";
import { eventually } from "../support/eventually.ts";
import { NOTE_ROWS, usePages } from "../support/pages.ts";

/** In the page: notes sounds and speech in `played` and `spoken`. A voice ends as `endSpeech` is called. */
const NOTE_EFFECTS = `
  window.played = [];
  window.spoken = [];
  HTMLMediaElement.prototype.play = function () {
    played.push([this.src, this.volume]);
    return Promise.resolve();
  };
  const voices = location.search.includes("mute-browser") ? [] : [{}];
  Object.defineProperty(window, "speechSynthesis", { value: {
    getVoices: () => voices,
    cancel: () => spoken.push("cancelled"),
    speak: (utterance) => {
      spoken.push(utterance.text);
      window.endSpeech = () => utterance.onend({});
    },
  } });`;

/** A Super Chat with the colours of a tier: 1 (blue) or 7 (red). */
const tiered = (id: string, tier: 1 | 7, amount: string) =>
  adding({
    liveChatPaidMessageRenderer: {
      ...PAID.liveChatPaidMessageRenderer,
      id,
      timestampUsec: String(Date.now() * 1000),
      purchaseAmountText: { simpleText: amount },
      headerBackgroundColor: tier === 1 ? 0xff1565c0 : 0xffd00000,
      bodyBackgroundColor: tier === 1 ? 0xff1e88e5 : 0xffe62117,
    },
  });
const membership = (id: string, at = Date.now()) =>
  adding({
    liveChatMembershipItemRenderer: {
      ...COMMON,
      id,
      timestampUsec: String(at * 1000),
      headerSubtext: { runs: [{ text: "Welcome to Crew!" }] },
    },
  });

describe("alerts of the overlay", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/overlay", { width: 600, height: 400 });
  const { evaluate, has, stateIs } = pages;
  before(() => pages.page.addInitScript(NOTE_ROWS));
  /** Resolves once the row was in the document. One that is held for less than a look takes may have gone. */
  const hadRow = (id: string) => until(pages.page, `noted.some((ids) => ids.split("+").includes("${id}"))`);
  const open = async (query: string) => {
    await pages.page.addInitScript(NOTE_EFFECTS);
    await pages.visit(query);
    await stateIs("open");
  };

  it("play a sound, by a URL or of our own, at the volume; and none by default", async () => {
    const { chat } = pages;
    await open("&view=alerts&hold=0.2");
    chat.say([paidAction("none", "$5.00")]);
    await hadRow("none");
    assert.deepEqual(await evaluate("played"), []);
    await open("&view=alerts&hold=0.2&sound=https://sounds.example/a.mp3&volume=30");
    chat.say([paidAction("file", "$5.00")]);
    await hadRow("file");
    assert.deepEqual(await evaluate("played"), [["https://sounds.example/a.mp3", 0.3]]);
    await open("&view=alerts&hold=0.2&sound=on");
    chat.say([paidAction("own", "$5.00")]);
    await hadRow("own");
    const [[source, volume] = ["", 0]] = await evaluate<[string, number][]>("played");
    assert.equal(volume, 0.5);
    assert.match(source, /^data:audio\/wav/);
    const seconds = evaluate(`new Promise((resolve, reject) => {
      const audio = new Audio(played[0][0]);
      audio.onloadedmetadata = () => resolve(audio.duration);
      audio.onerror = () => reject(new Error("not audio"));
    })`);
    assert.ok(Number(await seconds) > 0.3);
  });

  it("are read aloud from an amount on unless deleted before, and stay while they are read", async () => {
    const { page, chat } = pages;
    await page.clock.install();
    await open("&view=alerts&hold=0.2&speech=paid&speechFrom=5USD");
    chat.say([
      paidAction("first", "$5.00", { author: "@ann", text: "see https://example.org/long" }),
      paidAction("gone", "$50.00"),
    ]);
    await has("first");
    chat.say([
      deletionOf("gone"),
      paidAction("little", "$4.99"),
      paidAction("euros", "€50.00"),
      membership("member"),
      paidAction("last", "$6.00", { author: "@bob", text: "bye" }),
    ]);
    await until(page, "spoken.length === 1");
    await page.clock.fastForward(800); // four times as long as it is held
    assert.equal(await page.locator(`${rowOf("first")}:not([data-fading])`).count(), 1);
    await evaluate("endSpeech()");
    await has("last");
    assert.deepEqual(await evaluate("spoken"), ["ann, $5.00: see link", "bob, $6.00: bye"]);
    chat.say([deletionOf("last")]);
    await until(page, `!document.querySelector('${rowOf("last")}')`);
    assert.equal(await evaluate("spoken.at(-1)"), "cancelled");
  });

  it("stay silent where the browser has no voice, and say so in the console", async () => {
    const { page, chat } = pages;
    const warnings: string[] = [];
    page.on("console", (message) => warnings.push(message.text()));
    await open("&view=alerts&hold=0.2&speech=all&mute-browser");
    chat.say([membership("member"), paidAction("paid", "$5.00")]);
    await hadRow("paid");
    assert.deepEqual(await evaluate("spoken"), []);
    assert.equal(warnings.filter((text) => text.startsWith("speech: ")).length, 1);
  });

  it("have a picture, a look by tier, and a long text that is cut", async () => {
    const { page, chat } = pages;
    const picture = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E";
    await page.emulateMedia({ reducedMotion: "reduce" }); // axe judges no row that enters
    await open(`&view=alerts&hold=60&picture=${encodeURIComponent(picture)}`);
    chat.say([paidAction("long", "$5.00", { text: "many words of one message ".repeat(60) })]);
    await page.locator(`${rowOf("long")} .alert-picture`).waitFor();
    assert.deepEqual(await violationsIn(page), []);
    await page.emulateMedia({ reducedMotion: "no-preference" });
    for (const height of [200, 300, 400, 800]) {
      await page.setViewportSize({ width: 600, height });
      const { bottom, right } = await evaluate<{ bottom: number; right: number }>(
        `document.querySelector('${rowOf("long")}').getBoundingClientRect().toJSON()`,
      );
      assert.ok(bottom <= height && right <= 600, `${bottom} of ${height}`);
      const isCut = `(({ scrollHeight, clientHeight }) => scrollHeight > clientHeight)(document.querySelector("[data-field=message]"))`;
      assert.equal(await evaluate(isCut), true, "it ends in …");
    }
    await page.setViewportSize({ width: 600, height: 400 });
  });

  it("cut a very long name after two lines, so that the amount is seen", async () => {
    const { page, chat } = pages;
    await page.setViewportSize({ width: 320, height: 600 });
    await open("&view=alerts&hold=60");
    chat.say([
      paidAction("named", "€123,456,789,012.00", { author: `@${"n".repeat(90)}`, text: "w ".repeat(300) }),
    ]);
    await has("named");
    const [name = 0, line = 1, amount = 0, card = 0] = await evaluate<number[]>(`(() => {
      const [author, amount] = ["author", "amount"].map((field) => document.querySelector("[data-field=" + field + "]"));
      const bottomOf = (each) => each.getBoundingClientRect().bottom;
      return [author.clientHeight, parseFloat(getComputedStyle(author).lineHeight), bottomOf(amount), bottomOf(document.querySelector(".row"))];
    })()`);
    assert.equal(Math.round(name / line), 2);
    assert.ok(amount < card);
    await page.setViewportSize({ width: 600, height: 400 });
  });

  it("leave out payments below a tier or an amount, here and in the chat", async () => {
    const { chat } = pages;
    for (const query of ["&view=alerts&hold=600&types=paid&minTier=2", "&minTier=2", "&minAmount=20USD"]) {
      await open(`${query}&backfill=0`);
      const id = (name: string) => `${name}${query}`;
      chat.say([
        tiered(id("blue"), 1, "$2.00"),
        tiered(id("euros"), 1, "€500.00"),
        membership(id("member")),
        textAction(id("text")),
        tiered(id("red"), 7, "$500.00"),
      ]);
      await has(id("red"));
      assert.equal(await pages.page.locator(rowOf(id("blue"))).count(), 0);
      assert.equal(await pages.page.locator(rowOf(id("euros"))).count(), 0);
      if (!query.includes("view")) {
        await has(id("member"));
        await has(id("text"));
      }
    }
  });
});

describe("the goal of the overlay", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/overlay", { width: 600, height: 400 });
  const goalIs = (value: number) => pages.page.locator(`#goal[data-value="${value}"]`).waitFor();

  it("counts members, given ones too, before it was opened and after, once each over a reconnect", async () => {
    const { chat, page, visit } = pages;
    const gift = (id: string) =>
      adding({
        liveChatSponsorshipsGiftPurchaseAnnouncementRenderer: {
          id,
          timestampUsec: String(Date.now() * 1000),
          authorExternalChannelId: "UCgiver",
          header: {
            liveChatSponsorshipsHeaderRenderer: {
              authorName: { simpleText: "@giver" },
              primaryText: { runs: [{ text: "Sent 5 Crew gift memberships" }] },
            },
          },
        },
      });
    chat.say([membership("a"), gift("g"), paidAction("p", "$5.00"), textAction("t")]);
    await visit("&view=goal&target=8&title=Crew");
    await goalIs(6);
    chat.say([membership("b"), membership("c"), membership("d")]);
    await goalIs(9);
    const bar = page.getByRole("progressbar", { name: "Crew" });
    assert.equal(await bar.getAttribute("aria-valuenow"), "8");
    assert.equal(await bar.getAttribute("data-target"), "8");
    assert.equal(await bar.innerText(), "Crew\n9 / 8");
    await page.reload();
    await goalIs(9);
  });

  it("counts from the begin of the broadcast, where it is known, unless a time is given", async () => {
    const { page, relay } = pages;
    const chat = { foundOn: "watch", timeoutMs: 50 } as const;
    const broadcast = relay.upstream.channel("@goal").broadcast("goal-begun1", { chat });
    broadcast.chat.say([membership("before", Date.now() - 3_600_000), membership("after")]);
    const open = (query = "") =>
      page.goto(`${relay.url}/overlay?videoId=${broadcast.videoId}&view=goal${query}`);
    await open();
    await eventually(true, async () => {
      const { body } = await ask<{ startedAt?: string }>(relay.url, `/v1/rooms/${broadcast.videoId}`);
      return body.startedAt !== undefined;
    });
    await open();
    await goalIs(1);
    await open("&since=2026-01-01T00:00Z");
    await goalIs(2);
    await open();
    await goalIs(1);
    broadcast.chat.say([membership("later")]);
    await goalIs(2);
    broadcast.end("continuations-absent");
  });

  it("sums payments in one currency since a moment, without deleted ones", async () => {
    const { chat, page, visit } = pages;
    const { liveChatPaidMessageRenderer: item } = PAID;
    const old = {
      ...item,
      id: "old",
      timestampUsec: "1767323045678901",
      purchaseAmountText: { simpleText: "$70.00" },
    };
    chat.say([
      adding({ liveChatPaidMessageRenderer: old }),
      paidAction("a", "$0.10"),
      paidAction("b", "$0.20", { channel: "UCother" }),
      paidAction("euros", "€5.00"),
      paidAction("early", "$9.00"),
      deletionOf("early"),
      textAction("t"),
    ]);
    await visit("&view=goal&goal=paid&currency=usd&target=100&since=2026-02-01T00:00:00Z");
    await goalIs(0.3);
    assert.equal(await page.locator("#goal").innerText(), "Super Chats\n$0.30 / $100");
    await page.locator("#goal bdi").evaluate((title) => title.append("W".repeat(90)));
    const goal = await page.locator("#goal").evaluate((each) => [each.scrollWidth, each.clientWidth]);
    assert.equal(goal[0], goal[1], "a long word leaves the goal");
    chat.say([paidAction("c", "$10.00"), paidAction("d", "$3.00", { channel: "UCother" })]);
    await goalIs(13.3);
    chat.say([deletionOf("c")]);
    await goalIs(3.3);
    chat.say([authorDeletionOf("UCother")]);
    await goalIs(0.1);
    chat.say([paidAction("again", "$2.00", { channel: "UCother" }), paidAction("f", "$1.00")]);
    await page.locator('#goal[data-value="3.1"], #goal[data-value="1.1"]').waitFor();
    assert.equal(await page.locator("#goal").getAttribute("data-value"), "3.1");
  });

  it("sums in the currency of the first payment if it names none, or one that cannot be used", async () => {
    const { chat, page, visit } = pages;
    const warned: string[] = [];
    page.on("console", (line) => line.type() === "warning" && warned.push(line.text()));
    chat.say([paidAction("euros", "€5.00"), paidAction("dollars", "$9.00")]);
    const unusable = ["x", "EURO", "💰", "12", "E R"];
    for (const currency of ["", ...unusable]) {
      await visit(`&view=goal&goal=paid&currency=${encodeURIComponent(currency)}`);
      await goalIs(5);
    }
    const named = (value: string) => `currency=${value} cannot be used: use three letters such as EUR.`;
    assert.deepEqual(warned, unusable.map(named));
  });
});
