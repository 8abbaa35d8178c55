/** The featured message: `view=featured` of the overlay, and the buttons of those who may feature. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { ATTACKS } from "../support/attacks.ts";
import { violationsIn } from "../support/axe.ts";
import { faultsOf, launchChromium, NO_CHROMIUM, rowOf } from "../support/browser.ts";
import { deletionOf, paidAction, textAction } from "../support/chat-actions.ts";
import { putFeatured } from "../support/featured-viewer.ts";
import type { Chat } from "../support/pages.ts";
import { startRelay, type TestRelay } from "../support/relay.ts";
import { SECRET, signed } from "../support/tokens.ts";

const ADMIN = "an-admin-token-of-a-test";

describe("a featured message", { skip: NO_CHROMIUM }, () => {
  let relay: TestRelay;
  let browser: Browser;
  let page: Page;
  let faults: string[];
  let chat: Chat;
  let videoId = "";
  let videos = 0;
  before(async () => {
    const settings = { RELAY_ADMIN_TOKEN: ADMIN, RELAY_TOKEN_KEY: SECRET };
    [relay, browser] = await Promise.all([startRelay({ settings }), launchChromium()]);
  });
  after(() => Promise.all([browser?.close(), relay?.[Symbol.asyncDispose]()]));
  beforeEach(async () => {
    videos += 1;
    videoId = `featured-${String(videos).padStart(2, "0")}`;
    chat = relay.upstream.chat(videoId, { timeoutMs: 50 });
    page = await browser.newPage({ viewport: { width: 800, height: 600 } });
    faults = faultsOf(page);
  });
  afterEach(async () => {
    chat.end("continuations-absent");
    await page.close();
    assert.deepEqual(faults, []);
  });

  const open = async (path: string, within = page) => {
    await within.goto(relay.url + path);
    await within.locator("html[data-state=open]").waitFor({ state: "attached" });
  };
  const feature = async (id: string, of = videoId) => {
    assert.equal((await putFeatured(relay.url, of, id, ADMIN)).status, 204);
  };
  const take = () =>
    fetch(`${relay.url}/v1/featured/${videoId}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${ADMIN}` },
    });
  const shows = (id: string, within = page) => within.locator(`#featured${rowOf(id)}`).waitFor();
  const showsNone = (within = page) => within.locator("#featured").waitFor({ state: "detached" });
  const stored = async (...ids: string[]) => {
    const url = `${relay.url}/v1/messages?videoId=${videoId}&limit=1000`;
    for (;;) {
      const { messages = [] } = (await (await fetch(url)).json()) as { messages?: { id: string }[] };
      if (ids.every((id) => messages.some((message) => message.id === id))) return;
    }
  };

  it("is shown by the overlay until it is taken away, replaced by another, or deleted", async () => {
    chat.say([textAction("one"), textAction("two")]);
    await open(`/overlay?videoId=${videoId}&view=featured`);
    await showsNone();
    await stored("one", "two");
    await feature("two");
    await shows("two");
    assert.equal(await page.locator("#featured [data-field=message]").textContent(), "words of two");
    assert.equal(await page.locator("#featured").getAttribute("data-cursor"), null, "it comes without one");
    await feature("one");
    await shows("one");
    assert.equal(await page.locator("[data-message-id]").count(), 1);
    await take();
    await showsNone();
    await feature("one");
    await shows("one");
    await page.reload();
    await shows("one");
    chat.say([deletionOf("one")]);
    await showsNone();
    chat.say([textAction("three")]);
    await stored("three");
    assert.equal(await page.locator("[data-message-id]").count(), 0);
  });

  it("is text, whatever it contains", async () => {
    const attacks = ATTACKS.slice(0, 40);
    chat.say(attacks.map((text, at) => textAction(`attack-${at}`, { text, author: text })));
    await open(`/overlay?videoId=${videoId}&view=featured`);
    await stored(`attack-${attacks.length - 1}`);
    for (const at of [...attacks.keys()].filter((each) => each % 5 === 0)) {
      await feature(`attack-${at}`);
      await shows(`attack-${at}`);
      const { right, scroll } = await page.evaluate<{ right: number; scroll: number }>(
        `({ right: document.querySelector("#featured").getBoundingClientRect().right,
            scroll: document.documentElement.scrollWidth })`,
      );
      assert.ok(right <= 800 && scroll <= 800, `${attacks[at]}: ${right}, ${scroll}`);
      assert.equal(await page.locator("#featured script, #featured iframe").count(), 0);
    }
  });

  for (const theme of ["dark", "plate"])
    it(`ends a long name and long words in "…", so that both are seen: ${theme}`, async () => {
      chat.say([textAction("long", { author: "W".repeat(300), text: "words ".repeat(200) })]);
      await open(`/overlay?videoId=${videoId}&view=featured&theme=${theme}`);
      await stored("long");
      await feature("long");
      await shows("long");
      const boxes = ["#featured", "#featured [data-field=author]", "#featured [data-field=message]"];
      const [row, name, words] = await Promise.all(boxes.map((each) => page.locator(each).boundingBox()));
      assert.ok(row && name && words);
      assert.ok(name.y >= row.y && name.height < 100, JSON.stringify([row, name]));
      assert.ok(words.y + words.height <= row.y + row.height && words.height < 300, JSON.stringify(words));
      assert.deepEqual(await violationsIn(page), []);
    });

  it("is shown of several chats, and over the stream that sources share", async () => {
    const other = videoId.replace("featured", "another_");
    relay.upstream.chat(other, { timeoutMs: 50 }).say([textAction("there")]);
    chat.say([textAction("here")]);
    const context = await browser.newContext();
    const pages = await Promise.all(
      [
        ...[
          `/overlay?videoId=${videoId}&view=featured`,
          `/overlay?videoIds=${videoId},${other}&view=featured`,
        ],
        `/overlay?videoId=${videoId}`,
      ].map(async (path) => {
        const each = await context.newPage();
        await open(path, each);
        return each;
      }),
    );
    const [one = page, both = page, rows = page] = pages;
    for (const each of pages)
      await each.locator("html[data-shared=on][data-state=open]").waitFor({ state: "attached" });
    await rows.locator(rowOf("here")).waitFor();
    await feature("here");
    for (const each of [one, both]) await shows("here", each);
    await feature("there", other);
    await shows("there", both);
    await shows("here", one);
    const late = await context.newPage();
    await open(`/overlay?videoId=${videoId}&view=featured`, late);
    await shows("here", late);
    chat.say([deletionOf("here")]);
    for (const each of [one, late]) await showsNone(each);
    await shows("there", both);
    await context.close();
  });

  const openPage = async (fragment: string, query = "") => {
    await page.goto("about:blank"); // a changed fragment alone loads nothing
    await open(`/?videoId=${videoId}${query}${fragment}`);
  };
  const button = (id: string, name: string) =>
    page.locator(rowOf(id)).getByRole("button", { name, exact: true });

  it("is chosen on the page and taken away, where the token has the right", async () => {
    chat.say([textAction("one"), textAction("two")]);
    const other = await browser.newPage();
    await open(`/overlay?videoId=${videoId}&view=featured`, other);
    await stored("one", "two");
    await openPage(`#token=${ADMIN}`);
    await button("one", "Feature").click();
    await shows("one", other);
    await button("one", "Stop featuring").waitFor();
    assert.equal(await page.locator("[data-featured]").count(), 1);
    await feature("two"); // by another moderator
    await button("two", "Stop featuring").waitFor();
    await button("one", "Feature").waitFor();
    chat.say([textAction("three"), paidAction("paid", "$50.00")]);
    await button("three", "Feature").waitFor();
    const colors = await page.evaluate<string[]>(
      `['[data-feature]', '.head'].map((each) =>
        getComputedStyle(document.querySelector('[data-message-id=paid] ' + each)).color)`,
    );
    assert.equal(colors[0], colors[1]); // the star is on the header's ground
    assert.deepEqual(await violationsIn(page), []);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
    await page.setViewportSize({ width: 320, height: 600 });
    assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
    await openPage(`#token=${ADMIN}`);
    await button("two", "Stop featuring").press("Enter");
    await showsNone(other);
    await button("two", "Feature").waitFor();
    chat.say([deletionOf("one")]);
    await page.locator(`${rowOf("one")}[data-deleted]`).waitFor();
    assert.equal(await page.locator(`${rowOf("one")} [data-feature]`).count(), 0);
    await other.close();
  });

  it("has no button without a token, and none for one that may only watch", async () => {
    chat.say([textAction("one")]);
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await openPage("");
    await page.locator(rowOf("one")).waitFor();
    assert.ok(!asked.some((url) => /v1.featured|featured=/.test(url)), asked.join());
    const token = await signed({ relay: [`feature:${videoId}`] });
    await openPage(`#token=${token}`);
    await button("one", "Feature").waitFor();
    const answer = page.waitForResponse((response) => response.url().includes("/v1/featured/"));
    await openPage(`#token=${await signed({ relay: ["watch", "feature:another-one"] })}`);
    assert.equal((await answer).status(), 200);
    await page.locator(rowOf("one")).waitFor();
    assert.equal(await page.locator("[data-feature]").count(), 0);
  });
});
