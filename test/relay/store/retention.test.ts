/** The service deletes messages older than the retention: by whose clock, and how viewers see it. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { type Simulator, startSimulator } from "../../../simulator/index.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { offsetOf } from "../../../src/serving/log-position.ts";
import { openStore } from "../../../src/store/open.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { whenever } from "../../harness/whenever.ts";
import { startTestEdge } from "../../support/edge.ts";
import { eventually } from "../../support/eventually.ts";
import { LeapingClock } from "../../support/leaping-clock.ts";
import { readLog } from "../../support/log.ts";
import { textAction } from "../../support/opening.ts";
import { startRelay } from "../../support/relay.ts";
import { readAll } from "../../support/store-reading.ts";
import { OTHER, ROOM, temporaryFile } from "../../support/store-subject.ts";
import { Stream } from "../../support/stream.ts";

const DAY_MS = 86_400_000;

describe("in the whole service, a start with a clock that is wrong", () => {
  const says = (id: string, time: object = { timestampUsec: `${Date.now()}000` }) => {
    const said = { id, ...time, message: { runs: [{ text: id }] } };
    return { addChatItemAction: { item: { liveChatTextMessageRenderer: said } } };
  };

  const ROUND_DAYS = 0.01;

  /** The service, with a clock that is ahead by this much, reads the chat until `told` was called. */
  async function life(url: string, upstream: Simulator, aheadMs: number, event?: "unwitnessed" | "pruned") {
    const clock = new (class extends LeapingClock {
      override now = () => super.now() + aheadMs;
    })();
    await using relay = await startRelay({
      settings: { RELAY_STORE: url, RELAY_RETENTION_DAYS: `${4 * ROUND_DAYS}` },
      upstream,
      clock,
    });
    await using viewer = await Stream.open(relay.url, { videoId: ROOM });
    await viewer.untilMessages(2);
    if (!event) return;
    for (let rounds = 0; rounds < 2; rounds++) {
      // The first one may have begun before the upstream was heard.
      const { promise, resolve } = Promise.withResolvers<void>();
      whenever(relay.telemetry.store, event, () => resolve());
      clock.leap(ROUND_DAYS * DAY_MS); // two of them leave it near the upstream's
      await clock.leapUntil(promise);
      if (event === "unwitnessed") return;
    }
  }

  const idsIn = async (url: string) => {
    const store = await openStore(url, systemClock, new Telemetry(silentLog));
    const all = await readAll(store, ROOM);
    await store.close();
    return all.map(({ id }) => id);
  };

  it("deletes nothing if it is ahead, and the log says so", async (t) => {
    const url = `sqlite:${await temporaryFile(t)}`;
    await using upstream = await startSimulator();
    upstream.chat(ROOM, { timeoutMs: 5 }).say([says("a"), says("b")]);
    await life(url, upstream, 0);
    assert.deepEqual(await idsIn(url), ["a", "b"]);
    await life(url, upstream, 40 * DAY_MS, "unwitnessed");
    assert.deepEqual(await idsIn(url), ["a", "b"]);
  });

  it("moves no restored store to cursors of the past: it is refused", async (t) => {
    const url = `sqlite:${await temporaryFile(t)}`;
    await using upstream = await startSimulator();
    upstream.chat(ROOM, { timeoutMs: 5 }).say([says("a"), says("b")]);
    await life(url, upstream, 0);
    const clock = { ...systemClock, now: () => systemClock.now() - 40 * DAY_MS };
    const settings = { RELAY_STORE: url, RELAY_RESTORED: "on" };
    await assert.rejects(
      startRelay({ settings, upstream, clock }),
      /^StoreOpenError: RELAY_RESTORED: the store's clock shows \S+, but its oldest message is of \S+: set the clock/,
    );
    assert.deepEqual(await idsIn(url), ["a", "b"]);
  });

  for (const [what, time] of [
    ["", undefined],
    [" without a time of its own", {}],
  ] as const)
    it(`keeps what it recorded in the past${what} once the clock is right`, async (t) => {
      const url = `sqlite:${await temporaryFile(t)}`;
      await using upstream = await startSimulator();
      upstream.chat(ROOM, { timeoutMs: 5 }).say([says("a", time), says("b", time)]);
      await life(url, upstream, -3652 * DAY_MS);
      await life(url, upstream, 0, "pruned");
      assert.deepEqual(await idsIn(url), ["a", "b"]);
    });
});

