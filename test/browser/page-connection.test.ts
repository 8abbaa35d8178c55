/** How the pages handle failures: they explain them, continue, and lose or repeat nothing. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { startSimulator } from "../../simulator/index.ts";
import {
  type Answer,
  AnsweringServer,
  END,
  frame,
  init,
  message,
  refuses,
  streams,
} from "../support/answering-server.ts";
import { idsOf, NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import { texts } from "../support/chat-actions.ts";
import { PATIENCE_MS } from "../support/eventually.ts";
import { usePages } from "../support/pages.ts";
import { startProcess } from "../support/relay-process.ts";
import { temporaryFile } from "../support/store-subject.ts";

/** The longest wait before the SDK connects again. */
const MAX_WAIT_MS = 30_000;
const BROKEN = 'event: error\ndata: {"code":"UPSTREAM_ERROR","message":"It is broken."}\n\n';
const RELEASED = END.replace("no more continuations", "room released");
const ALL_OF_CHANNEL = "channel=@somebody&all=on";
const QUIET = frame("channel", { channel: "@somebody", state: "waiting" });
const NONE = refuses(404, { code: "NO_LIVE_CHAT", message: "No chat." });

/** In the page: a window that is not seen, as OBS hides sources. The browser draws no frame of it. */
const HIDDEN = `
  Object.defineProperties(document, { visibilityState: { value: "hidden" }, hidden: { value: true } });
  window.requestAnimationFrame = () => 0;
  for (const name of ["ResizeObserver", "IntersectionObserver"])
    window[name] = class { observe() {} unobserve() {} disconnect() {} };`;

const stateIs = (page: Page, state: string) =>
  until(page, `document.documentElement.dataset.state === '${state}'`);
/** Lets a page, whose clock is paused, go on until the message is drawn, whenever its bytes arrive. */
async function draws(page: Page, id: string): Promise<void> {
  for (const limit = AbortSignal.timeout(PATIENCE_MS); (await page.locator(rowOf(id)).count()) === 0; ) {
    assert.ok(!limit.aborted, `not in time: message ${id}`);
    await page.clock.runFor(50);
  }
}
const statusOf = (page: Page) => page.locator("#status").innerText();

