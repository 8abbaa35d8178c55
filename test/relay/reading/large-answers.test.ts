/**
 * Answers with more messages than the store gives in one read, and than a room holds in memory: each viewer
 * and each reader of the log gets each message once, at an instance and at its edges, however the append
 * goes.
 */
import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { type OriginService, requestLog } from "../../harness/origin-api.ts";
import type { VirtualViewer } from "../../harness/virtual-viewer.ts";
import { virtualEdge } from "../../support/virtual-edge.ts";
import { VIDEO, virtualRoom } from "../../support/virtual-room.ts";

/** Three reads of a follower, twelve pages of a viewer, and more than twice what a room holds. */
const COUNT = 1200;
const CHAT = { holdsMs: 60_000, holdsMessages: 2 * COUNT, page: 50, timeoutMs: 5000 };
/** Three keepalive intervals, after which a silent line is opened again, and some time for the rest. */
const LONG_MS = 60_000;

/** The ids of the first messages of a log, read by long polling. */
async function readLog(service: OriginService, count: number): Promise<string[]> {
  const ids: string[] = [];
  const { signal } = new AbortController();
  for (let offset = "-1"; ids.length < count; ) {
    const path = `/v1/log/${VIDEO}?offset=${offset}&live=long-poll`;
    const { statusCode, headers, body } = await requestLog(service, { path, headers: {} }, "reader", signal);
    if (statusCode >= 400) {
      await service.clock.sleep(1000); // it is refused for a while
      continue;
    }
    offset = `${headers["stream-next-offset"]}`;
    const items: { id: string }[] = statusCode === 200 ? JSON.parse(await text(body)) : [];
    ids.push(...items.map(({ id }) => id));
  }
  return ids;
}

describe("an answer of 1,200 messages", () => {
  for (const [how, disturb] of [
    ["that is stored at once", () => {}],
    ["whose append fails at first", (room) => room.relay.disk.failAtCommit(1, "refused")],
    ["whose append is not confirmed", (room) => room.relay.disk.failAtCommit(1, "unanswered")],
    ["whose line to the edge is cut", (_, edge) => edge.line.cut(1000)],
  ] as const satisfies [
    string,
    (room: Awaited<ReturnType<typeof virtualRoom>>, edge: Awaited<ReturnType<typeof virtualEdge>>) => void,
  ][]) {
    it(`${how} reaches viewers, logs and edges of edges once and in order`, async () => {
      const room = await virtualRoom(3, {}, CHAT, { hasDisk: true });
      const { relay, chat, viewer } = room;
      const edge = await virtualEdge(relay);
      const second = await virtualEdge(relay, {}, () => edge.life);
      const lives = [relay.service, edge.life, second.life];
      const visit = { videoId: VIDEO, backfill: 3 };
      const viewers: VirtualViewer[] = [viewer];
      for (const { rooms } of lives)
        viewers.push(await relay.enter(visit, rooms), await relay.enter({ ...visit, types: "chat" }, rooms));
      const slow = await relay.enter(visit);
      slow.sink.stall();
      const polled = lives.map((service) => readLog(service, 3 + COUNT));
      chat.say(COUNT);
      disturb(room, edge);
      await relay.advance(LONG_MS);
      slow.sink.readOn();
      await relay.advance(1000);
      for (const { ids } of [...viewers, slow]) assert.deepEqual(ids, room.ids());
      for (const ids of await Promise.all(polled)) assert.deepEqual(ids, room.ids());
    });
  }
});