describe("in the whole service, a room that outlives the retention", () => {
  it("sends a viewer with an older cursor the remaining messages, and init.cursor shows it", async (t) => {
    const path = await temporaryFile(t);
    // Less than two seconds: the first messages are deleted while the viewer is away.
    const settings = { RELAY_STORE: `sqlite:${path}`, RELAY_RETENTION_DAYS: "0.00002" };
    await using relay = await startRelay({ settings });
    const chat = relay.upstream.chat(ROOM, { timeoutMs: 100 });
    const ids = Array.from({ length: 25 }, (_, n) => `m${n}`);
    chat.say(ids.slice(0, 10).map(textAction));
    const viewer = await Stream.open(relay.url, { videoId: ROOM });
    await viewer.untilMessages(10);
    const base = viewer.init.cursor;
    await viewer.close();

    const tool = new DatabaseSync(path, { readOnly: true });
    t.after(() => tool.close());
    const floor = tool.prepare("select floor from room");
    await eventually(base + 10, () => Number(floor.get()?.floor));
    chat.say(ids.slice(10, 20).map(textAction));
    await using resumed = await Stream.open(relay.url, { videoId: ROOM, lastEventId: base + 3 });
    await using all = await Stream.open(relay.url, { videoId: ROOM, lastEventId: 0 });
    chat.say(ids.slice(20).map(textAction));
    for (const stream of [resumed, all]) {
      await stream.until(() => stream.ids.includes("m24"), "m24");
      assert.ok(stream.init.cursor >= base + 10);
      assert.deepEqual(stream.ids, ids.slice(stream.init.cursor - base));
    }
  });
});

describe("a chat so quiet that its messages are deleted while it is read", () => {
  it("is not sent from memory for more than ten minutes, nor by an edge", async (t) => {
    const path = await temporaryFile(t);
    const clock = new LeapingClock();
    const settings = { RELAY_STORE: `sqlite:${path}`, RELAY_RETENTION_DAYS: "0.00002" };
    await using relay = await startRelay({ settings, clock });
    await using edge = await startTestEdge(relay.url, {}, clock);
    relay.upstream.chat(ROOM, { kinds: ["text"], timeoutMs: 100 }).say(10);
    const urls = [relay.url, edge.url];
    let cursors: readonly number[] = [];
    for (const url of urls) {
      const viewer = await Stream.open(url, { videoId: ROOM });
      t.after(() => viewer.close());
      await viewer.untilMessages(10);
      ({ cursors } = viewer);
    }
    const [first = 0, head = 0] = [cursors[0], cursors.at(-1)];
    const tool = new DatabaseSync(path, { readOnly: true });
    t.after(() => tool.close());
    const floor = tool.prepare("select floor from room");
    await eventually(head, () => Number(floor.get()?.floor));

    clock.leap(600_000);
    for (const url of urls) {
      const poll = async () => await readLog(url, ROOM, { offset: offsetOf(first + 3), live: "long-poll" });
      await eventually(410, async () => (await poll()).status);
      for (const start of [{ backfill: 10 }, { lastEventId: first + 3 }]) {
        await using viewer = await Stream.open(url, { videoId: ROOM, ...start });
        await viewer.until(() => viewer.frames.length > 0);
        assert.ok(viewer.init.cursor >= head);
      }
    }
  });
});

it("a video without a chat leaves nothing in the store, and a finished one its end", async (t) => {
  const path = await temporaryFile(t);
  const settings = { RELAY_STORE: `sqlite:${path}`, RELAY_GRACE_MS: "1", RELAY_NO_CHAT_MS: "0" };
  await using relay = await startRelay({ settings });
  const chat = relay.upstream.chat(ROOM, { timeoutMs: 5 });
  chat.say(1);
  await using viewer = await Stream.open(relay.url, { videoId: ROOM });
  await viewer.untilMessages(1);
  chat.end("reload-only");
  await viewer.ended();
  const tool = new DatabaseSync(path, { readOnly: true });
  t.after(() => tool.close());
  const rooms = () => tool.prepare("select video_id, ending, ended_at, head from room").all();
  const before = rooms();
  for (const videoId of [ROOM, OTHER]) {
    const answer = await fetch(`${relay.url}/v1/stream?videoId=${videoId}`);
    assert.ok(answer.status >= 400, `${answer.status}`);
    await answer.body?.cancel();
  }
  assert.deepEqual(rooms(), before);
});