describe("a page whose service fails", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 800, height: 600 });
  const { has, visit } = pages;

  it("is idle without a video, and explains a refusal", async () => {
    const { page, relay, chat } = pages;
    await page.goto(relay.url);
    await stateIs(page, "idle");
    assert.match(await statusOf(page), /Paste a video/);
    await page.locator("#open input[name=videoId]").fill("no video");
    await page.keyboard.press("Enter");
    await stateIs(page, "failed");
    assert.equal(await page.locator("html").getAttribute("data-code"), "INVALID_VIDEO_ID");
    assert.match(
      await statusOf(page),
      /cannot be shown\. “no” is neither a video id of 11 characters nor the URL of a video\. Send the 11-character id of a video/,
    );
    chat.change({ kind: "none" });
    await visit();
    await page.locator("html[data-state=waiting][data-code=NO_LIVE_CHAT]").waitFor({ state: "attached" });
    assert.match(await statusOf(page), / no live chat\. It tries again at \d\d:\d\d:\d\d\.\s+Try now/);
    chat.change({ kind: "live" });
    chat.say(texts("a", 2));
    await page.locator("#retry").click();
    await has("a-1");
    await stateIs(page, "open");
    assert.equal(await page.locator("html").getAttribute("data-code"), null);
    assert.equal(await page.locator("#retry").isVisible(), false);
  });

  it("says that a chat is over, and shows all of it", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 3));
    await visit();
    await stateIs(page, "open");
    chat.say(texts("b", 3));
    chat.end("continuations-absent");
    await stateIs(page, "ended");
    assert.match(await statusOf(page), /^The chat is over\. All that was said stays here\.$/);
    assert.equal((await idsOf(page)).length, 6);
    await page.evaluate("dispatchEvent(new Event('offline'))"); // which cuts nothing
    assert.equal(await page.locator("html").getAttribute("data-state"), "ended");
  });

  it("loses and repeats nothing over a stop and a kill -9 of the service, on both pages", async (t) => {
    await using upstream = await startSimulator();
    const chat = upstream.chat("page-broken", { timeoutMs: 50 });
    const service = await startProcess(upstream, { RELAY_STORE: `sqlite:${await temporaryFile(t)}` });
    await using _ = { [Symbol.asyncDispose]: () => service.close() };
    const both = await Promise.all(
      ["/", "/overlay"].map(async (path) => {
        const page = await pages.browser.newPage();
        await page.clock.install();
        await page.goto(`${service.url}${path}?videoId=page-broken&max=200`);
        return page;
      }),
    );
    const shows = (id: string) => Promise.all(both.map((page) => page.locator(rowOf(id)).waitFor()));
    chat.say(texts("a", 20));
    await shows("a-19");
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      service.signal(signal);
      await service.exited;
      await Promise.all(both.map((page) => stateIs(page, "reconnecting")));
      chat.say(texts(signal, 20));
      await service.start();
      await Promise.all(both.map((page) => page.clock.fastForward(MAX_WAIT_MS)));
      await shows(`${signal}-19`);
    }
    const expected = ["a", "SIGTERM", "SIGKILL"].flatMap((name) =>
      Array.from({ length: 20 }, (_, at) => `${name}-${at}`),
    );
    for (const page of both) {
      assert.deepEqual(
        (await idsOf(page)).filter((id) => !id.startsWith("gap:")),
        expected,
      );
      await page.close();
    }
  });

  for (const path of ["/", "/overlay"])
    it(`keeps its stream and loses nothing while it is hidden, on ${path}`, async () => {
      const { browser, relay, chat, videoId } = pages;
      await using page = await browser.newPage();
      await page.addInitScript(HIDDEN);
      const streams: string[] = [];
      page.on("request", (request) => request.url().includes("v1/stream") && streams.push(request.url()));
      chat.say(texts("a", 3));
      await page.goto(`${relay.url}${path}?videoId=${videoId}&max=200`);
      await until(page, `document.querySelector('${rowOf("a-2")}') !== null`);
      await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
      chat.say(texts("b", 100));
      await until(page, `document.querySelector('${rowOf("b-99")}') !== null`);
      assert.equal((await idsOf(page)).length, 103);
      assert.equal(streams.length, 1);
    });

  const files = new Map<string, Promise<{ type: string; text: string }>>();
  /** A file of the pages, asked of the relay once. */
  const fileAt = (path: string) =>
    files.getOrInsertComputed(path, async () => {
      const file = await fetch(pages.relay.url + path);
      return { type: file.headers.get("content-type") ?? "", text: await file.text() };
    });

  /** A page of a service whose streams are answered one after the other as given. */
  async function open(
    path: string,
    answers: Answer[],
    time: "goes on" | "stands still" = "goes on",
    named = "videoId=page-broken",
  ): Promise<{ page: Page; calls: () => (string | undefined)[] } & AsyncDisposable> {
    const asked: (string | undefined)[] = [];
    const server = await AnsweringServer.start(async (response, call) => {
      if (call.path.startsWith("/v1/stream")) {
        const answer = answers[asked.length] ?? answers.at(-1);
        asked.push(call.lastEventId);
        return answer?.(response, call);
      }
      const { type, text } = await fileAt(call.path.split("?")[0] ?? "");
      return response.writeHead(200, { "content-type": type }).end(text);
    });
    const page = await pages.browser.newPage();
    await page.clock.install();
    if (time === "stands still") await page.clock.pauseAt(Date.now() + 60_000);
    await page.addInitScript(`
      window.waits = [];
      const wait = window.setTimeout;
      window.setTimeout = (callback, ms) => { if (ms >= 1000) waits.push(ms); return wait(callback, ms); };`);
    await page.goto(`${server.url}${path}${named}`);
    return {
      page,
      calls: () => asked,
      [Symbol.asyncDispose]: async () => {
        await page.close();
        await server[Symbol.asyncDispose]();
      },
    };
  }

  for (const path of ["/?types=paid,chat&q=x&", "/overlay?"]) {
    it(`marks the places of missing messages, and shows nothing twice, on ${path}`, async () => {
      const gap = message(24, { type: "gap", id: "gap:24", message: "Missing.", details: {} });
      const again = message(21) + message(22, { id: "21" }) + message(23) + gap;
      let cut = (): unknown => assert.fail("no stream was asked for");
      const first: Answer = (response, call) => {
        streams(init(10), message(11))(response, call);
        cut = () => response.socket?.destroy();
      };
      await using opened = await open(path, [first, streams(init(20), message(21), again)]);
      const { page, calls } = opened;
      await page.locator(rowOf("11")).waitFor();
      cut();
      await stateIs(page, "reconnecting");
      await page.clock.fastForward(MAX_WAIT_MS);
      await until(page, `document.querySelector('${rowOf("gap:24")}') !== null`);
      const rows = "[...document.querySelectorAll('#chat [data-message-id], #chat [data-gap]')]";
      const order = await page.evaluate(`${rows}.map((row) => row.dataset.messageId ?? 'gap')`);
      assert.deepEqual(
        [order, calls()],
        [
          ["11", "gap", "21", "23", "gap:24"],
          [undefined, "11"],
        ],
      );
    });
  }

  it("does not count a place of missing messages as a new message", async () => {
    let cut = (): unknown => assert.fail("no stream was asked for");
    const first: Answer = (response, call) => {
      const rows = Array.from({ length: 90 }, (_, at) => message(11 + at));
      streams(init(10), ...rows)(response, call);
      cut = () => response.socket?.destroy();
    };
    await using opened = await open("/?", [first, streams(init(200), message(201), message(202))]);
    const { page } = opened;
    await page.locator(rowOf("100")).waitFor();
    await page.locator("#chat").press("PageUp");
    await page.locator("#chat[data-following=false]").waitFor();
    cut();
    await stateIs(page, "reconnecting");
    await page.clock.fastForward(MAX_WAIT_MS);
    await page.locator(rowOf("202")).waitFor({ state: "attached" });
    assert.equal(await page.locator("#latest").getAttribute("data-count"), "2");
    assert.equal(await page.locator("[data-gap]").count(), 1);
  });

  it("continues after a 429 with the server's words, stops at an error frame, and then resumes", async () => {
    await using opened = await open("/?", [
      refuses(429, { code: "CAPACITY", message: "Full." }, { "retry-after": "5" }),
      streams(init(10), message(11), BROKEN),
      streams(init(11), message(12)),
    ]);
    const { page, calls } = opened;
    await page.getByText("Full.").waitFor();
    await stateIs(page, "connecting");
    await page.clock.fastForward(MAX_WAIT_MS);
    await stateIs(page, "failed");
    assert.equal(await page.locator("html").getAttribute("data-code"), "UPSTREAM_ERROR");
    assert.match(await statusOf(page), /It is broken\./);
    await page.locator("#retry").click();
    await page.locator(rowOf("12")).waitFor();
    assert.deepEqual(
      [await idsOf(page), calls()],
      [
        ["11", "12"],
        [undefined, undefined, "11"],
      ],
    );
  });

  it("says until when it waits, for a chat that has not begun and at 429 and 503, and can try at once", async () => {
    await using opened = await open(
      "/?",
      [
        NONE,
        refuses(503, { code: "CAPACITY", message: "Full." }),
        refuses(429, { code: "LIMIT", message: "Many." }, { "retry-after": "7200" }),
        streams(init(10), message(11)),
      ],
      "stands still",
    );
    const { page, calls } = opened;
    const timeIn = (seconds: number, length: number) =>
      page.evaluate<string>(`new Date(Date.now() + ${seconds * 1000}).toTimeString().slice(0, ${length})`);
    await page.getByText(`No chat. It tries again at ${await timeIn(30, 8)}.`).waitFor();
    await page.clock.fastForward(30_000);
    await page.getByText(`Full. It tries again at ${await timeIn(30, 8)}.`).waitFor();
    await page.clock.fastForward(30_000);
    await page.getByText(`Many. It tries again at ${await timeIn(7200, 5)}.`).waitFor();
    assert.equal(calls().length, 3);
    await page.locator("#retry").click();
    await stateIs(page, "open");
    await draws(page, "11");
    assert.equal(await page.locator("#retry").isVisible(), false);
    await page.clock.fastForward(7_200_000);
    assert.equal(calls().length, 4);
  });

  for (const path of ["/?", "/overlay?"])
    it(`leaves a stream without a byte for longer than a keepalive takes, and no sooner, on ${path}`, async () => {
      let alive = (): unknown => assert.fail("no stream was asked for");
      const first: Answer = (response, call) => {
        streams(init(10), message(11))(response, call);
        alive = () => response.write(": keepalive\n\n");
      };
      await using opened = await open(path, [first, () => {}], "stands still");
      const { page } = opened;
      await draws(page, "11");
      // The page's clock does not run: wait until the page has read the comment.
      const armed = "waits.filter((ms) => ms === 16_500).length";
      for (const _ of [1, 2]) {
        const before = await page.evaluate<number>(armed);
        await page.clock.fastForward(15_000);
        alive();
        await until(page, `${armed} > ${before}`);
        await stateIs(page, "open");
      }
      await page.clock.fastForward(16_500);
      await stateIs(page, "reconnecting");
      if (path === "/?") assert.match(await statusOf(page), /connection was lost.*Try now/s);
    });

  it("asks a service that is away again within 2.5 s, without words, on the overlay", async () => {
    const away: Answer = (response) => response.writeHead(502, { "content-type": "text/html" }).end("Away");
    let cut = (): unknown => assert.fail("no stream was asked for");
    const first: Answer = (response, call) => {
      streams(init(10), message(11))(response, call);
      cut = () => response.socket?.destroy();
    };
    const back = streams(init(11), message(12));
    await using opened = await open("/overlay?", [first, ...Array(6).fill(away), back], "stands still");
    const { page, calls } = opened;
    await draws(page, "11");
    cut();
    for (let asked = 1; asked < 8; asked += 1) {
      await until(page, `waits.filter((ms) => ms <= 2500).length === ${asked}`);
      assert.equal(calls().length, asked);
      await page.clock.fastForward(2500);
    }
    await draws(page, "12");
    assert.equal(await page.locator("#status").isVisible(), false);
  });

  it("asks a service that is away again within 2.5 s, counts the seconds, and can try at once", async () => {
    const away: Answer = (response) => response.writeHead(502, { "content-type": "text/html" }).end("Away");
    let cut = (): unknown => assert.fail("no stream was asked for");
    const first: Answer = (response, call) => {
      streams(init(10), message(11))(response, call);
      cut = () => response.socket?.destroy();
    };
    const back = streams(init(11), message(12));
    await using opened = await open("/?", [first, away, away, away, back], "stands still");
    const { page, calls } = opened;
    await draws(page, "11");
    cut();
    await page.getByText(/Trying again in [123] s/).waitFor();
    assert.match(await statusOf(page), /^The connection was lost\. Trying again in [123] s\s*Try now$/);
    for (const asked of [2, 3]) {
      await page.getByText(/Trying again in [123] s/).waitFor();
      assert.equal(calls().length, asked - 1);
      await page.clock.fastForward(2500);
      await page.getByText(/Trying again in [123] s/).waitFor();
      assert.equal(calls().length, asked);
    }
    // A screen reader hears that it tries again, but not each second.
    assert.match(await page.locator("#status [aria-hidden]").innerText(), /in [123] s/);
    await page.locator("#retry").click();
    await page.getByText(/Trying again in [123] s/).waitFor();
    await page.locator("#retry").click();
    await stateIs(page, "open");
    await draws(page, "12");
    assert.deepEqual(calls().slice(1), ["11", "11", "11", "11"]);
  });

  it("blames no limit of the browser for a connection that was lost, however long another try takes", async () => {
    let cut = (): unknown => assert.fail("no stream was asked for");
    const first: Answer = (response, call) => {
      streams(init(10), message(11))(response, call);
      cut = () => response.socket?.destroy();
    };
    await using opened = await open("/?", [first, () => {}], "stands still");
    const { page, calls } = opened;
    await draws(page, "11");
    cut();
    await page.locator("#retry").click();
    await until(page, "document.querySelector('#retry').hidden");
    await page.clock.fastForward(5000);
    assert.match(await statusOf(page), /^The connection was lost\. Trying again …$/);
    assert.equal(calls().length, 2);
    await stateIs(page, "reconnecting");
  });

  it("says at once that the device is offline, and goes on as soon as it is not", async () => {
    await using opened = await open("/?", [streams(init(10), message(11)), streams(init(11), message(12))]);
    const { page, calls } = opened;
    await page.locator(rowOf("11")).waitFor();
    await page.context().setOffline(true);
    await stateIs(page, "reconnecting");
    assert.match(await statusOf(page), /This device is offline\./);
    await page.context().setOffline(false);
    await page.locator(rowOf("12")).waitFor();
    await stateIs(page, "open");
    assert.deepEqual(calls(), [undefined, "11"]);
  });

  it("resumes when a released chat is opened again", async () => {
    await using opened = await open("/?", [
      streams(init(10), message(11), RELEASED),
      streams(init(11), message(12)),
    ]);
    const { page, calls } = opened;
    await stateIs(page, "ended");
    assert.match(
      await statusOf(page),
      /^The service has stopped reading this chat\. Open the video again to continue\.$/,
    );
    await page.locator("#open button").click();
    await page.locator(rowOf("12")).waitFor();
    assert.deepEqual(
      [await idsOf(page), calls()],
      [
        ["11", "12"],
        [undefined, "11"],
      ],
    );
  });

  it("says after 10 s of connecting what the reason may be", async () => {
    await using opened = await open("/?", [() => {}], "stands still");
    const { page } = opened;
    await stateIs(page, "connecting");
    await until(page, "waits.includes(3000)");
    assert.doesNotMatch(await statusOf(page), /six streams/);
    await page.clock.fastForward(10_000);
    assert.match(await statusOf(page), /six streams to one host/);
  });

  const waits: [what: string, answers: Answer[], seconds: number[], named?: string][] = [
    ["a chat that has not begun, every 30 s", [NONE], [30, 30, 30]],
    [
      "a chat that fails, after 30 s and up to 5 min",
      [streams(init(10), message(11), BROKEN), streams(init(11), BROKEN)],
      [30, 60, 120, 240, 300, 300],
    ],
    ["a chat that was released, after 3 s", [streams(init(10), message(11), RELEASED)], [3, 3]],
    ["a channel that does not exist yet, every 30 s", [NONE], [30, 30, 30], ALL_OF_CHANNEL],
    [
      "a failing or refused channel, in 30 s to 5 min",
      [streams(QUIET, BROKEN), refuses(403, { code: "FORBIDDEN", message: "No." })],
      [30, 60, 120, 240, 300, 300],
      ALL_OF_CHANNEL,
    ],
  ];
  for (const [what, answers, seconds, named] of waits) {
    it(`has an overlay that silently asks again for ${what}`, async () => {
      await using opened = await open("/overlay?", answers, "stands still", named);
      const { page, calls } = opened;
      for (const [at, wait] of seconds.entries()) {
        // Without the waits for bytes, and the first one, after which the overlay says why it waits.
        const waits = "waits.filter((ms) => ms !== 45_000 && ms !== 16_500).slice(1)";
        await until(page, `${waits}.length === ${at + 1}`);
        assert.equal(await page.evaluate(`${waits}.at(-1)`), wait * 1000);
        assert.equal(calls().length, at + 1);
        await page.clock.fastForward(wait * 1000);
      }
      assert.equal(await page.locator("#status").isVisible(), false);
      const words = (await page.locator("body").innerText()).trim();
      assert.equal(words, calls()[1] === undefined ? "" : "x");
      const state = await page.locator("html").getAttribute("data-state");
      assert.match(state ?? "", /^(waiting|open|reconnecting)$/);
    });
  }

  for (const [what, named, frames, state] of [
    ["waits for the channel's stream", "channel=@somebody", QUIET, "waiting"],
    ["is told that the chat is over", undefined, END, "ended"],
  ] as const)
    it(`has an overlay that says nothing once it ${what}, early or late`, async () => {
      for (const isLate of [false, true]) {
        let answer = (): void => assert.fail("no stream was asked for");
        const held: Answer = (response, call) => {
          answer = () => void streams(frames)(response, call);
          if (!isLate) answer();
        };
        await using opened = await open("/overlay?", [held], "stands still", named);
        const { page, calls } = opened;
        await until(page, "waits.includes(3000)");
        if (isLate) {
          await page.clock.fastForward(10_000);
          assert.match(await statusOf(page), /six streams to one host/);
          answer();
        }
        await stateIs(page, state);
        await page.clock.fastForward(10_000);
        assert.equal(await page.locator("#status").isVisible(), false);
        await stateIs(page, state);
        assert.equal(calls().length, 1);
      }
    });

  it("draws messages without some fields as far as possible", async () => {
    const bare = 'id: 11\nevent: message\ndata: {"type":"brand_new","id":"bare","message":"hi"}\n\n';
    for (const path of ["/?", "/overlay?"]) {
      await using opened = await open(path, [streams(init(10), bare, message(12))]);
      const { page } = opened;
      await page.locator(rowOf("12")).waitFor();
      assert.deepEqual(await idsOf(page), ["bare", "12"]);
    }
  });
});
