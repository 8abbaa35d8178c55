/** Chats that are recorded, watched or not, and the list of what is stored and read. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../src/clock.ts";
import type { ListedRoom } from "../src/rooms/listing.ts";
import { recordChat } from "../src/rooms/recorder.ts";
import { MemoryStore } from "../src/store/memory.ts";
import { ask } from "./support/api.ts";
import { outcome } from "./support/command.ts";
import { FakeClock } from "./support/fake-clock.ts";
import { startRelay } from "./support/relay.ts";
import { roomsOn } from "./support/rooms-on.ts";
import { Stream } from "./support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
const TEXT = { kinds: ["text"], timeoutMs: 10 } as const;

type Listed = { retentionDays: number; rooms: ListedRoom[] };

/** The room as the service lists it, once it is as wanted. */
async function listedOnce(url: string, isWanted: (room: ListedRoom) => boolean): Promise<ListedRoom> {
  for (const limit = AbortSignal.timeout(10_000); ; await delay(10)) {
    const { body } = await ask<Listed>(url, "/v1/rooms");
    const [room] = body.rooms;
    if (room && isWanted(room)) return room;
    assert.ok(!limit.aborted, JSON.stringify(body));
  }
}

describe("a recorded chat", () => {
  it("is read from the start of the service to its end with nobody there, and again by nobody", async () => {
    const settings = { RELAY_RECORD: `https://youtu.be/${VIDEO}, `, RELAY_GRACE_MS: "1" };
    await using relay = await startRelay({ settings });
    const chat = relay.upstream.chat(VIDEO, TEXT); // not there at the start, perhaps
    chat.say(20);
    await using again = await startRelay({ settings, upstream: relay.upstream });
    await listedOnce(again.url, ({ messages }) => messages === 20);
    chat.say(30);
    await listedOnce(again.url, ({ messages, state }) => messages === 50 && state === "polling");
    chat.end("reload-only");
    const { firstAt, lastAt, ...room } = await listedOnce(again.url, ({ state }) => state === "ended");
    assert.deepEqual(room, {
      videoId: VIDEO,
      state: "ended",
      messages: 50,
      viewers: 0,
      lateMs: null,
      gaps: 0,
      egress: null,
      fullAnswers: null,
    });
    assert.ok(Date.parse(firstAt ?? "") <= Date.parse(lastAt ?? ""));
    await using reader = await Stream.open(again.url, { videoId: VIDEO, lastEventId: 0 });
    await reader.ended();
    assert.deepEqual(
      reader.ids,
      chat.ledger.map(({ id }) => id),
    );
  });

  it("that has not begun is tried again every 60 s, and after a failure too", async () => {
    await using parts = await roomsOn(new MemoryStore(systemClock));
    const clock = new FakeClock();
    const stop = new AbortController();
    const recording = recordChat(VIDEO, { ...parts, clock }, stop.signal);
    const { upstream } = parts;
    const looks = () => upstream.requests.filter(({ kind }) => kind === "popout").length;
    await upstream.requested("next", { videoId: VIDEO });
    await delay(50); // the answer is on its way
    await clock.advance(59_000);
    assert.equal(looks(), 1);
    const chat = upstream.chat(VIDEO, TEXT);
    chat.say(3);
    await clock.advance(1000);
    await upstream.requested("get_live_chat", { videoId: VIDEO });
    chat.end("reload-only");
    await recording;
    const record = await parts.store.getRoom(VIDEO);
    assert.equal((record?.head ?? 0) - (record?.base ?? 0), 3);
  });
});

describe("livechat-relay rooms", () => {
  it("prints a table, and says when messages are deleted", async () => {
    await using relay = await startRelay();
    relay.upstream.chat(VIDEO, TEXT).say(4);
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO });
    await viewer.untilMessages(4);
    const { code, out, error } = await outcome(["rooms", "--server", relay.url]);
    assert.equal(code, 0);
    const time = "\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d";
    assert.match(out, /^VIDEO +STATE +MESSAGES +FIRST +LAST +VIEWERS +LATE +GAPS +FULL +EGRESS\n/);
    assert.match(
      out,
      new RegExp(`\n${VIDEO} +polling +4 +${time} +${time} +1 +\\d+\\.\\d s +0 +0 +direct\n$`),
    );
    assert.equal(error, "livechat-relay: messages are deleted after 30 days (RELAY_RETENTION_DAYS)\n");
  });
});
