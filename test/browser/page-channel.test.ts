/** A channel on the pages: its streams, one after the other. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { startSimulator } from "../../simulator/index.ts";
import { addressOf, idsOf, NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import { paidAction, textAction, textItem, texts } from "../support/chat-actions.ts";
import { bannered } from "../support/every-kind.ts";
import { usePages } from "../support/pages.ts";
import { startRelay } from "../support/relay.ts";

const TEXT = { chat: { kinds: ["text"], timeoutMs: 50 } } as const;

describe("a channel on the pages", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1000, height: 700 });
  const statusOf = (page: Page) => page.locator("#status-words").innerText();

  it("is shown by its live stream, and then by the next one alone, on both pages", async () => {
    const { browser } = pages;
    await using relay = await startRelay({ settings: { RELAY_CHANNEL_MS: "1000" } });
    const channel = relay.upstream.channel("@somebody");
    const first = channel.broadcast("live-first1", TEXT);
    first.chat.say(texts("a", 3));
    const both = await Promise.all(
      ["/?channel=@somebody", "/overlay?channel=@somebody"].map(async (path) => {
        const page = await browser.newPage();
        await page.goto(relay.url + path);
        return page;
      }),
    );
    const [page] = both;
    assert.ok(page);
    const has = (id: string) => Promise.all(both.map((each) => each.locator(rowOf(id)).waitFor()));
    await has("a-2");
    assert.equal(await statusOf(page), "Live");
    assert.equal(await page.locator("#open input").inputValue(), "@somebody");
    assert.match(
      (await page.locator("#download a").first().getAttribute("href")) ?? "",
      /videoId=live-first1/,
    );
    first.chat.say([
      paidAction("a-paid", "$50.00"),
      bannered(textItem("a-pinned"), { actionId: "a" }),
      textAction("a-last"),
    ]);
    for (const id of ["a-last", "banner:a"]) await has(id);
    const paid = page.locator("#ticker .paid");
    await paid.waitFor();
    channel.broadcast("live-second", TEXT).chat.say([textAction("b")]);
    first.end("continuations-absent");
    await has("b");
    for (const each of both) assert.deepEqual([await idsOf(each), await idsOf(each, "#pinned")], [["b"], []]);
    assert.equal(await paid.count(), 0);
    await Promise.all(both.map((each) => each.close()));
  });

  it("has a goal that begins again with its next stream", async () => {
    await using relay = await startRelay({ settings: { RELAY_CHANNEL_MS: "1000" } });
    const channel = relay.upstream.channel("@goal");
    const first = channel.broadcast("goal-first1", TEXT);
    first.chat.say([paidAction("a", "$50.00")]);
    await using page = await pages.browser.newPage();
    await page.goto(`${relay.url}/overlay?channel=@goal&view=goal&goal=paid`);
    await page.locator("#goal[data-value='50']").waitFor();
    channel.broadcast("goal-second", TEXT).chat.say([paidAction("b", "$7.00")]);
    first.end("continuations-absent");
    await page.locator("#goal[data-value='7'], #goal[data-value='57']").waitFor();
    assert.equal(await page.locator("#goal").getAttribute("data-value"), "7");
  });

  it("is upcoming before its stream begins, although people already chat, and then live", async () => {
    await using relay = await startRelay({ settings: { RELAY_CHANNEL_MS: "1000" } });
    const startsAt = Math.ceil(Date.now() / 60_000 + 60) * 60_000;
    const stream = relay.upstream.channel("@early").broadcast("early-00001", { ...TEXT, startsAt });
    stream.chat.say([textAction("a")]);
    await using context = await pages.browser.newContext({ timezoneId: "UTC" });
    const page = await context.newPage();
    await page.goto(`${relay.url}/?channel=@early`);
    await page.locator(rowOf("a")).waitFor();
    const style = { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" } as const;
    const begins = new Date(startsAt).toLocaleString("en", style);
    assert.equal(await statusOf(page), `Upcoming, scheduled for ${begins}`);
    const colour = () =>
      page.evaluate<string>("getComputedStyle(document.querySelector('footer > span')).backgroundColor");
    const upcoming = await colour();
    stream.start();
    await until(page, "document.querySelector('#status-words')?.innerText === 'Live'");
    assert.notEqual(await colour(), upcoming);
    await page.evaluate("document.documentElement.dataset.state = 'waiting'");
    assert.equal(await colour(), upcoming);
  });

  it("waits for a stream, and can be opened from the field", async () => {
    const { page, relay } = pages;
    const channel = relay.upstream.channel("@quiet");
    await page.goto(relay.url);
    const setup = async () =>
      new URL(String(await page.locator("#overlay-setup").evaluate((link) => String(link))));
    assert.deepEqual([(await setup()).pathname, (await setup()).search], ["/overlay/setup", ""]);
    await page.locator("#open input").fill("https://www.youtube.com/@quiet/live");
    await page.keyboard.press("Enter");
    await until(
      page,
      "/^Waiting for the next stream/.test(document.querySelector('#status-words')?.innerText)",
    );
    assert.equal((await addressOf(page)).searchParams.get("channel"), "https://www.youtube.com/@quiet/live");
    assert.equal(await page.locator("html").getAttribute("data-state"), "waiting");
    const overlay = await pages.browser.newPage();
    await overlay.goto(`${relay.url}/overlay?channel=@quiet`);
    await overlay.locator("html[data-state=waiting]").waitFor({ state: "attached" });
    await overlay.close();
    assert.deepEqual(channel.listed, []);
    assert.equal((await setup()).searchParams.get("channel"), "https://www.youtube.com/@quiet/live");
    await page.locator("#open input").fill(pages.videoId);
    pages.chat.say([textAction("v")]);
    await page.keyboard.press("Enter");
    await pages.has("v");
    assert.equal(await statusOf(page), "Live chat");
    assert.equal((await addressOf(page)).searchParams.get("channel"), null);
    assert.deepEqual([...(await setup()).searchParams], [["videoId", pages.videoId]]);
  });

  it("is named on one line, without characters that would change the text around it", async () => {
    const { page, relay } = pages;
    relay.upstream.channel("@turned", { title: "a\u202eb\u2066c\nd" });
    await page.goto(`${relay.url}/?channel=@turned`);
    await page.locator("html[data-state=waiting]").waitFor({ state: "attached" });
    assert.equal(await page.locator("#status-words").textContent(), "Waiting for the next stream of abc d.");
  });

  it("is opened from the field as people paste it, and an error shows what nobody sees", async () => {
    const { page, relay } = pages;
    const { channelId } = relay.upstream.channel("@pasted");
    for (const pasted of [
      "\u200b＠Pasted\u200b",
      "<https://www.youtube.com/@pasted>",
      "https://www.youtube.com/user/pasted",
      `https://studio.youtube.com/channel/${channelId}/livestreaming`,
      "https://consent.youtube.com/m?continue=https%3A%2F%2Fwww.youtube.com%2F%40pasted",
    ]) {
      await page.goto(relay.url);
      await page.locator("#open input").fill(pasted);
      await page.keyboard.press("Enter");
      await until(page, "/^Waiting for the next/.test(document.querySelector('#status-words')?.innerText)");
    }
    pages.chat.say([textAction("v")]);
    for (const pasted of [`<https://youtu.be/${pages.videoId}&t=5>`, `\u202a${pages.videoId}\u202c`]) {
      await page.goto(relay.url);
      await page.locator("#open input").fill(pasted);
      await page.keyboard.press("Enter");
      await pages.has("v");
      await page.goto(`${relay.url}/overlay?backfill=50&videoId=${encodeURIComponent(pasted)}`);
      await pages.has("v");
    }
    await page.goto(relay.url);
    await page.locator("#open input").fill("pag\u200be-00001");
    await page.keyboard.press("Enter");
    await page.locator("#retry").waitFor();
    assert.match(await statusOf(page), /contains an invisible character: “pagU\+200Be-00001”/);
  });

  it("is opened by its handle without @, and a name that is none asks whether one was meant", async () => {
    const { page, relay } = pages;
    relay.upstream.channel("@lofigirl");
    await page.goto(relay.url);
    await page.locator("#open input").fill("LofiGirl");
    await page.keyboard.press("Enter");
    await until(page, "/^Waiting for the next/.test(document.querySelector('#status-words')?.innerText)");
    assert.equal((await addressOf(page)).searchParams.get("channel"), "@LofiGirl");
    await page.goto(`${relay.url}/?videoId=Lofi+Girl`);
    await page.locator("#retry").waitFor();
    const words = await statusOf(page);
    assert.match(
      words,
      /^This chat cannot be shown\. videoId contains a space: “Lofi Girl”\. .* Did you mean @LofiGirl\?$/s,
    );
    assert.doesNotMatch(words, /channel=|\/v1\//);
    await page.locator("#status a").click();
    await until(page, "/^Waiting for the next/.test(document.querySelector('#status-words')?.innerText)");
  });

  it("is opened again from the field after a failure", async () => {
    const { page, relay } = pages;
    relay.upstream.channel("@again");
    const body = JSON.stringify({ code: "NOT_FOUND", message: "No." });
    const refusal = { status: 404, contentType: "application/json", body };
    await page.route(/v1.stream/, (route) => route.fulfill(refusal), { times: 1 });
    await page.goto(`${relay.url}/?channel=@again`);
    await pages.stateIs("failed");
    await page.locator("#open").getByRole("button").click();
    await pages.stateIs("waiting");
  });

  for (const [query, words] of [
    ["channel=@nobody-here", /^There is no channel @nobody-here on YouTube\. It tries again at [\d:]+\.$/],
    ["channel=@no body", /^This chat cannot be shown\. channel has a handle that is not 1 to 30 letters/],
    ["videoId=nonsense", /^This chat cannot be shown\. videoId is neither a video id of 11 characters/],
    ["videoId=@somebody", /videoId is a channel, not a video: open it alone, or use the URL/],
    ["videoIds=demo-stream,@somebody", /“@somebody” is a channel, not a video: open it alone, or/],
  ] as const)
    it(`says plainly why it cannot open ${query}`, async () => {
      const { page, relay } = pages;
      await page.goto(`${relay.url}/?${query}`);
      await page.locator("#retry").waitFor();
      assert.match(await statusOf(page), words);
    });

  it("cannot be reached without the internet: the viewer page says so, the overlay shows nothing", async () => {
    const { browser } = pages;
    const upstream = await startSimulator();
    await upstream[Symbol.asyncDispose](); // as if the line was cut
    await using relay = await startRelay({ upstream });
    await using context = await browser.newContext();
    const page = await context.newPage();
    for (const source of [`videoId=${pages.videoId}`, "channel=@somebody"]) {
      await page.goto(`${relay.url}/?${source}`);
      await until(page, "/cannot be reached/.test(document.querySelector('#status-words')?.innerText)");

      assert.doesNotMatch(await statusOf(page), /^Connecting/);
      const answered = page.waitForResponse(/v1.stream/);
      await page.goto(`${relay.url}/overlay?${source}`);
      await answered;
      await page.evaluate(
        "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))",
      );
      assert.equal(await page.locator("body").innerText(), "");
    }
  });
});
