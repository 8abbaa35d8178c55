/**
 * A chat of the SDK on the service itself: nothing is lost and nothing comes twice, whatever happens in
 * between.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chat, merged } from "../../../client/index.ts";
import { startSimulator } from "../../../simulator/index.ts";
import { Line } from "../../chaos/line.ts";
import { AnsweringFetch } from "../../support/answering-fetch.ts";
import { END, init, messages } from "../../support/answering-server.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { temporaryFile } from "../../support/store-subject.ts";

const VIDEO = "dQw4w9WgXcQ";
const FAST = { videoId: VIDEO, backfill: 500, backoff: { baseMs: 20 } };

describe("a chat of the SDK on the service", () => {
  it("yields everything once over a connection that is cut again and again", async () => {
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

  it("of videos and channels yields everything once over cuts, and again after its cursors", async () => {
    await using relay = await startRelay();
    const TEXT = { kinds: ["text"], timeoutMs: 5 } as const;
    const live = [relay.upstream.channel("@one"), relay.upstream.channel("@two")].map(
      (channel, n) => channel.broadcast(`broadcast-${n}`, { chat: TEXT }).chat,
    );
    const chats = [relay.upstream.chat(VIDEO, TEXT), ...live];
    const said = chats.flatMap((one) => one.say(30));
    await using line = await Line.to(Number(new URL(relay.url).port));
    const names = { videoIds: [VIDEO], channels: ["@One", "https://www.youtube.com/@two"] };
    const options = { ...names, backfill: 500, backoff: { baseMs: 20 } };
    const room = merged(line.url, options);
    room.on("gap", () => assert.fail("a gap"));
    const received: string[] = [];
    for await (const { id } of room) {
      received.push(id);
      if (received.length % 90) continue;
      if (received.length === 450) break;
      said.push(...chats.flatMap((one) => one.say(30)));
      line.cut();
    }
    said.push(...chats.flatMap((one) => one.say(30)));
    const backwards = { channels: names.channels.toReversed(), videoIds: names.videoIds };
    for (const place of [
      { ...names, cursor: room.cursor },
      { ...backwards, cursors: room.cursors },
    ]) {
      const again = merged(line.url, { ...options, ...place });
      again.on("gap", () => assert.fail("a gap"));
      const rest: string[] = [];
      for await (const { id } of again) if (rest.push(id) === 90) break;
      assert.deepEqual([...received, ...rest].toSorted(), said.toSorted());
    }
  });

  it("continues where it was after the service has gone, and is back on its store", async (t) => {
    await using upstream = await startSimulator();
    const spoken = upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 20, tokens: "reusable" });
    const said = spoken.say(20);
    const settings = { RELAY_STORE: `sqlite:${await temporaryFile(t)}` };
    const portOf = ({ url }: TestRelay) => Number(new URL(url).port);
    const first = await startRelay({ upstream, settings });
    await using line = await Line.to(portOf(first));
    const room = chat(line.url, FAST);
    const states: string[] = [];
    room.on("state", (state) => states.push(state));
    const received: string[] = [];
    let second: TestRelay | undefined;
    t.after(() => second?.[Symbol.asyncDispose]());
    for await (const { id } of room) {
      received.push(id);
      if (received.length === 20) {
        line.shut();
        await first[Symbol.asyncDispose]();
        said.push(...spoken.say(20));
        second = await startRelay({ upstream, settings });
        line.leadsTo = portOf(second);
        await line.open();
      }
      if (received.length === 40) break;
    }
    assert.deepEqual(received, said);
    assert.ok(states.includes("reconnecting"), states.join());
  });

  it("resumes by its cursor after the reader restarts", async () => {
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

/** A stream without sockets: `next` makes each piece when it is asked for, and ends it with `undefined`. */
function pulled(next: (asked: number) => string | undefined): Response {
  let asked = 0;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const text = next(asked++);
    if (text === undefined) controller.close();
    else controller.enqueue(new TextEncoder().encode(text));
  };
  const headers = { "content-type": "text/event-stream" };
  return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { headers });
}

describe("a loop that is slower than the chat", () => {
  it("is disconnected, resumes, and yields each of 20,000 messages once", async () => {
    const clock = new FakeClock();
    const opened: number[] = [];
    let tookAt = 0;
    /** Is disconnected if it took nothing for 100 ms. */
    const fetch: typeof globalThis.fetch = async (_, options) => {
      let sent = Number(new Headers(options?.headers).get("last-event-id") ?? 0);
      opened.push(sent);
      tookAt = clock.monotonic();
      return pulled((asked) => {
        if (asked === 0) return init(sent);
        if (sent === 20_000) return END;
        if (clock.monotonic() - tookAt > 100) return undefined;
        tookAt = clock.monotonic();
        sent += 100;
        return messages(sent - 99, sent);
      });
    };
    const read = async () => {
      let expected = 1;
      for await (const { cursor } of chat("http://relay", { ...FAST, fetch }, clock)) {
        assert.equal(cursor, expected++);
        if (cursor % 5000 === 0) await clock.sleep(400);
      }
      assert.equal(expected, 20_001);
    };
    const reading = read();
    await clock.advance(5000);
    await reading;
    assert.equal(opened.length, 4, `connections began after ${opened}`);
  });

  it("reads about 1,000 messages ahead, and keeps its connection busy meanwhile", async () => {
    const clock = new FakeClock();
    let sent = 0;
    const stream = pulled((asked) => {
      if (asked === 0) return init(0);
      sent += 10;
      return messages(sent - 9, sent);
    });
    const { fetch, calls } = new AnsweringFetch(clock, () => stream);
    const read = async () => {
      let received = 0;
      for await (const _ of chat("http://relay", { ...FAST, fetch }, clock)) {
        received += 1;
        await clock.sleep(60_000); // longer than a connection may be idle
        assert.ok(sent < received + 1100, `${sent} sent, ${received} handed out`);
        if (received === 20) break;
      }
    };
    const reading = read();
    await clock.advance(20 * 60_000);
    await reading;
    assert.deepEqual([calls, sent > 900], [[0], true]);
  });
});
