/** Chats that are recorded, watched or not, and the list of stored and open rooms. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chatKey } from "../../../src/protocol/chat-key.ts";
import type { ListedRoom } from "../../../src/rooms/listing.ts";
import { recordChat } from "../../../src/rooms/recordings/record-chat.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { ask } from "../../support/api.ts";
import { outcome } from "../../support/command.ts";
import { eventually } from "../../support/eventually.ts";
import { recorderOf, runUntil } from "../../support/recorder-parts.ts";
import { startRelay } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
const TEXT = { kinds: ["text"], timeoutMs: 10 } as const;

type Listed = { retentionDays: number; rooms: ListedRoom[] };

/** The room as the service lists it, once it is as wanted. */
async function listedOnce(url: string, isWanted: (room: ListedRoom) => boolean): Promise<ListedRoom> {
  let room: ListedRoom | undefined;
  await eventually(true, async () => {
    [room] = (await ask<Listed>(url, "/v1/rooms")).body.rooms;
    return room !== undefined && isWanted(room);
  });
  return room ?? assert.fail();
}

describe("a recorded chat", () => {
  it("is read from the start of the service to its end without viewers, and not again", async () => {
    const settings = { RELAY_RECORD: `https://youtu.be/${VIDEO}, `, RELAY_GRACE_MS: "1" };
    await using relay = await startRelay({ settings });
    const chat = relay.upstream.chat(VIDEO, TEXT); // not there at the start, perhaps
    chat.say(20);
    await using again = await startRelay({ settings, upstream: relay.upstream });
    await listedOnce(again.url, ({ messages }) => messages === 20);
    chat.say(30);
    await listedOnce(again.url, ({ messages, state }) => messages === 50 && state === "polling");
    chat.end("reload-only");
    const ended = await listedOnce(again.url, ({ state }) => state === "ended");
    const { firstAt, lastAt, view, ...room } = ended;
    assert.ok(view === "all" || view === null, `${view}`); // null once the grace time is over
    assert.deepEqual(room, {
      videoId: VIDEO,
      chatType: "liveChatRenderer",
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

  it("that ended while the service was down ends with a gap, and its replay is recorded, too", async () => {
    const relay = new VirtualRelay({ hasDisk: true, settings: { RELAY_RECORD: VIDEO } });
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 5000 });
    const before = chat.say(3);
    const { signal } = new AbortController();
    void recordChat(VIDEO, recorderOf(relay), runUntil(signal));
    await relay.advance(20_000);
    relay.kill();
    const after = chat.say(4);
    chat.end("reload-only");
    chat.change({ kind: "replay", pageSize: 2 });
    await relay.advance(600_000);
    relay.start();
    const states: unknown[] = [];
    const run = { ...runUntil(signal), report: ({ state }: { state?: string }) => states.push(state) };
    await relay.when(recordChat(VIDEO, recorderOf(relay), run));
    const idsOf = async (key: string) => (await relay.stored(key)).map(({ id }) => id);
    const [gap = "", ...others] = (await idsOf(VIDEO)).slice(before.length);
    assert.deepEqual([gap.split(":")[0], others], ["gap", []]);
    assert.deepEqual(await idsOf(chatKey(VIDEO, "replay")), [...before, ...after]);
    assert.deepEqual([...new Set(states)], ["recording", "ended"]);
  });

  it("that was read to its end stays over, whatever the pages of its video show later", async () => {
    const relay = new VirtualRelay({ hasDisk: true, settings: { RELAY_RECORD: VIDEO } });
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"] });
    chat.say(3);
    const recording = recordChat(VIDEO, recorderOf(relay), runUntil(new AbortController().signal));
    await relay.advance(20_000);
    chat.end("reload-only");
    chat.change({ kind: "replay" });
    await relay.when(recording);
    assert.equal(await relay.when(relay.store.getRoom(chatKey(VIDEO, "replay"))), undefined);
  });

  it("that has not begun is tried again every 60 s, also after a failure", async () => {
    const relay = new VirtualRelay();
    const { upstream } = relay;
    const recording = recordChat(VIDEO, recorderOf(relay), runUntil(new AbortController().signal));
    const asked = (place: string) => upstream.requests.filter(({ kind }) => kind === place);
    await relay.until(() => asked("popout").length === 4);
    const [, ...again] = asked("popout");
    const failures = asked("next").map(({ finishedAt = 0 }) => finishedAt);
    const waits = again.map(({ at }, look) => Math.floor((at - (failures[look] ?? 0)) / 1000));
    assert.deepEqual(waits, [60, 60, 60]);
    const chat = upstream.chat(VIDEO, TEXT);
    chat.say(3);
    await relay.requested("get_live_chat", { videoId: VIDEO });
    chat.end("reload-only");
    await relay.when(recording);
    assert.equal((await relay.stored(VIDEO)).length, 3);
  });

  it("that has not begun is tried although the service remembers for others that there is no chat", async () => {
    const relay = new VirtualRelay({ settings: { RELAY_NO_CHAT_MS: "3600000" } });
    const { upstream } = relay;
    const recording = recordChat(VIDEO, recorderOf(relay), runUntil(new AbortController().signal));
    const looks = () => upstream.requests.filter(({ kind }) => kind === "popout").length;
    await relay.advance(30_000);
    assert.equal((await relay.refusal({ videoId: VIDEO })).code, "NO_LIVE_CHAT");
    assert.equal(looks(), 1);
    const chat = upstream.chat(VIDEO, TEXT);
    chat.say(3);
    await relay.advance(60_000);
    assert.equal((await relay.stored(VIDEO)).length, 3);
    chat.end("reload-only");
    await relay.when(recording);
  });

  it("that cannot be opened while the store fails is read as soon as the store works", async () => {
    const relay = new VirtualRelay({ hasDisk: true });
    const chat = relay.upstream.chat(VIDEO, TEXT);
    chat.say(3);
    relay.disk.goneUntil = Number.POSITIVE_INFINITY;
    const recording = recordChat(VIDEO, recorderOf(relay), runUntil(new AbortController().signal));
    await relay.advance(30_000);
    const waits = relay.log.filter(({ msg }) => msg.startsWith("chat cannot be recorded yet"));
    assert.deepEqual(
      waits.map(({ videoId, why, retryMs }) => [videoId, why, retryMs]),
      [[VIDEO, "The store is unavailable; try again shortly.", 5000]],
    );
    const { length: calls } = relay.upstream.requests;
    await relay.advance(60_000);
    assert.equal(relay.upstream.requests.length, calls, "calls of a room that cannot be opened");
    relay.disk.calm();
    const from = relay.clock.monotonic();
    chat.say(1);
    await relay.requested("get_live_chat", { videoId: VIDEO });
    assert.ok(relay.clock.monotonic() - from < 10_000, `${relay.clock.monotonic() - from} ms`);
    await relay.advance(1000);
    assert.equal((await relay.stored(VIDEO)).length, 4);
    chat.end("reload-only");
    await relay.when(recording);
  });
});

describe("livechat-relay rooms", () => {
  it("prints a table, and says when messages are deleted", async () => {
    await using relay = await startRelay();
    const channel = relay.upstream.channel("@singer", { title: "The \u202eSinger" });
    const title = `A\nnight of ${"so".repeat(30)}ngs`;
    channel.broadcast(VIDEO, { title, chat: { ...TEXT, foundOn: "watch" } }).chat.say(4);
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO });
    await viewer.untilMessages(4);
    const { code, out, error } = await outcome(["rooms", "--server", relay.url]);
    assert.equal(code, 0);
    const time = "\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d";
    assert.match(
      out,
      /^VIDEO +STATE +MESSAGES +FIRST +LAST +VIEWERS +LATE +GAPS +FULL +EGRESS +CHANNEL +TITLE\n/,
    );
    assert.match(
      out,
      new RegExp(
        `\n${VIDEO} +polling +4 +${time} +${time} +1 +\\d+\\.\\d s +0 +0 +direct +The Singer +A night of (so){24}…\n$`,
      ),
    );
    assert.equal(error, "livechat-relay: messages are deleted after 30 days (RELAY_RETENTION_DAYS)\n");
    // As many slashes as the SDK forgives.
    for (const slashes of ["/", "//"])
      assert.equal((await outcome(["rooms", "--server", relay.url + slashes])).code, 0, slashes);
  });
});
