/**
 * What the chaos driver's foreign clients are told to do: to go and come back, to take nothing or little for a while,
 * and to leave.
 */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { Client } from "../chaos/client.ts";
import { newClient } from "../chaos/clients/index.ts";
import {
  assertAway,
  assertNothingLeft,
  chance,
  chunk,
  KINDS,
  LAST_CHUNK,
  Log,
  message,
  opening,
  scripted,
} from "./support/foreign-client.ts";
import { type Answer, type Caller, ScriptedServer } from "./support/scripted-server.ts";

/** Nothing listens at first where it calls: an address of the test's own, so that nobody else takes the port. */
async function playRefused(kind: Client["kind"]): Promise<void> {
  const host = `127.${10 + KINDS.findIndex((row) => row.kind === kind)}.${(process.pid >> 8) & 255}.${process.pid & 255}`;
  const log = new Log();
  const first = await ScriptedServer.start([], 0, host);
  await first[Symbol.asyncDispose]();
  const client = newClient(kind, first.url, { videoId: "scripted-01" }, log, chance());
  try {
    await log.heard("closed");
    const answers: Answer[] = [(caller) => caller.send(opening(100))];
    await using _server = await ScriptedServer.start(answers, Number(new URL(first.url).port), host);
    await log.heard("opened at 100 from nothing");
    assert.ok(client.isOpen);
    await client.leave();
    assert.ok(!client.isOpen);
    assert.deepEqual(
      new Set(log.lines),
      new Set(["closed", "opened at 100 from nothing", "closed by itself"]),
    );
  } finally {
    await client.leave();
  }
}

async function playDrop(kind: Client["kind"]): Promise<void> {
  const answers: Answer[] = [
    (caller) => caller.send(opening(100, message(101), message(102), message(103))),
    (caller) => caller.send(opening(102, message(103))),
  ];
  await scripted(
    kind,
    () => answers,
    async ({ log, server, client }) => {
      log.onLine = (line) => {
        if (line === "message 102") client.drop(300);
      };
      await log.heard("message 103");
      assert.deepEqual(log.lines, [
        "opened at 100 from nothing",
        "message 101",
        "message 102",
        "closed by itself",
        "opened at 102 from 102",
        "message 103",
      ]);
      assertAway(server, 300);
    },
  );
}

/** Somebody comes and goes, which takes its time: so long at least. */
async function visit(server: ScriptedServer, ms = 0): Promise<void> {
  const log = new Log();
  const visitor = newClient("raw", server.url, { videoId: "scripted-01" }, log, chance());
  await log.heard("opened at 100 from nothing");
  visitor.drop(ms);
  await log.until(() => log.lines.length === 3, "the visitor is back");
  await visitor.leave();
}

async function playAbsence(kind: Client["kind"]): Promise<void> {
  await scripted(
    kind,
    () => [(caller) => caller.send(opening(100))],
    async ({ log, server, client }) => {
      await log.heard("opened at 100 from nothing");
      client.drop(Number.POSITIVE_INFINITY);
      await log.heard("closed by itself");
      await visit(server);
      assert.equal(server.callers.length, 3);
      client.comeBack();
      await log.until(() => log.lines.length === 3, "it is back");
      assert.ok(client.isOpen);
      client.drop(Number.POSITIVE_INFINITY);
      client.comeBack(); // before it is gone
      await log.until(() => log.lines.length === 5, "it is back again");
      client.comeBack(); // it is here
      await visit(server);
      assert.equal(server.callers.length, 7);
    },
  );
}

/** It would be back by itself after 97 ms, or three seconds. */
async function playDropWhileAway(kind: Client["kind"]): Promise<void> {
  const answers: Answer[] = [
    (caller) => caller.send(opening(100) + LAST_CHUNK),
    (caller) => caller.send(opening(100)),
  ];
  await scripted(
    kind,
    () => answers,
    async ({ log, server, client }) => {
      await log.heard("closed");
      client.drop(2000);
      await log.until(() => log.lines.length === 3, "it is back");
      assertAway(server, 2000);
      client.drop(400);
      await log.heard("closed by itself");
      client.comeBack();
      await visit(server, 500);
      assert.deepEqual(log.lines.slice(2), [
        "opened at 100 from nothing",
        "closed by itself",
        "opened at 100 from nothing",
      ]);
      assert.equal(server.callers.length, 5);
    },
  );
}

