/**
 * Instances on one PostgreSQL that call from one address: its name gives them one spacing and one cooldown.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import type { SettingName } from "../../src/cli/setting-table.ts";
import { run } from "../chaos/cluster/postgres.ts";
import { clockedPostgres } from "../support/clocked-postgres.ts";
import { eventually } from "../support/eventually.ts";
import { ownSchema, type PostgresServer, testPostgres } from "../support/postgres-server.ts";
import { startRelay } from "../support/relay.ts";
import { wallAt } from "../support/store-subject.ts";
import { Stream, streamUrl } from "../support/stream.ts";

const SPACING_MS = 60;
const ROOMS = ["roomOfShare", "roomOfShar2", "roomOfShar3", "roomOfShar4"] as const;
const SETTINGS = {
  RELAY_EGRESS: "office=direct",
  RELAY_GATE_SPACING_MS: String(SPACING_MS),
  RELAY_DRAIN_MS: "0",
};

const { skip, server } = await testPostgres();

async function setUp(t: TestContext, own: readonly Partial<Record<SettingName, string>>[]) {
  const upstream = await startSimulator();
  t.after(() => upstream.close());
  const store = await ownSchema(t, server as PostgresServer);
  const relays = await Promise.all(
    own.map((settings) =>
      startRelay({ upstream, settings: { RELAY_STORE: store, ...SETTINGS, ...settings } }),
    ),
  );
  t.after(() => Promise.all(relays.map((relay) => relay[Symbol.asyncDispose]())));
  for (const room of ROOMS) upstream.chat(room, { kinds: ["text"], timeoutMs: 20 });
  const [one, other] = relays;
  assert.ok(one && other);
  return { upstream, store, one, other };
}

/**
 * All calls since a moment before the first start a spacing apart in the mean. A busy machine only delays
 * them.
 */
async function assertSpaced(upstream: Simulator, since: number): Promise<void> {
  await upstream.requested("get_live_chat", { count: 50, since });
  const starts = upstream.requests.map(({ at }) => at);
  const mean = ((starts.at(-1) ?? 0) - since) / (starts.length - 1);
  assert.ok(mean >= SPACING_MS, `${mean} ms on average`);
}

describe("an egress that instances share by its name", { skip, timeout: 300_000, concurrency: true }, () => {
  it("starts the calls of all instances one spacing apart on average", async (t) => {
    const { upstream, one, other } = await setUp(t, [{}, {}]);
    const since = performance.now();
    for (const [index, videoId] of ROOMS.entries()) {
      const stream = await Stream.open((index % 2 === 0 ? one : other).url, { videoId });
      t.after(() => stream.close());
    }
    await assertSpaced(upstream, since);
  });

  it("pauses all instances if the upstream throttles one", async (t) => {
    const slow = { RELAY_COOLDOWN_MS: "8000", RELAY_GATE_SPACING_MS: "20" };
    const { upstream, one, other } = await setUp(t, [slow, slow]);
    await using stream = await Stream.open(one.url, { videoId: ROOMS[0] });
    await using another = await Stream.open(other.url, { videoId: ROOMS[1] });
    const throttled = upstream.fault({ on: "get_live_chat", videoId: ROOMS[0], times: 1, as: "quota" });
    while (throttled.fired === 0) await upstream.requested("get_live_chat", { videoId: ROOMS[0] });
    const throttledAt =
      upstream.requests.findLast(({ kind, videoId }) => kind === "get_live_chat" && videoId === ROOMS[0])
        ?.at ?? Number.NaN;
    await eventually(429, async () => {
      const { status, body } = await fetch(streamUrl(other.url, { videoId: ROOMS[2] }));
      await body?.cancel();
      return status;
    });
    const [next] = await upstream.requested("get_live_chat", { since: performance.now() });
    assert.ok((next?.at ?? 0) - throttledAt >= 8000);
    assert.ok(!stream.over && !another.over);
  });

  it("counts the rooms of other instances when it decides whether one more can be read in time", async (t) => {
    const polls = { RELAY_POLL_MIN_MS: "1000", RELAY_POLL_MAX_MS: "1000" };
    const scarce = { ...polls, RELAY_GATE_SPACING_MS: "200", RELAY_MAX_LATENESS_MS: "0" }; // for two rooms
    const { upstream, one, other } = await setUp(t, [scarce, scarce]);
    await using _first = await Stream.open(one.url, { videoId: ROOMS[0] });
    await using _second = await Stream.open(other.url, { videoId: ROOMS[1] });
    // An instance reports its rooms' demand with its calls, and learns the others' from the answers.
    await upstream.requested("get_live_chat", { videoId: ROOMS[0], count: 3 });
    await upstream.requested("get_live_chat", { videoId: ROOMS[1], count: 2, since: performance.now() });
    const refused = await fetch(streamUrl(other.url, { videoId: ROOMS[2] }));
    assert.equal(refused.status, 503);
    assert.match(await refused.text(), /At capacity with 1 live chat on this address/);
  });

  it("reports to each instance how many others call, and what their rooms need", async (t) => {
    const { open } = await clockedPostgres(t, server as PostgresServer, wallAt(Date.now()));
    const reserve = async (pollsPerSecond: number) => {
      const pace = (await open()).paceOf("office");
      const reserved = await pace?.reserve({ spacingMs: 1, aheadMs: 0, pollsPerSecond });
      return [reserved?.otherInstances, reserved?.othersPollsPerSecond];
    };
    assert.deepEqual(
      [await reserve(2), await reserve(0.5), await reserve(1)],
      [
        [0, 0],
        [1, 2],
        [2, 2.5],
      ],
    );
  });

  it("counts the rooms of an instance that has stopped no more", async (t) => {
    const { open } = await clockedPostgres(t, server as PostgresServer, wallAt(Date.now()));
    const [first, second] = [await open(), await open()];
    await first.paceOf("office")?.reserve({ spacingMs: 1, aheadMs: 0, pollsPerSecond: 2 });
    const polls = async () =>
      (await second.paceOf("office")?.reserve({ spacingMs: 1, aheadMs: 0, pollsPerSecond: 1 }))
        ?.othersPollsPerSecond;
    assert.equal(await polls(), 2);
    await first.close();
    assert.equal(await polls(), 0);
  });

  it("keeps its own spacing if nothing can be reserved", async (t) => {
    const { store, upstream, one } = await setUp(t, [{}, {}]);
    await run(store, "drop table egress");
    const since = performance.now();
    await using _stream = await Stream.open(one.url, { videoId: ROOMS[0] });
    await assertSpaced(upstream, since);
  });
});
