/** The stream as Chromium's own EventSource reads it: compressed, and with cursors that have no data. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NO_CHROMIUM, until } from "../support/browser.ts";
import { paidAction, textAction } from "../support/chat-actions.ts";
import { usePages } from "../support/pages.ts";
import { Stream } from "../support/stream.ts";

describe("Chromium's EventSource", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 400, height: 400 }, { kinds: ["text"], timeoutMs: 15 });

  /** Opens a source in a page of the service; what it gets is noted in `heard`. */
  async function open(path: string): Promise<void> {
    await pages.page.goto(`${pages.relay.url}/healthz`);
    await pages.page.evaluate(`{
      window.heard = [];
      const source = new EventSource(${JSON.stringify(path)});
      for (const type of ["init", "message", "end", "error"])
        source.addEventListener(type, (event) => {
          heard.push(type + " " + event.lastEventId);
          if (type === "end") source.close();
        });
    }`);
  }

  it("reads a compressed stream as messages come", async () => {
    pages.chat.say(20);
    await open(`/v1/stream?videoId=${pages.videoId}`);
    await until(pages.page, "heard.length === 21");
    pages.chat.say(1);
    await until(pages.page, "heard.length === 22");
  });

  it("takes a cursor without data as its last event id", async () => {
    const { videoId, chat } = pages;
    chat.say([textAction("t1"), paidAction("p1", "$5.00"), textAction("t2")]);
    await using stream = await Stream.open(pages.relay.url, { videoId, backfill: 3 });
    await stream.untilMessages(3);
    const head = stream.cursors[2] ?? 0;
    await open(`/v1/stream?videoId=${videoId}&types=superchat`);
    await until(pages.page, "heard.length > 1");
    chat.end("reload-only");
    await until(pages.page, "heard.length > 2");
    assert.deepEqual(await pages.evaluate("heard"), ["init ", `message ${head - 1}`, `end ${head}`]);
  });
});
