/** What the viewer page says of itself and of the video: on the first page, above the chat, in the tab. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { violationsIn } from "../support/axe.ts";
import { NO_CHROMIUM, until } from "../support/browser.ts";
import { texts } from "../support/chat-actions.ts";
import { usePages } from "../support/pages.ts";

const CHANNEL = { id: `UC${"x".repeat(22)}`, name: "Lofi Girl" };

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

describe("the line of the video", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1280, height: 720 }, { page: 20 });

  /** Visits the chat of a video about which the service knows this. */
  async function visitKnown(known: object, query = ""): Promise<string[]> {
    const { page, chat } = pages;
    const pictures: string[] = [];
    page.on("request", (request) => request.url().includes("ytimg") && pictures.push(request.url()));
    await page.route("**/v1/rooms/*", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), ...known } });
    });
    chat.say(texts("a", 20));
    await pages.visit(query);
    await pages.has("a-19");
    return pictures;
  }

  it("has title and channel, each with a link, and the browser's tab begins with the title", async () => {
    await visitKnown({ title: "lofi hip hop radio", channel: CHANNEL });
    const { page, videoId } = pages;
    const line = page.locator("#video");
    await line.waitFor();
    assert.equal(await line.getAttribute("data-video-id"), videoId);
    assert.deepEqual(
      await pages.evaluate(
        "[...document.querySelectorAll('#video a')].map(({ href, textContent, target, rel }) => [href, textContent, target, rel])",
      ),
      [
        [`https://www.youtube.com/watch?v=${videoId}`, "lofi hip hop radio"],
        [`https://www.youtube.com/channel/${CHANNEL.id}`, "Lofi Girl"],
      ].map((link) => [...link, "_blank", "noopener noreferrer nofollow ugc"]),
    );
    assert.equal(await page.title(), "lofi hip hop radio · Live chat");
    await page.fill("#open input[name=videoId]", "other-video");
    await page.press("#open input[name=videoId]", "Enter");
    await line.waitFor({ state: "hidden" });
    assert.equal(await page.title(), "other-video · Live chat");
  });

  it("is absent while the title is not known, and the tab has the id", async () => {
    await visitKnown({});
    const { page, videoId } = pages;
    await pages.stateIs("open");
    assert.equal(await page.locator("#video").isHidden(), true);
    assert.equal(await page.title(), `${videoId} · Live chat`);
  });

  it("leaves out what would change the text around it, and stays one line however long the title is", async () => {
    const title = `<b>\u202egnp.exe\u202c\u0007 ${"👩‍👩‍👧 long ".repeat(500)}`;
    await visitKnown({ title, channel: { name: "a\u2066b\nc" } });
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
    const pictures = await visitKnown({ title: "a title" });
    await pages.page.locator("#video").waitFor();
    assert.deepEqual(pictures, [`https://i.ytimg.com/vi/${pages.videoId}/mqdefault.jpg`]);
    for (const query of ["&images=off", "&layout=dock"]) {
      const asked = await visitKnown({ title: "a title" }, query);
      await until(pages.page, "document.title.startsWith('a title')");
      assert.deepEqual(asked, [], query);
    }
  });
});
