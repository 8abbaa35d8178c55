/**
 * The API from a page of another origin, in a real browser: streams resume, calls and their refusals can be
 * read.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { Line, portOf } from "../chaos/line.ts";
import { type PollBody, type ProbeBody, pollOf, type SessionBody } from "../support/api.ts";
import { launchChromium, NO_CHROMIUM } from "../support/browser.ts";
import { startRelay, type TestRelay } from "../support/relay.ts";

const VIDEO = "from-a-page";

interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

describe("a page of another origin", { skip: NO_CHROMIUM }, () => {
  let relay: TestRelay;
  let line: Line;
  let base: string;
  let browser: Browser;
  let page: Page;
  const site = createHttpServer((_request, response) => {
    response.setHeader("content-type", "text/html").end("<!doctype html><title>overlay</title>");
  });

  before(async () => {
    relay = await startRelay();
    line = await Line.to(Number(new URL(relay.url).port));
    base = line.url;
    site.listen(0, "127.0.0.1");
    await once(site, "listening");
    browser = await launchChromium();
    page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${portOf(site)}/`);
  });
  after(async () => {
    await browser.close();
    site.close();
    await line[Symbol.asyncDispose]();
    await relay[Symbol.asyncDispose]();
  });

  /** What a page learns of an answer. */
  async function fetched<Body>(path: string, sent: Sent = {}) {
    const told = await page.evaluate(
      async ({ url, sent }) => {
        const response = await fetch(url, sent);
        const retryAfter = response.headers.get("retry-after");
        return { status: response.status, retryAfter, text: await response.text() };
      },
      { url: base + path, sent },
    );
    return { ...told, body: JSON.parse(told.text) as Body };
  }
  function posted<Body>(path: string, body: object) {
    const headers = { "content-type": "application/json" };
    return fetched<Body>(path, { method: "POST", headers, body: JSON.stringify(body) });
  }

  it("has an EventSource that resumes across a cut connection, without a gap or a repeat", async () => {
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 50 });
    const ids = chat.say(10);
    const source = await page.evaluateHandle((url) => {
      const source = new EventSource(url);
      const seen: { ids: string[]; cursors: string[]; inits: number } = { ids: [], cursors: [], inits: 0 };
      source.addEventListener("init", () => {
        seen.inits += 1;
      });
      source.addEventListener("message", ({ data, lastEventId }) => {
        seen.ids.push(JSON.parse(data).id);
        seen.cursors.push(lastEventId);
      });
      return { source, seen };
    }, `${base}/v1/stream?videoId=${VIDEO}`);
    const reached = (count: number) =>
      page.waitForFunction(([{ seen }, count]) => seen.ids.length >= count, [source, count] as const);
    await reached(10);
    ids.push(...chat.say(5));
    await reached(15);
    line.cut();
    ids.push(...chat.say(5)); // while nobody listens
    await reached(20);
    ids.push(...chat.say(5));
    await reached(25);
    const seen = await source.evaluate(({ source, seen }) => {
      source.close();
      return seen;
    });
    assert.deepEqual(seen.ids, ids);
    assert.equal(seen.inits, 2);
    const [first, second, ...more] = line.requests.filter((head) => head.startsWith("GET /v1/stream"));
    assert.deepEqual(more, []);
    assert.doesNotMatch(first ?? "", /^last-event-id:/im);
    assert.equal(/^last-event-id: (\d+)/im.exec(second ?? "")?.[1], seen.cursors[14]);
  });

  it("calls sessions, poll and probe, each after a preflight", async () => {
    relay.upstream.chat(VIDEO, { tokens: "reusable" }).say(3);
    const opened = await posted<SessionBody>("/v1/sessions", { videoId: VIDEO });
    assert.equal(opened.status, 200);
    const polled = await posted<PollBody>("/v1/poll", pollOf(opened.body));
    assert.equal(polled.status, 200);
    assert.equal(typeof polled.body.token, "string");
    const probed = await posted<ProbeBody>("/v1/probe", { videoId: VIDEO });
    assert.equal(probed.body.rows.length, 24);
    for (const path of ["/v1/sessions", "/v1/poll", "/v1/probe"]) {
      assert.ok(
        line.requests.some((head) => head.startsWith(`OPTIONS ${path} `)),
        path,
      );
    }
  });

  it("embeds the overlay, and the viewer page if RELAY_FRAME_ANCESTORS allows it", async () => {
    const settings = { RELAY_FRAME_ANCESTORS: new URL(page.url()).origin };
    await using allowing = await startRelay({ upstream: relay.upstream, settings });
    relay.upstream.chat(VIDEO, { kinds: ["text"], tokens: "reusable" }).say(3);
    /** Whether the frame shows messages; false if the browser refuses to show it. */
    const isShown = async (url: string) => {
      await page.setContent(`<iframe src="${url}" width="600" height="400"></iframe>`);
      const [, frame] = page.frames();
      if (frame?.url() !== url) return false;
      await frame.waitForSelector("[data-message-id]", { state: "attached" });
      return true;
    };
    assert.ok(await isShown(`${allowing.url}/?videoId=${VIDEO}`));
    assert.ok(await isShown(`${relay.url}/overlay?videoId=${VIDEO}`));
    assert.ok(!(await isShown(`${relay.url}/?videoId=${VIDEO}`)));
  });

  it("may send Last-Event-ID itself", async () => {
    relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(2);
    const status = await page.evaluate(async (url) => {
      const response = await fetch(url, { headers: { "last-event-id": "0" } });
      await response.body?.cancel();
      return response.status;
    }, `${base}/v1/stream?videoId=${VIDEO}`);
    assert.equal(status, 200);
  });

  it("reads the status and code of every refusal", async () => {
    const rows: [string, Sent, number, string][] = [
      ["/v1/stream", {}, 400, "INVALID_REQUEST"],
      ["/v1/stream?videoId=no", {}, 400, "INVALID_VIDEO_ID"],
      ["/v1/stream?videoId=not-a-chat_", {}, 404, "NO_LIVE_CHAT"],
      ["/v1/nothing", {}, 404, "NOT_FOUND"],
      ["/%zz", {}, 400, "INVALID_REQUEST"],
      ["/v1/stream", { method: "POST" }, 405, "METHOD_NOT_ALLOWED"],
      ["/v1/poll", { method: "POST", body: "{}" }, 415, "UNSUPPORTED_MEDIA_TYPE"],
      [`/${"a".repeat(9000)}`, {}, 431, "HEADERS_TOO_LARGE"],
      [`/${"a".repeat(20_000)}`, {}, 431, "HEADERS_TOO_LARGE"],
    ];
    for (const [path, init, status, code] of rows) {
      const answer = await fetched<{ code: string }>(path, init);
      assert.deepEqual([answer.status, answer.body.code], [status, code], path.slice(0, 100));
    }
  });

  it("reads Retry-After of a throttled answer", async () => {
    relay.upstream.fault({ on: "sw.js", times: 1, as: { status: 429, headers: { "retry-after": "7" } } });
    const answer = await posted<{ code: string }>("/v1/probe", { videoId: "not-a-chat_" });
    assert.deepEqual([answer.status, answer.body.code, answer.retryAfter], [429, "RATE_LIMITED", "7"]);
  });
});
