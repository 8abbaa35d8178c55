/** A replay at the pace of its video, or whole. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { violationsIn } from "../support/axe.ts";
import { addressOf, idsOf, NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import { textAction, texts } from "../support/chat-actions.ts";
import { replaying } from "../support/chat-items.ts";
import { eventually } from "../support/eventually.ts";
import { usePages } from "../support/pages.ts";

/** Seconds of the video at which something is said. */
const SAID = [-5, 0, 1, 2, 61, 62, 3600];
const NAMES = SAID.map((seconds) => `at ${seconds}`);

describe("a replay on the viewer page", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1000, height: 600 });
  const ids = () => idsOf(pages.page);
  const shown = async () => (await ids()).join();
  const shows = (count: number) => eventually(NAMES.slice(0, count).join(), shown);
  const seek = () => pages.page.locator("#seek");
  const play = () => pages.page.locator("#play");
  const statusIs = (words: string) =>
    until(pages.page, `document.querySelector("#status-words").textContent === ${JSON.stringify(words)}`);

  const open = async (query: string) => {
    const { chat } = pages;
    chat.change({ kind: "replay" });
    chat.say(SAID.map((seconds, at) => replaying(String(seconds * 1000), textAction(NAMES[at] ?? ""))));
    await pages.visit(query);
  };
  /** Moves the time of the page, once its clock is stopped. */
  const pass = async (seconds: number) => {
    for (let passed = 0; passed < seconds; passed += 1) await pages.page.clock.runFor(1000);
  };

  it("is shown whole, says so, and has no clock, unless the reader chooses it", async () => {
    const { page } = pages;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await open("&t=61");
    await shows(SAID.length);
    await pages.stateIs("ended");
    await statusIs("Replay, whole");
    assert.equal(await seek().count(), 0);
    assert.ok(!asked.some((url) => /video-clock/.test(url)));
    await page.locator("#follow select").selectOption("video");
    await statusIs("Replay, at the video’s time");
    await shows(5);
    assert.equal((await addressOf(page)).searchParams.get("follow"), "video");
    await page.locator("#follow select").selectOption("");
    await shows(SAID.length);
    assert.equal(await seek().count(), 0);
  });

  it("follows the video's time: is paused at first, plays, pauses, and says which", async () => {
    const { page } = pages;
    await page.clock.install();
    await open("&follow=video");
    await statusIs("Replay, at the video’s time");
    await shows(2); // those of before the video began, and of its begin
    await eventually("3600", () => seek().getAttribute("max"));
    assert.equal(await play().getAttribute("aria-pressed"), "false");
    await page.clock.pauseAt(Date.now() + 3_600_000);
    assert.deepEqual(await ids(), NAMES.slice(0, 2));
    await play().click();
    assert.equal(await play().getAttribute("aria-pressed"), "true");
    await pass(1);
    await shows(3);
    await pass(1);
    await shows(4);
    await pass(30);
    assert.equal(await seek().inputValue(), "32");
    await play().click();
    assert.equal(await play().getAttribute("aria-pressed"), "false");
    assert.equal((await addressOf(page)).searchParams.get("t"), "32");
    await pass(60);
    await shows(4);
    assert.equal(await seek().getAttribute("aria-valuetext"), "0:32 of 1:00:00");
    await page.clock.resume();
  });

  it("begins at t, and goes to other places by the keyboard, forwards and backwards", async () => {
    const { page } = pages;
    await open("&follow=video&t=1m1s");
    await shows(5);
    assert.equal(await seek().inputValue(), "61");
    await seek().focus();
    await page.keyboard.press("ArrowRight");
    await shows(6);
    await page.keyboard.press("End");
    await shows(7);
    assert.equal((await addressOf(page)).searchParams.get("t"), "3600");
    await page.keyboard.press("Home");
    await shows(2);
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await shows(4);
    await page.reload();
    await shows(4);
    assert.equal(await seek().inputValue(), "2");
    assert.equal(await page.getByRole("slider", { name: "Place in the video" }).count(), 1);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      assert.deepEqual(await violationsIn(page), [], colorScheme);
    }
  });

  it("plays on over all that is stored, in pages, and stops at the end", async () => {
    const { page, chat } = pages;
    await page.clock.install();
    chat.change({ kind: "replay" });
    chat.say(Array.from({ length: 700 }, (_, at) => replaying(String(at * 100), textAction(`n-${at}`))));
    await pages.visit("&follow=video&t=9h");
    await pages.stateIs("ended");
    await pages.has("n-699");
    await seek().focus();
    await page.keyboard.press("Home");
    await until(page, `!document.querySelector('${rowOf("n-1")}')`);
    await page.clock.pauseAt(Date.now() + 3_600_000);
    await play().click();
    for (let second = 1; second <= 72; second += 1) {
      await page.clock.runFor(1000);
      await pages.has(`n-${Math.min(699, second * 10)}`);
    }
    assert.equal(await play().getAttribute("aria-pressed"), "false");
    assert.deepEqual(
      await ids(),
      Array.from({ length: 500 }, (_, at) => `n-${at + 200}`),
    );
    await page.clock.resume();
  });

  it("is there although its first reads have failed", async () => {
    const { page } = pages;
    await open("");
    await pages.stateIs("ended"); // all is stored: no message will come
    await page.clock.install();
    let failed = 0;
    const fail = () => {
      failed += 1;
      return { status: 503, json: { code: "STORE_UNAVAILABLE", message: "Not now." } };
    };
    // Two reads are one attempt.
    await page.route(/v1\/messages/, (route) => route.fulfill(fail()), { times: 4 });
    await pages.visit("&follow=video&t=61");
    await eventually(NAMES.slice(0, 5).join(), async () => {
      await page.clock.runFor(1000);
      return shown();
    });
    assert.equal(failed, 4);
    await eventually("3600", () => seek().getAttribute("max"));
  });

  it("is nothing for a live chat, which is shown as ever", async () => {
    const { chat } = pages;
    chat.say(texts("live", 3));
    await pages.visit("&follow=video&t=5");
    await pages.has("live-2");
    assert.equal(await seek().count(), 0);
    assert.equal(await pages.page.locator("#follow").isHidden(), true);
    await statusIs("Live chat");
    chat.say(texts("more", 2));
    await pages.has("more-1");
    assert.deepEqual(await ids(), ["live-0", "live-1", "live-2", "more-0", "more-1"]);
  });
});
