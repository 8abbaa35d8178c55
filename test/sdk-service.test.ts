/** A chat of the SDK on the service itself: nothing is lost and nothing comes twice, whatever happens in between. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Line } from "../chaos/line.ts";
import { chat } from "../client/index.ts";
import { startSimulator } from "../src/simulator/index.ts";
import { AnsweringServer, END, init, message } from "./support/answering-server.ts";
import { startRelay } from "./support/relay.ts";
import { startProcess } from "./support/relay-process.ts";
import { temporaryFile } from "./support/store-subject.ts";

const VIDEO = "dQw4w9WgXcQ";
const FAST = { videoId: VIDEO, backfill: 500, backoff: { baseMs: 20 } };

describe("a chat of the SDK on the service", () => {
  it("has everything once over a line that is cut again and again", async () => {
    await using relay = await startRelay();
    const upstream = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 5 });
    const said = upstream.say(50);
    await using line = await Line.to(Number(new URL(relay.url).port));
    const room = chat(line.url, FAST);
    room.on("gap", () => assert.fail("a gap"));
    const received: string[] = [];
    for await (const { id } of room) {
      received.push(id);
      if (received.length % 50 === 0) {
        if (received.length < 500) said.push(...upstream.say(50));
        if (received.length === 500) upstream.end("seek-only");
        line.cut();
      }
    }
    assert.deepEqual(received, said);
    assert.ok(line.requests.length > 5);
  });

  it("goes on where it was after a kill of the service", async (t) => {
    await using upstream = await startSimulator();
    const spoken = upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 20, tokens: "reusable" });
    const said = spoken.say(20);
    await using service = await startProcess(upstream, { RELAY_STORE: `sqlite:${await temporaryFile(t)}` });
    const room = chat(service.url, FAST);
    const received: string[] = [];
    for await (const { id } of room) {
      received.push(id);
      if (received.length === 20) {
        service.signal("SIGKILL");
        await service.exited;
        said.push(...spoken.say(20));
        await service.start();
      }
      if (received.length === 40) break;
    }
    assert.deepEqual(received, said);
  });

  it("resumes after a restart of the reader by its cursor", async () => {
    await using relay = await startRelay();
    const upstream = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 5 });
    const said = upstream.say(30);
    const read = async (cursor: number | undefined, count: number) => {
      const ids: string[] = [];
      const room = chat(relay.url, { ...FAST, cursor });
      for await (const { id } of room) if (ids.push(id) === count) break;
      return { ids, cursor: room.cursor };
    };
    const first = await read(undefined, 10);
    assert.deepEqual([...first.ids, ...(await read(first.cursor, 20)).ids], said);
  });
});

/** 100,000 messages, cut off wherever the reader takes none for 100 ms. */
async function startFlood(count: number): Promise<AnsweringServer> {
  return AnsweringServer.start(async (response, { lastEventId = "0" }) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(init(Number(lastEventId)));
    for (let cursor = Number(lastEventId) + 1; cursor <= count && !response.destroyed; cursor++) {
      if (response.write(message(cursor, { padding: "x".repeat(200) }))) continue;
      const signal = AbortSignal.timeout(100);
      await once(response, "drain", { signal }).catch(() => response.socket?.resetAndDestroy());
    }
    response.end(END);
  });
}

describe("a loop that is slower than the chat", () => {
  it("is cut off, resumes, and is handed out 100,000 messages once each", { timeout: 60_000 }, async () => {
    await using server = await startFlood(100_000);
    let expected = 1;
    for await (const { cursor } of chat(server.url, { ...FAST, idleMs: 3000 })) {
      assert.equal(cursor, expected++);
      if (cursor % 25_000 === 0) await pause(400);
    }
    assert.equal(expected, 100_001);
    assert.ok(server.calls.length > 1, "it was never cut off");
  });

  it("is read ahead of by some 1,000 messages, and its connection is not idle meanwhile", async () => {
    let sent = 0;
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      const text = sent === 0 ? init(0) : Array.from({ length: 10 }, (_, n) => message(sent + n)).join("");
      sent += sent === 0 ? 1 : 10;
      controller.enqueue(new TextEncoder().encode(text));
    };
    let opened = 0;
    const fetch: typeof globalThis.fetch = async () => {
      opened += 1;
      const headers = { "content-type": "text/event-stream" };
      return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { headers });
    };
    const room = chat("http://relay.example", { videoId: "v", fetch, idleMs: 20 });
    let received = 0;
    for await (const _ of room) {
      received += 1;
      if (received > 5) await pause(5);
      if (received === 20) break;
      assert.ok(sent < received + 1100, `${sent} sent, ${received} handed out`);
    }
    assert.deepEqual([opened, sent > 900], [1, true]);
  });
});
