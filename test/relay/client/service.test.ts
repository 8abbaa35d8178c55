/**
 * A chat of the SDK on the service itself: nothing is lost and nothing comes twice, whatever happens in
 * between.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chat, history, merged } from "../../../client/index.ts";
import { Line } from "../../chaos/line.ts";
import { AnsweringFetch } from "../../support/answering-fetch.ts";
import { END, init, messages } from "../../support/answering-server.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { startRelay } from "../../support/relay.ts";

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

  for (const transport of ["sse", "log"] as const)
    it(`ignores types that the service does not know, and still gets the others by its ${transport}`, async () => {
      await using relay = await startRelay();
      const [said] = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 5 }).say(1);
      const options = { ...FAST, types: ["nothing", " chat"] as string[] as "chat"[] };
      const rooms = [
        chat(relay.url, { ...options, transport }),
        merged(relay.url, { ...options, videoIds: [VIDEO] }),
        history(relay.url, options),
      ];
      for (const room of rooms) {
        for await (const { id } of room) {
          assert.equal(id, said);
          break;
        }
      }
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
