/** What the viewer page says of itself and of the video: on the first page, above the chat, in the tab. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ask } from "../support/api.ts";
import { violationsIn } from "../support/axe.ts";
import { NO_CHROMIUM, until } from "../support/browser.ts";
import { texts } from "../support/chat-actions.ts";
import { eventually } from "../support/eventually.ts";
import { usePages } from "../support/pages.ts";

describe("the first page", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1280, height: 720 });

  for (const [width, height] of [
    [1280, 720],
    [320, 640],
  ] as const)
    it(`has nothing to filter without a chat, and all else, at ${width} px`, async () => {
      const { page, relay } = pages;
      await page.setViewportSize({ width, height });
      await page.goto(relay.url);
      await pages.stateIs("idle");
      const isSeen = (selector: string) => page.locator(selector).first().isVisible();
      for (const selector of ["#filters", "#filters-toggle", "#tab-stats"])
        assert.equal(await isSeen(selector), false, selector);
      for (const selector of ["#about", "#looks summary", "#overlay-setup", "#open input"])
        assert.equal(await isSeen(selector), true, selector);
      assert.ok(await pages.evaluate("document.documentElement.scrollWidth <= innerWidth"));
      assert.equal(await page.title(), "Live chat");
      await pages.visit();
      await pages.stateIs("open");
      assert.equal(await isSeen(width === 320 ? "#filters-toggle" : "#filters"), true);
      await page.goBack();
      await pages.stateIs("idle");
      assert.equal(await isSeen("#filters"), false);
    });
});

describe("a page that does not exist", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 320, height: 640 });

  it("says so by day and night, and leads home", async () => {
    const { page, relay } = pages;
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const response = await page.goto(`${relay.url}/no/such/page`);
      assert.equal(response?.status(), 404);
      assert.deepEqual(await violationsIn(page), [], colorScheme);
      assert.ok(await pages.evaluate("document.documentElement.scrollWidth <= innerWidth"));
    }
    await page.getByRole("link").click();
    await pages.stateIs("idle");
    assert.equal(page.url(), `${relay.url}/`);
  });
});

describe("the line of the video", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1280, height: 720 }, { page: 20 });

  let videos = 0;

  /** Visits the live broadcast of a channel. Returns the pictures of the upstream that the page asks for. */
  async function visit(
    title: string,
    name: string,
    query = "",
    foundOn: "watch" | "popout" = "watch",
  ): Promise<{ id: string; channelId: string; pictures: string[] }> {
    const { page, relay } = pages;
    videos += 1;
    const id = `titled-${String(videos).padStart(4, "0")}`;
    const pictures: string[] = [];
    page.on(
      "request",
      (request) => request.url().includes(id) && /ytimg/.test(request.url()) && pictures.push(request.url()),
    );
    const channel = relay.upstream.channel(`@titled${videos}`, { title: name });
    const { chat } = channel.broadcast(id, { title, chat: { page: 20, timeoutMs: 50, foundOn } });
    chat.say(texts("a", 20));
    await page.goto(`${relay.url}/?videoId=${id}${query}`);
    await pages.has("a-19");
    return { id, channelId: channel.channelId, pictures };
  }

  it("has title and channel, each with a link, and the browser's tab begins with the title", async () => {
    const { id, channelId } = await visit("lofi hip hop radio", "Lofi Girl");
    const { page } = pages;
    const line = page.locator("#video");
    await line.waitFor();
    assert.equal(await line.getAttribute("data-video-id"), id);
    assert.deepEqual(
      await pages.evaluate(
        "[...document.querySelectorAll('#video a')].map(({ href, textContent, target, rel }) => [href, textContent, target, rel])",
      ),
      [
        [`https://www.youtube.com/watch?v=${id}`, "lofi hip hop radio"],
        [`https://www.youtube.com/channel/${channelId}`, "Lofi Girl"],
      ].map((link) => [...link, "_blank", "noopener noreferrer nofollow ugc"]),
    );
    assert.equal(await page.title(), "lofi hip hop radio · Live chat");
    await page.fill("#open input[name=videoId]", "other-video");
    await page.press("#open input[name=videoId]", "Enter");
    await line.waitFor({ state: "hidden" });
    assert.equal(await page.title(), "other-video · Live chat");
  });

  it("is absent while the title is not known, and the tab has the id", async () => {
    const { page, videoId, chat } = pages;
    chat.say(texts("a", 2));
    await pages.visit();
    await pages.stateIs("open");
    assert.equal(await page.locator("#video").isHidden(), true);
    assert.equal(await page.title(), `${videoId} · Live chat`);
    await page.goto(`${pages.relay.url}/?videoId=https://youtu.be/${videoId}%3Fsi=x`);
    assert.equal(await page.title(), `${videoId} · Live chat`);
  });

  it("comes as soon as the service has learnt the title", async () => {
    const { page, relay } = pages;
    await page.clock.install();
    const { id } = await visit("a late title", "A channel", "", "popout");
    await pages.stateIs("open");
    assert.equal(await page.locator("#video").isHidden(), true);
    await eventually("a late title", async () => {
      const { body } = await ask<{ title?: string }>(relay.url, `/v1/rooms/${id}`);
      return body.title;
    });
    await page.clock.fastForward(5000);
    await page.locator("#video").waitFor();
    assert.equal(await page.title(), "a late title · Live chat");
  });

  it("leaves out what would change the text around it, and stays one line however long the title is", async () => {
    const title = `<b>\u202egnp.exe\u202c\u0007 ${"👩‍👩‍👧 long ".repeat(500)}`;
    await visit(title, "a\u2066b\nc");
    const { page } = pages;
    await page.locator("#video").waitFor();
    assert.match(await page.title(), /^<b>gnp\.exe 👩‍👩‍👧 long /);
    const words = await page.locator("#video").textContent();
    assert.doesNotMatch(words ?? "", /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
    assert.match(words ?? "", /ab c$/);
    for (const width of [320, 844, 1280]) {
      await page.setViewportSize({ width, height: 640 });
      const { height } = (await page.locator("#video").boundingBox()) ?? assert.fail("no box");
      assert.ok(height < 50, `${height} px high at ${width} px`);
      assert.ok(await pages.evaluate("document.documentElement.scrollWidth <= innerWidth"), `${width}`);
    }
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      assert.deepEqual(await violationsIn(page), [], colorScheme);
    }
    await page.setViewportSize({ width: 1280, height: 720 });
  });

  it("asks for a picture of the upstream's hosts, but not for those who hide pictures or the line", async () => {
    const { id, pictures } = await visit("a title", "A channel");
    await pages.page.locator("#video").waitFor();
    await eventually(`https://i.ytimg.com/vi/${id}/mqdefault.jpg`, () => pictures.join());
    for (const query of ["&images=off", "&layout=dock"]) {
      const hidden = await visit("a title", "A channel", query);
      await until(pages.page, "document.title.startsWith('a title')");
      assert.deepEqual(hidden.pictures, [], query);
    }
  });
});
