/** Ten minutes in which the upstream answers nothing of use, in virtual time: what 20 rooms and their viewers see of it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { VirtualRelay } from "../harness/virtual-relay.ts";
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
      120,
      35_000, // by then one room tries every 10 s
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

describe("after ten minutes of outage 25 rooms at default settings are read again within 35 s", () => {
  const OPENED_MS = 60_000;
  const OUTAGE_MS = MINUTES * 60_000;
  const BACK_MS = 35_000;
  const outages: Record<string, (relay: VirtualRelay) => () => void> = {
    "HTTP 503": ({ upstream }) => {
      const fault = upstream.fault({ on: ALL, times: Number.POSITIVE_INFINITY, as: { status: 503 } });
      return () => fault.cancel();
    },
    "no answer": ({ network }) => {
      network.silentUntil = Number.POSITIVE_INFINITY;
      return () => {
        network.silentUntil = 0;
      };
    },
    "no connection": ({ network }) => {
      network.refusesUntil = Number.POSITIVE_INFINITY;
      return () => {
        network.refusesUntil = 0;
      };
    },
  };
  for (const [outage, begin] of Object.entries(outages)) {
    for (const [which, expired] of [
      ["no token has expired", () => false],
      ["half of the tokens have expired", (i: number) => i % 2 === 0],
      ["all tokens have expired", () => true],
    ] as const) {
      it(`${outage}, and ${which}`, async () => {
        for (const seed of [1, 2]) {
          const relay = new VirtualRelay({ seed });
          const { clock, upstream, answers } = relay;
          const chats = Array.from({ length: 25 }, (_, i) => {
            const videoId = `outage-${i}`.padEnd(11, "-");
            return upstream.chat(videoId, {
              kinds: ["text"],
              timeoutMs: i % 2 === 0 ? 5000 : 10_000,
              tokens: "reusable",
            });
          });
          for (const chat of chats) {
            chat.speak(0.5);
            relay.visit({ videoId: chat.videoId, address: chat.videoId });
          }
          const plan = async () => {
            await clock.sleep(OPENED_MS);
            const end = begin(relay);
            await clock.sleep(OUTAGE_MS);
            for (const [i, chat] of chats.entries()) if (expired(i)) chat.expireTokens();
            end();
          };
          void plan();
          const backAt = OPENED_MS + OUTAGE_MS;
          await relay.advance(backAt + BACK_MS);
          const dark = chats.filter(({ videoId }) => (answers.get(videoId)?.at(-1) ?? 0) < backAt);
          assert.deepEqual(
            dark.map(({ videoId }) => videoId),
            [],
          );
          const states = (await relay.rooms.list()).map(({ state }) => state);
          assert.deepEqual(new Set(states), new Set(["polling"]));
        }
      });
    }
  }
});
