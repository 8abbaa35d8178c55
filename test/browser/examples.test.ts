/** The examples that are pages, on a site that has nothing else. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { portOf } from "../chaos/line.ts";
import { launchChromium, NO_CHROMIUM } from "../support/browser.ts";
import { textAction } from "../support/chat-actions.ts";
import { ROOT } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startRelay, type TestRelay } from "../support/relay.ts";

const VIDEO = "dQw4w9WgXcQ";
const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");
/** Says it as the next message of the chat. */
const says = (text: string) => textAction(`says ${text}`, { text });

const startChat = async (): Promise<[TestRelay, ReturnType<TestRelay["upstream"]["chat"]>]> => {
  const relay = await startRelay();
  return [relay, relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 5 })];
};

/** Opens a page of a site that has nothing but this file. */
async function inChromium(file: string, use: (page: Page, site: string) => Promise<void>): Promise<void> {
  const site = createServer((_request, response) => {
    response.setHeader("content-type", "text/html").end(read(file));
  });
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  const browser = await launchChromium();
  try {
    await use(await browser.newPage(), `http://127.0.0.1:${portOf(site)}`);
  } finally {
    await browser.close();
    site.close();
  }
}

describe("the examples", { skip: NO_CHROMIUM }, () => {
  it("include a page in 20 lines", async () => {
    const [relay, chat] = await startChat();
    await using _ = relay;
    chat.say([says("<b>hello</b>")]);
    await inChromium("examples/page.html", async (page, site) => {
      await page.goto(`${site}/?relay=${relay.url}&videoId=${VIDEO}`);
      await page.getByText("@somebody <b>hello</b>").waitFor();
      chat.say([says("goodbye")]);
      await page.getByText("@somebody goodbye").waitFor();
      chat.end("seek-only");
      await page.locator("#state", { hasText: "closed" }).waitFor();
      assert.equal(await page.locator("li").count(), 2);
      await page.goto(`${site}/?relay=${relay.url}&videoId=no-id`);
      await page.getByText("is neither a video id").waitFor();
    });
  });

  it("include a page that follows seven chats on one connection", async () => {
    const [relay, first] = await startChat();
    await using _ = relay;
    const others = ["b", "c", "d", "e", "f"].map((name) => `other-chat${name}`);
    const chats = [first, ...others.map((id) => relay.upstream.chat(id, { kinds: ["text"], timeoutMs: 5 }))];
    const videoIds = [VIDEO, ...others, "no-chat-her"];
    await inChromium("examples/seven-chats.html", async (page, site) => {
      const requests: string[] = [];
      page.on("request", (request) => requests.push(new URL(request.url()).pathname));
      const texts = () => page.locator("ol").evaluateAll((lists) => lists.map((list) => list.innerText));
      const places = () =>
        page.locator("ol").evaluateAll((lists) => lists.map((list) => list.getBoundingClientRect().toJSON()));
      const shown = async (...rows: string[]) =>
        eventually(true, async () => {
          const [none = "", ...of] = (await texts()).reverse();
          const newest = rows.toReversed().join("\n"); // on top, in the document
          return none !== "" && of.every((text) => text.startsWith(newest));
        });
      for (const chat of chats) chat.say([says("<b>hello</b>")]);
      await page.goto(`${site}/?relay=${relay.url}&videoIds=${videoIds}`);
      await shown("@somebody <b>hello</b>");
      for (const chat of chats) chat.say([says("goodbye")]);
      await shown("@somebody <b>hello</b>", "@somebody goodbye");
      const placed = await places();
      assert.ok(new Set(placed.map(({ x }) => x)).size > 1, "no chats are side by side");
      for (const chat of chats) chat.say(Array.from({ length: 250 }, (_, n) => says(`row ${n}`)));
      await shown("@somebody row 248", "@somebody row 249");
      assert.deepEqual(await places(), placed, "the chats have grown");
      assert.equal(await page.locator("li").count(), 6 * 200 + 1);
      for (const chat of chats) chat.end("seek-only");
      await shown("@somebody row 249", "It is over.");
      assert.equal(requests.filter((path) => path === "/v1/merged").length, 1);
    });
  });
});
