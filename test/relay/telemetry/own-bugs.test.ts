/** Bugs of the service itself: they are logged with their stacks, and stop neither the service nor a room. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { errorConverter } from "../../../src/http/error-answers.ts";
import { ChannelViewer } from "../../../src/multiplex/channel-viewer.ts";
import { CHAT_EVENT_FORMS } from "../../../src/multiplex/chat-events.ts";
import { Multiplex } from "../../../src/multiplex/multiplex.ts";
import { Broadcasts } from "../../../src/rooms/channels/broadcasts.ts";
import type { ChannelWatch } from "../../../src/rooms/channels/channel-watch.ts";
import { recordChannel } from "../../../src/rooms/recordings/record-channel.ts";
import { recordChat } from "../../../src/rooms/recordings/record-chat.ts";
import { FORMS } from "../../../src/serving/form.ts";
import { MessageFilter } from "../../../src/serving/message-filter.ts";
import { SimulatedSink } from "../../harness/sink.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { ChannelVisitor } from "../../support/channel-visitor.ts";
import { recorderOf, runUntil } from "../../support/recorder-parts.ts";
import { HANDLE, MINUTE, watched } from "../../support/watched-channel.ts";

const VIDEO = "dQw4w9WgXcQ";
const BUG = new TypeError("a bug");

const fail = async (): Promise<never> => {
  throw BUG;
};

/** The log lines that show the bug with its stack. */
const shown = (relay: VirtualRelay) =>
  relay.log
    .filter(({ err }) => (err as { stack?: string } | undefined)?.stack?.startsWith("TypeError: a bug\n"))
    .map(({ msg }) => msg.replace(/:.*/, ""));

it("a room without viewers here is released if counting those of other instances throws", async () => {
  const relay = new VirtualRelay();
  relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(1);
  const viewer = await relay.enter({ videoId: VIDEO });
  relay.store.ownership.watchedForMs = fail;
  viewer.leave();
  await relay.advance(120_000);
  assert.deepEqual(shown(relay), ["room broken"]);
  const [room] = await relay.when(relay.list.all());
  assert.equal(room?.state, "released");
});

it("a bug in the release of a room is logged, and the next viewer is served", async () => {
  const relay = new VirtualRelay();
  relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(1);
  const viewer = await relay.enter({ videoId: VIDEO });
  const { finish } = relay.store;
  relay.store.finish = fail;
  viewer.leave();
  await relay.advance(120_000);
  assert.deepEqual(shown(relay), ["room broken"]);
  relay.store.finish = finish;
  const next = await relay.enter({ videoId: VIDEO, backfill: 1 });
  await next.untilMessages(1);
});

it("a bug in the search for a chat that is over fails its viewers, and the next ones are served", async () => {
  const relay = new VirtualRelay();
  relay.upstream.chat(VIDEO).end("reload-only");
  const { getRoom } = relay.store;
  let reads = 0;
  relay.store.getRoom = (videoId) => (reads++ === 0 ? getRoom(videoId) : fail());
  await assert.rejects(relay.enter({ videoId: VIDEO }), BUG);
  relay.store.getRoom = getRoom;
  assert.equal((await relay.refusal({ videoId: VIDEO })).code, "NO_LIVE_CHAT");
});

it("a bug in a recording is logged, and the recording tried again", async () => {
  const relay = new VirtualRelay();
  relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(1);
  const { getRoom } = relay.store;
  relay.store.getRoom = fail;
  const stopped = new AbortController();
  void recordChat(VIDEO, recorderOf(relay), runUntil(stopped.signal));
  await relay.advance(1000);
  assert.deepEqual(shown(relay), ["recording failed by a fault of the service"]);
  relay.store.getRoom = getRoom;
  await relay.advance(70_000);
  assert.equal((await relay.stored(VIDEO)).length, 1);
  stopped.abort();
});

