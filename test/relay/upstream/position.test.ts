/** The stored position of reading a chat: an unreadable part is named, and stops nothing. */
import assert from "node:assert/strict";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { pino } from "pino";
import { startSimulator } from "../../../simulator/index.ts";
import type { Chat } from "../../../simulator/simulated-chat.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { openStream, textAction } from "../../support/opening.ts";
import { metric, startRelay, type TestRelay } from "../../support/relay.ts";
import { temporaryFile } from "../../support/store-subject.ts";

const VIDEO = "unreadable1";

describe("a position", () => {
  it("that cannot be read is logged and counted, and its room is bootstrapped when a viewer comes", async (t) => {
    await using upstream = await startSimulator();
    const path = await temporaryFile(t);
    const settings = { RELAY_STORE: `sqlite:${path}` };
    const chat = upstream.chat(VIDEO, { timeoutMs: 5 });
    chat.say([textAction("before")]);
    let lastEventId: number;
    {
      await using relay = await startRelay({ upstream, settings });
      await using stream = await openStream(relay, { videoId: VIDEO });
      lastEventId = (await stream.untilMessages(1))[0]?.cursor ?? Number.NaN;
    }
    const file = new DatabaseSync(path);
    file.prepare("update room set checkpoint = ?").run(JSON.stringify({ position: '{"version":99}' }));
    file.close();
    const log: string[] = [];
    const telemetry = new Telemetry(
      pino({ level: "warn" }, { write: (line: string) => void log.push(line) }),
    );
    await using relay = await startRelay({ upstream, settings, telemetry });
    await using stream = await openStream(relay, { videoId: VIDEO, lastEventId });
    chat.say([textAction("after")]);
    await stream.untilMessages(1);
    assert.deepEqual([stream.init.cursor, stream.ids], [lastEventId, ["after"]]);
    const told = log.map((text) => JSON.parse(text)).filter(({ msg }) => /checkpoint unreadable/.test(msg));
    assert.deepEqual(
      told.map(({ videoId }) => videoId),
      [VIDEO],
    );
    assert.match(
      await telemetry.registry.metrics(),
      /^relay_unreadable_checkpoints_total\{part="position"\} 1$/m,
    );
  });
});

describe("a stored room", () => {
  const OPEN_GIFT = { id: "a gift", author: "A", readAt: 1, names: ["Rose"], shownIn: "list" };

  /** By the damage: the damaged fields. */
  const DAMAGES: Record<string, (stored: { position: string }) => object> = {
    "deletions of another form": () => ({ deletions: 5 }),
    "no gifts": () => ({ gifts: undefined }),
    "gifts of another form": () => ({ gifts: { open: [{ name: "rose" }], firstForms: [] } }),
    "a gift after a time that is none": () => ({
      gifts: { open: [{ ...OPEN_GIFT, after: "soon" }], firstForms: [] },
    }),
    "a gift before a time that is none": () => ({
      gifts: { open: [{ ...OPEN_GIFT, before: {} }], firstForms: [] },
    }),
    "a gift read at a time that is a text": () => ({
      gifts: { open: [{ ...OPEN_GIFT, readAt: "1" }], firstForms: [] },
    }),
    "no threads": () => ({ threads: undefined }),
    "a gap without an end": () => ({ gap: { sinceMs: 1, reason: "down" } }),
    "a gap for a reason of a newer version": () => ({ gap: { sinceMs: 1, untilMs: 2, reason: "moonquake" } }),
    "a gap for a reason that every object has": () => ({
      gap: { sinceMs: 1, untilMs: 2, reason: "toString" },
    }),
    "a gap since a time that no clock shows": () => ({ gap: { sinceMs: 1e300, untilMs: 2, reason: "down" } }),
    "no age": () => ({ readAgoMs: undefined }),
    "an age that is a text": () => ({ readAgoMs: "60000" }),
    "an age before all times": () => ({ readAgoMs: 1e300 }),
    "an age in the future": () => ({ readAgoMs: -60_000 }),
    "a panel without a poll": ({ position }) => ({
      position: JSON.stringify({ ...JSON.parse(position), panels: [{ panelId: "p", pollId: "q" }] }),
    }),
    "panels of another form": ({ position }) => ({
      position: JSON.stringify({ ...JSON.parse(position), panels: {} }),
    }),
  };
  const all = { nothing: () => ({}), ...DAMAGES } satisfies typeof DAMAGES;
  const videoOf = (what: string) => `damaged-${String(Object.keys(all).indexOf(what)).padStart(3, "0")}`;
  const chats = new Map<string, Chat>();
  const cursors = new Map<string, number>();
  const owned = new AsyncDisposableStack();
  let relay: TestRelay;

  /** One relay stores all rooms, each is damaged in its own way, and another relay goes on with them. */
  before(async () => {
    const upstream = owned.use(await startSimulator());
    const path = join(owned.use(await mkdtempDisposable(join(tmpdir(), "position-"))).path, "relay.db");
    const settings = { RELAY_STORE: `sqlite:${path}` };
    {
      await using first = await startRelay({ upstream, settings });
      for (const what of Object.keys(all)) {
        const videoId = videoOf(what);
        const chat = upstream.chat(videoId, { timeoutMs: 5, tokens: "reusable" });
        chat.say([textAction("before")]);
        chats.set(what, chat);
        await using stream = await openStream(first, { videoId });
        cursors.set(what, (await stream.untilMessages(1))[0]?.cursor ?? Number.NaN);
      }
    }
    using file = new DatabaseSync(path);
    for (const [what, damage] of Object.entries<(typeof DAMAGES)[string]>(all)) {
      const id = videoOf(what);
      const { checkpoint } = file.prepare("select checkpoint from room where video_id = ?").get(id) ?? {};
      const read = JSON.parse(String(checkpoint));
      const damaged = JSON.stringify({ ...read, ...damage(read) });
      file.prepare("update room set checkpoint = ? where video_id = ?").run(damaged, id);
    }
    relay = owned.use(await startRelay({ upstream, settings }));
  });
  after(() => owned.disposeAsync());

  for (const what of Object.keys(all)) {
    const isDamaged = what in DAMAGES;
    it(`with ${what} in its checkpoint is continued${isDamaged ? " after a gap" : ""}`, async () => {
      const [videoId, lastEventId] = [videoOf(what), cursors.get(what) ?? Number.NaN];
      await using stream = await openStream(relay, { videoId, lastEventId });
      chats.get(what)?.say([textAction("after")]);
      await stream.until(() => stream.ids.includes("after"), "what is said later");
      assert.deepEqual(stream.ids, isDamaged ? [`gap:${lastEventId}`, "after"] : ["after"]);
    });
  }

  it("counts once as unreadable if a part of its checkpoint is damaged, and is resumed, not opened", async () => {
    const counts = [
      'relay_unreadable_checkpoints_total{part="memory"}',
      'relay_unreadable_checkpoints_total{part="position"}',
      "relay_rooms_resumed_total",
      "relay_rooms_opened_total",
    ].map(async (name) => (await metric(relay, name)) ?? 0);
    const damaged = Object.keys(DAMAGES).length;
    assert.deepEqual(await Promise.all(counts), [damaged, 0, damaged + 1, 0]);
  });
});
