/** What chaos's clients are ordered to do: to go and come back, to take nothing or little for a while, and to leave. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { ClientKind } from "../chaos/clients/client.ts";
import {
  assertAway,
  assertNothingLeft,
  call,
  chunk,
  KINDS,
  LAST_CHUNK,
  Log,
  message,
  OPENED,
  opening,
  scripted,
} from "./support/foreign-client.ts";
import type { Answer, ScriptedServer } from "./support/scripted-server.ts";

const AWAY = Number.POSITIVE_INFINITY;
const HOUR_MS = 3_600_000;
const ASKED = "closed by itself";

/** Begins a stream, and sends more once its client has seen that. */
function thenSends(...more: (() => string | undefined)[]): (log: Log) => Answer {
  return (log) => async (caller) => {
    await caller.send(opening(100));
    await log.heard(OPENED);
    for (const next of more) {
      for (let bytes = next(); bytes !== undefined; bytes = next()) await caller.send(bytes);
    }
  };
}

const once = (bytes: string) => {
  const left = [bytes];
  return () => left.pop();
};

function playDrop(kind: ClientKind): Promise<void> {
  const answers = [opening(100, message(101), message(102), message(103)), opening(102, message(103))];
  return scripted(kind, answers, async ({ log, server, client }) => {
    log.onLine = (line) => {
      if (line === "message 102") client.drop(300);
    };
    await log.heard("message 103");
    const due = [OPENED, "message 101", "message 102", ASKED, "opened at 102 from 102", "message 103"];
    assert.deepEqual(log.lines, due);
    assertAway(server, 300);
  });
}

/** Somebody comes and goes, which takes its time: so long at least. */
async function visit(server: ScriptedServer, ms = 0): Promise<void> {
  const log = new Log();
  const visitor = call("http", server.url, log);
  await log.heard(OPENED);
  visitor.drop(ms);
  await log.length(3);
  await visitor.leave();
}

function playAbsence(kind: ClientKind): Promise<void> {
  return scripted(kind, [opening(100)], async ({ log, server, client }) => {
    await log.heard(OPENED);
    client.drop(AWAY);
    await log.heard(ASKED);
    await visit(server);
    assert.equal(server.callers.length, 3);
    client.comeBack();
    await log.length(3);
    assert.ok(client.isOpen);
    client.drop(AWAY);
    client.comeBack(); // before it is gone
    await log.length(5);
    client.comeBack(); // it is here
    await visit(server);
    assert.equal(server.callers.length, 7);
  });
}

function playStall(kind: ClientKind): Promise<void> {
  const stallMs = 500;
  const maxMessages = 512;
  let stalledAt = 0;
  let sent = 0;
  let log: Log | undefined;
  const more = () => {
    if (sent === maxMessages || (log?.lines.length ?? 0) > 1) return undefined;
    sent += 1;
    return chunk(message(100 + sent, "x".repeat(2 ** 16)));
  };
  return scripted(kind, [thenSends(more)], async (played) => {
    log = played.log;
    log.onLine = () => {
      stalledAt = performance.now();
      played.client.stall(stallMs);
    };
    await log.heard(OPENED);
    log.onLine = () => {};
    await log.heard("message 101");
    assert.ok(performance.now() - stalledAt >= stallMs - 2, "it heard a message while it was stalled");
    assert.ok(sent < maxMessages, "it took everything while it was stalled");
    await log.heard(`message ${100 + sent}`);
    assert.equal(log.lines.length, 1 + sent);
  });
}

async function playTrickle(kind: ClientKind): Promise<void> {
  const said = Array.from({ length: 10 }, (_, i) => message(101 + i));
  let firstAt = 0;
  let lastAt = 0;
  const answer = thenSends(once(chunk(said.join("")) + LAST_CHUNK));
  await scripted(kind, [answer], async ({ log, client }) => {
    log.onLine = (line) => {
      if (line.startsWith("opened")) client.trickle(HOUR_MS);
      if (line === "message 101") firstAt = performance.now();
      if (line === "closed") lastAt = performance.now();
    };
    await log.heard("closed");
    assert.deepEqual(log.lines, [OPENED, ...said.map((_, i) => `message ${101 + i}`), "closed"]);
    assert.ok(log.data.every((data) => data === '{"message":"zdrówko 👋"}'));
  });
  const tookMs = lastAt - firstAt;
  assert.ok(kind === "curl" || tookMs >= 80, `it trickled for ${tookMs} ms`);
}

function playLeave(kind: ClientKind): Promise<void> {
  const answers = [thenSends(once(chunk(message(101)))), opening(100)];
  return scripted(kind, answers, async ({ log, server, client }) => {
    log.onLine = () => client.stall(HOUR_MS);
    await log.heard(OPENED);
    await visit(server);
    log.onLine = () => {};
    await client.leave();
    await server.callers[0]?.gone();
    assert.deepEqual(log.lines, [OPENED, ASKED]);
  });
}

const ORDERS: Record<string, (kind: ClientKind) => Promise<void>> = {
  "hears nothing more once it drops, and stays away as ordered": playDrop,
  "stays away until it is to come back": playAbsence,
  "takes nothing while it is stalled, and then everything": playStall,
  "gets everything while it trickles": playTrickle,
  "is gone when it has left, even stalled": playLeave,
};

after(assertNothingLeft);

// They wait for seconds, as clients do: all at once.
describe("a client", { concurrency: 200 }, () => {
  for (const { kind, skip } of KINDS)
    for (const [title, play] of Object.entries(ORDERS)) it(`${kind} ${title}`, { skip }, () => play(kind));
});
