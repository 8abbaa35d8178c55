/** Ten minutes in which the upstream answers nothing of use, in virtual time: what 20 rooms and their viewers see of it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { World } from "../simulation/world.ts";
import type { RequestKind } from "../src/simulator/requests.ts";

const MINUTES = 10;
const ALL = [
  "sw.js",
  "sw.js_data",
  "popout",
  "watch",
  "next",
  "get_live_chat",
  "get_live_chat_replay",
] as const satisfies RequestKind[];

describe("ten minutes without an upstream fail no room, and no viewer is disconnected", () => {
  const rows: [upstream: string, begin: (world: World) => () => void, calls: number, caughtUpMs: number][] = [
    [
      "that answers 503",
      ({ upstream }) => {
        const fault = upstream.fault({ on: ALL, times: Number.POSITIVE_INFINITY, as: { status: 503 } });
        return () => fault.cancel();
      },
      60,
      45_000, // by then one room tries every 30 s
    ],
    [
      "that refuses connections",
      ({ network }) => {
        network.refusesUntil = Number.POSITIVE_INFINITY;
        return () => {
          network.refusesUntil = 0;
        };
      },
      200, // they reach nobody
      15_000,
    ],
  ];
  for (const [upstream, begin, maxCalls, caughtUpMs] of rows) {
    it(upstream, async () => {
      const world = new World({ seed: 10, rooms: 20 });
      const { scheduler, journal, viewers } = world;
      const passed = async (ms: number) => {
        const until = scheduler.monotonic() + ms;
        await scheduler.run(
          () => scheduler.monotonic() < until,
          () => world.judge(),
        );
      };
      void world.start();
      world.calm();
      for (const viewer of viewers) void viewer.live();
      await passed(90_000);
      const connected = viewers.filter(({ sink }) => sink && !sink.closedBy).map(({ sink }) => sink);
      assert.ok(connected.length >= 2 * 19, "all viewers of live chats are connected");

      const end = begin(world);
      const linesBefore = journal.lines.length;
      await passed(MINUTES * 60_000);
      const calls = journal.lines.slice(linesBefore).filter((line) => /^[\d.]+ call /.test(line)).length;
      assert.ok(calls > 10 && calls <= maxCalls, `${calls} calls`);
      end();
      world.sayLastWords();
      await passed(caughtUpMs);
      assert.equal(world.lagging()?.what, undefined);
      assert.equal(journal.violation, undefined);
      assert.ok(connected.every((sink) => !sink?.closedBy));
    });
  }
});
