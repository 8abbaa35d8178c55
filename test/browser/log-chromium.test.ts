/** The protocol's own client reads the log of a video in Chromium, from a page of another origin. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";
import { Line, portOf } from "../chaos/line.ts";
import { launchChromium, NO_CHROMIUM } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { readLog } from "../support/log.ts";
import { startRelay, type TestRelay } from "../support/relay.ts";
import { Stream } from "../support/stream.ts";

/** What the page's own script has read. */
interface Reading {
  cursors: number[];
  isOver: boolean;
}

/** A module that reads a log to its end, or up to now, as an application does that goes on after failures. */
const READER = `
import { stream } from "@durable-streams/client";
globalThis.read = async (url, live) => {
  const reading = (globalThis.reading = { cursors: [], isOver: false });
  for (let offset = "-1"; !reading.isOver; ) {
    let isCurrent = true;
    try {
      const response = await stream({ url, offset, live, json: true });
      response.subscribeJson(async ({ items, offset: next }) => {
        if (!isCurrent) return; // it comes late, and is read again
        reading.cursors.push(...items.map(({ cursor }) => cursor));
        offset = next;
      });
      await response.closed;
      // The last batch is handed over after it, or never if the connection was cut: nothing shows which.
      await new Promise((resolve) => setTimeout(resolve, 20));
      reading.isOver = offset === response.offset && (response.streamClosed || (!live && response.upToDate));
    } catch {} // it reads again from the last offset
    isCurrent = false;
  }
};`;

describe("the protocol's own client in Chromium", { skip: NO_CHROMIUM }, () => {
  let relay: TestRelay;
  let line: Line;
  let browser: Browser;
  let page: Page;
  let script = "";
  const site = createServer(({ url }, response) => {
    const [type, body] =
      url === "/reader.js" ? ["text/javascript", script] : ["text/html", "<!doctype html><title>log</title>"];
    response.setHeader("content-type", type).end(body);
  });

  before(async () => {
    const stdin = { contents: READER, resolveDir: import.meta.dirname };
    const { outputFiles } = await build({ stdin, bundle: true, format: "esm", write: false });
    script = outputFiles[0]?.text ?? "";
    relay = await startRelay();
    line = await Line.to(Number(new URL(relay.url).port));
    await once(site.listen(0, "127.0.0.1"), "listening");
    browser = await launchChromium();
    page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${portOf(site)}/`);
    await page.addScriptTag({ type: "module", url: "/reader.js" });
  });
  after(async () => {
    await browser.close();
    site.close();
    await line[Symbol.asyncDispose]();
    await relay[Symbol.asyncDispose]();
  });

  const reading = () => page.evaluate("globalThis.reading") as Promise<Reading>;

  for (const live of [false, "long-poll", "sse"] as const) {
    it(`reads a log ${live ? `by ${live} to its end, over connections that are cut` : "up to now"}`, async () => {
      const videoId = `page-log-${live ? live.slice(0, 2) : "no"}`;
      const said = relay.upstream.chat(videoId, { kinds: ["text"], timeoutMs: 5 });
      said.say(30);
      await using viewer = await Stream.open(relay.url, { videoId });
      await viewer.untilMessages(30);
      await page.evaluate(
        `void read(${JSON.stringify(`${line.url}/v1/log/${videoId}`)}, ${JSON.stringify(live)})`,
      );
      for (let count = 30; live && count < 60; count += 10) {
        await eventually(count, async () => (await reading()).cursors.length);
        line.cut();
        said.say(10);
      }
      if (live) {
        await viewer.untilMessages(60);
        said.end("continuations-absent");
      }
      await eventually(true, async () => (await reading()).isOver);
      const { cursors } = await readLog(relay.url, videoId);
      assert.equal(cursors.length, live ? 60 : 30);
      assert.deepEqual((await reading()).cursors, cursors);
    });
  }
});