async function playStall(kind: Client["kind"]): Promise<void> {
  const stallMs = 500;
  const MOST_BYTES = 2 ** 25;
  const size = 2 ** 16;
  let stalledAt = 0;
  let taken = 0;
  let sent = 0;
  const answer = (log: Log) => async (caller: Caller) => {
    await caller.send(opening(100));
    await log.heard("opened at 100 from nothing");
    while (log.lines.length === 1 && taken < MOST_BYTES) {
      sent += 1;
      await caller.send(chunk(message(100 + sent, "x".repeat(size))));
      taken += size;
    }
  };
  await scripted(
    kind,
    (log) => [answer(log)],
    async ({ log, client }) => {
      log.onLine = () => {
        stalledAt = performance.now();
        client.stall(stallMs);
      };
      await log.heard("opened at 100 from nothing");
      log.onLine = () => {};
      await log.heard("message 101");
      assert.ok(performance.now() - stalledAt >= stallMs - 2, "it heard a message while it was stalled");
      assert.ok(taken < MOST_BYTES, "it took everything while it was stalled");
      await log.heard(`message ${100 + sent}`);
      assert.equal(log.lines.length, 1 + sent);
    },
  );
}

/** A few bytes at a time for so long. */
async function playTrickle(kind: Client["kind"], ms: number, messages: number): Promise<number> {
  const said = Array.from({ length: messages }, (_, i) => message(101 + i));
  let firstAt = 0;
  let lastAt = 0;
  const answer = (log: Log) => async (caller: Caller) => {
    await caller.send(opening(100));
    await log.heard("opened at 100 from nothing");
    await caller.send(chunk(said.join("")) + LAST_CHUNK);
  };
  await scripted(
    kind,
    (log) => [answer(log)],
    async ({ log, client }) => {
      log.onLine = (line) => {
        if (line.startsWith("opened")) client.trickle(ms);
        if (line === "message 101") firstAt = performance.now();
        if (line === "closed") lastAt = performance.now();
      };
      await log.heard("closed");
      assert.deepEqual(log.lines, [
        "opened at 100 from nothing",
        ...said.map((_, i) => `message ${101 + i}`),
        "closed",
      ]);
      assert.ok(log.data.every((data) => data === '{"message":"zdrówko 👋"}'));
    },
  );
  return lastAt - firstAt;
}

async function playLeave(kind: Client["kind"]): Promise<void> {
  const answer = (log: Log) => async (caller: Caller) => {
    await caller.send(opening(100));
    await log.heard("opened at 100 from nothing");
    await caller.send(chunk(message(101)));
  };
  await scripted(
    kind,
    (log) => [answer(log), (caller) => caller.send(opening(100))],
    async ({ log, server, client }) => {
      log.onLine = () => client.stall(3_600_000);
      await log.heard("opened at 100 from nothing");
      await visit(server);
      log.onLine = () => {};
      await client.leave();
      await server.callers[0]?.gone();
      assert.deepEqual(log.lines, ["opened at 100 from nothing", "closed by itself"]);
    },
  );
}

async function playLeaveWhileAway(kind: Client["kind"]): Promise<void> {
  await scripted(
    kind,
    () => [(caller) => caller.send(opening(100) + LAST_CHUNK)],
    async ({ log, server, client }) => {
      await log.heard("closed");
      client.drop(3_600_000);
      await client.leave();
      client.comeBack();
      client.drop(0);
      await visit(server);
      assert.deepEqual(log.lines, ["opened at 100 from nothing", "closed"]);
    },
  );
}

after(assertNothingLeft);

// They wait for seconds, as clients do: all at once.
describe("a foreign client", { concurrency: 200 }, () => {
  for (const { kind, skip } of KINDS) {
    it(`${kind} calls again until somebody answers`, { skip }, () => playRefused(kind));
    it(`${kind} hears nothing more once it drops, and stays away as told`, { skip }, () => playDrop(kind));
    it(`${kind} stays away as told while it is away anyway`, { skip }, () => playDropWhileAway(kind));
    it(`${kind} stays away until it is to come back`, { skip }, () => playAbsence(kind));
    it(`${kind} takes nothing while it is stalled, and then everything`, { skip }, () => playStall(kind));
    it(`${kind} gets everything once it no longer trickles`, { skip }, async () => {
      await playTrickle(kind, 150, 4000); // at that pace, longer than a test waits
    });
    it(`${kind} gets everything while it trickles`, { skip }, async () => {
      const tookMs = await playTrickle(kind, 3_600_000, 10);
      assert.ok(kind === "curl" || tookMs >= 80, `it trickled for ${tookMs} ms`);
    });
    it(`${kind} is gone when it has left, even stalled`, { skip }, () => playLeave(kind));
    it(`${kind} leaves while it is away`, { skip }, () => playLeaveWhileAway(kind));
  }
});