it("a bug in reading old messages disconnects their viewer alone, and is counted", async () => {
  const relay = new VirtualRelay();
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], page: 600 });
  chat.say(600);
  const other = await relay.enter({ videoId: VIDEO });
  const { read } = relay.store;
  relay.store.read = fail;
  const viewer = await relay.enter({ videoId: VIDEO, lastEventId: 0 });
  await relay.advance(1000);
  assert.deepEqual([viewer.sink.closedBy, other.sink.closedBy], ["reset", undefined]);
  assert.deepEqual(shown(relay), ["room broken"]);
  const dropped = (reason: string) => relay.metric(`relay_viewers_dropped_total{reason="${reason}"}`);
  assert.deepEqual([await dropped("broken"), await dropped("full")], [1, 0]);
  relay.store.read = read;
});

/** A watch of a channel whose only stream has no chat; it cannot take the report of that. */
function brokenWatch(relay: VirtualRelay): ChannelWatch {
  relay.upstream.chat(VIDEO).end("reload-only");
  const broadcast = { videoId: VIDEO, state: "live", isFar: false };
  const broadcasts = new Broadcasts();
  broadcasts.show({ channel: "@somebody", videoId: VIDEO, state: "live" });
  return {
    broadcasts,
    names: [],
    shows: () => true,
    failed: () => {
      throw BUG;
    },
    async *views(signal: AbortSignal) {
      yield { broadcasts: [broadcast] };
      await relay.clock.sleep(600_000, signal);
    },
    [Symbol.dispose]() {},
  } as unknown as ChannelWatch;
}

it("a bug in the watch of a channel ends the connection of the viewer that meets it", async () => {
  const relay = new VirtualRelay();
  const watch = brokenWatch(relay);
  const sink = new SimulatedSink(FORMS.sse.plain.bare, () => {});
  const { rooms, clock, telemetry } = relay;
  const { videoChannels } = relay.service;
  const toRelayError = errorConverter("/v1/stream", telemetry);
  const parts = { watch, videoChannels, rooms, clock, form: CHAT_EVENT_FORMS.sse.plain, toRelayError };
  const request = {
    backfill: 0,
    filter: MessageFilter.everything,
    wantsVideo: false,
    facts: undefined,
    resume: undefined,
    address: "",
  };
  await relay.when(new ChannelViewer(new Multiplex(sink, "sse"), request, parts).run());
  assert.deepEqual([sink.closedBy, shown(relay), rooms.viewerCount], ["end", ["a request failed"], 0]);
});

it("a bug as a channel turns ends it with an error, and its connection's other chats go on", async () => {
  const { relay, upstream, channel } = watched();
  const [alone, live, next] = ["video-alone", "live-first1", "live-secon1"];
  const chat = upstream.chat(alone, { kinds: ["text"] });
  const { chat: left } = channel.broadcast(live, { chat: { kinds: ["text"] } });
  const viewer = new ChannelVisitor(relay.service, undefined, { videoIds: alone, channels: HANDLE });
  await relay.advance(MINUTE);
  left.say(1);
  await relay.advance(MINUTE);
  assert.deepEqual(viewer.news().slice(-1), [`message ${live}`]);
  const { getRoom } = relay.store;
  relay.store.getRoom = (key) => (key === live ? fail() : getRoom(key));
  channel.broadcast(next, { chat: { kinds: ["text"] } });
  await relay.advance(2 * MINUTE);
  const news = viewer.news();
  assert.deepEqual(news.slice(news.indexOf("error INTERNAL")), ["error INTERNAL"]);
  relay.store.getRoom = getRoom;
  left.say(2);
  const said = chat.say(2);
  await relay.advance(MINUTE);
  assert.deepEqual(viewer.news(), [`message ${alone}`]);
  assert.deepEqual(viewer.ids.slice(-2), said);
  assert.deepEqual(shown(relay), ["a request failed"]);
});

it("a bug in the watch of a channel is logged by the recording that meets it", async () => {
  const relay = new VirtualRelay();
  const watch = brokenWatch(relay);
  const parts = { ...recorderOf(relay), channels: { watch: () => watch } };
  const stopped = new AbortController();
  void recordChannel("@somebody", parts as never, runUntil(stopped.signal));
  await relay.advance(20_000);
  assert.deepEqual(shown(relay), ["recording failed by a fault of the service"]);
  stopped.abort();
});
