/** The overlay in a network that holds Server-Sent Events back reads the log of the video, and only then. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { idsOf, NO_CHROMIUM } from "../support/browser.ts";
import { texts } from "../support/chat-actions.ts";
import { eventually } from "../support/eventually.ts";
import { usePages } from "../support/pages.ts";

/** In the page: networks that hold streams back, whole or all but their head. */
const HOLDS = {
  "holds streams back": "new Promise(() => {})",
  "lets only the head of streams through":
    "new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream' } })",
};

for (const [what, answer] of Object.entries(HOLDS))
  describe(`the overlay behind a network that ${what}`, { skip: NO_CHROMIUM }, () => {
    const pages = usePages("/overlay", { width: 600, height: 700 });
    const { has, stateIs, visit } = pages;

    it("shows the chat from its log, each message once, and goes on with it", async () => {
      const { page, chat } = pages;
      let logs = 0;
      await page.route(/v1\/log/, (route) => {
        logs += 1;
        return route.continue();
      });
      chat.say(texts("a", 5));
      await page.clock.install();
      await page.addInitScript(`
        const own = fetch;
        window.streams = 0;
        window.fetch = async (...given) => {
          if (!/stream\\?/.test(given[0])) return own(...given);
          window.streams += 1;
          return ${answer};
        };`);
      await visit();
      // Its silences, and its waits before it connects again, are over at once.
      await eventually(true, async () => {
        await page.clock.fastForward(5000);
        return logs > 0;
      });
      await has("a-4");
      await stateIs("open");
      chat.say(texts("b", 5));
      await has("b-4");
      const ids = ["a", "b"].flatMap((of) => [0, 1, 2, 3, 4].map((at) => `${of}-${at}`));
      assert.deepEqual(await idsOf(page), ids);
      assert.equal(await page.evaluate("streams"), 3);
    });
  });

describe("the overlay", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/overlay", { width: 600, height: 700 });
  const { has, visit } = pages;

  it("reads streams again, and not the log, after an outage of the service", async () => {
    const { page, chat } = pages;
    let isAway = false;
    const asked: string[] = [];
    await page.route(/v1\/|healthz|log-stream/, (route) => {
      asked.push(new URL(route.request().url()).pathname);
      return isAway ? route.abort() : route.continue();
    });
    chat.say(texts("a", 2));
    await page.clock.install();
    await page.addInitScript(`
      const own = fetch;
      window.fetch = async (...given) => {
        const answer = await own(...given);
        if (window.isCut !== undefined || !/stream\\?/.test(given[0])) return answer;
        window.isCut = false;
        const cut = new TransformStream({ start: (controller) => (window.cut = () => controller.error(new Error())) });
        return new Response(answer.body.pipeThrough(cut), answer);
      };`);
    await visit();
    await has("a-1");
    isAway = true;
    await page.evaluate("cut()");
    const streams = () => asked.filter((path) => path === "/v1/stream").length;
    await eventually(true, async () => {
      await page.clock.fastForward(1000);
      return streams() > 4;
    });
    isAway = false;
    chat.say(texts("b", 2));
    await eventually(true, async () => {
      await page.clock.fastForward(1000);
      return (await idsOf(page)).length === 4;
    });
    assert.ok(!asked.some((path) => path.startsWith("/v1/log")), asked.join());
  });
});
