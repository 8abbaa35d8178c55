/** Instances on one PostgreSQL, for tests of what they do together. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { startSimulator } from "../../simulator/index.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import type { SettingName } from "../../src/cli/setting-table.ts";
import { ownSchema, type PostgresServer } from "./postgres-server.ts";
import { startRelay, type TestRelay } from "./relay.ts";
import { Stream } from "./stream.ts";

export const VIDEO = "dQw4w9WgXcQ";
export const CHAT = { kinds: ["text" as const], timeoutMs: 20 };
/** A lease that no busy machine ends; a test that waits for the end of one sets a shorter one. */
export const SETTINGS = { RELAY_LEASE_MS: "10000", RELAY_DRAIN_MS: "0" } as const;

type Settings = Partial<Record<SettingName, string>>;

/** An upstream, and a database of its own that instances are started on. */
export async function setUpInstances(t: TestContext, server: PostgresServer | undefined) {
  assert.ok(server);
  const upstream = await startSimulator();
  t.after(() => upstream.close());
  const url = await ownSchema(t, server);
  const start = async (settings: Settings = {}, clock: Clock = systemClock): Promise<TestRelay> => {
    const given = { RELAY_STORE: url, ...SETTINGS, ...settings };
    const relay = await startRelay({ upstream, settings: given, clock });
    t.after(() => relay[Symbol.asyncDispose]());
    return relay;
  };
  const watch = async (
    { url: at }: { url: string },
    options: { lastEventId?: number; backfill?: number } = {},
  ) => {
    const stream = await Stream.open(at, { videoId: VIDEO, ...options });
    t.after(() => stream.close());
    await stream.until(() => stream.frames.length > 0);
    return stream;
  };
  return { upstream, url, start, watch };
}

/** Asserts that the streams have got this many messages of one sequence, under the same cursors. */
export async function assertSame(streams: readonly Stream[], count: number): Promise<void> {
  const [first, ...others] = await Promise.all(streams.map((stream) => stream.untilMessages(count)));
  for (const other of others) assert.deepEqual(other.slice(0, count), first?.slice(0, count));
  const cursors = (first ?? []).map(({ cursor }) => cursor);
  assert.deepEqual(
    cursors,
    cursors.map((_, index) => (cursors[0] ?? 0) + index),
  );
}
