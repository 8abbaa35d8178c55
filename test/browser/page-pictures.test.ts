/** The memory of both pages while the hosts of the pictures do not answer, as behind some firewalls. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { NO_CHROMIUM } from "../support/browser.ts";
import { textAction } from "../support/chat-actions.ts";
import { eventually } from "../support/eventually.ts";
import { usePages } from "../support/pages.ts";

/** How many pictures are in the page's memory without its garbage, in the document or not. */
async function picturesOf(page: Page): Promise<number> {
  const devtools = await page.context().newCDPSession(page);
  const prototype = await devtools.send("Runtime.evaluate", { expression: "HTMLImageElement.prototype" });
  const { objects } = await devtools.send("Runtime.queryObjects", {
    prototypeObjectId: prototype.result.objectId ?? "",
  });
  const { result } = await devtools.send("Runtime.callFunctionOn", {
    objectId: objects.objectId ?? "",
    functionDeclaration: "function () { return this.length; }",
    returnByValue: true,
  });
  await devtools.detach();
  return result.value;
}

describe("pictures that never come", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/overlay", { width: 600, height: 700 });

  for (const [path, query, most] of [
    ["/overlay", "&max=10", 10],
    ["/", "", 500],
  ] as const) {
    it(`leave the memory with their rows on ${path}`, async () => {
      const { page, chat, relay, videoId, has } = pages;
      await page.route(/ggpht/, () => {}); // has no answer
      await page.goto(`${relay.url}${path}?videoId=${videoId}${query}`);
      await pages.stateIs("open");
      // Each with another picture of its author.
      const said = (id: string) =>
        JSON.parse(JSON.stringify(textAction(id)).replaceAll("img.example", `yt3.ggpht.com/${id}`));
      for (let part = 0; part < 12; part++) {
        chat.say(Array.from({ length: 60 }, (_, at) => said(`m-${part}-${at}`)));
        await has(`m-${part}-59`);
      }
      await eventually(true, async () => (await picturesOf(page)) <= most + 40); // rows leave with a frame
      assert.ok((await picturesOf(page)) >= 10);
      await page.unroute(/ggpht/);
    });
  }
});
