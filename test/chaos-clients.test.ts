/**
 * The chaos driver's foreign clients against a server that says byte by byte what is written here: what their
 * witness hears, and what they come back with.
 */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { Client, Wish } from "../chaos/client.ts";
import {
  assertAway,
  assertNothingLeft,
  chunk,
  END,
  HEAD,
  init,
  KEEPALIVE,
  KINDS,
  LAST_CHUNK,
  type Log,
  message,
  opening,
  RETRY,
  refusal,
  type Scripted,
  scripted,
} from "./support/foreign-client.ts";
import type { Answer } from "./support/scripted-server.ts";

interface Case {
  title: string;
  answers: (log: Log) => readonly Answer[];
  /** What the witness hears, each line at least to where it is written here. */
  hears: readonly string[];
  /** The Last-Event-ID of each call. */
  sends?: readonly (string | undefined)[];
  wish?: Partial<Wish>;
  /** How long after the first call the second one comes, at least. */
  returnsMs?: number;
  /** For those who can hear it; default all. */
  kinds?: readonly Client["kind"][];
}

/** A stream whose bytes break a rule, after a good beginning or in the place of it. */
function broken(title: string, stream: string, ...hears: readonly string[]): Case {
  return { title: `tells of ${title}`, answers: () => [(caller) => caller.send(stream)], hears };
}

const CASES: readonly Case[] = [
  {
    title: "reads a stream that comes byte by byte",
    answers: () => [
      (caller) =>
        caller.sendBytewise(opening(100, message(101)) + chunk(KEEPALIVE) + chunk(message(102)) + chunk(END)),
    ],
    hears: ["opened at 100 from nothing", "message 101", "message 102", "end: no more continuations"],
  },
  {
    title: "reads many frames in a chunk, and one frame in many chunks",
    answers: () => [
      (caller) => {
        const pieces = [...Buffer.from(message(103)).toString("latin1")].map((byte) => `1\r\n${byte}\r\n`);
        const bytes = Buffer.from(pieces.join(""), "latin1");
        return caller.send(Buffer.concat([Buffer.from(opening(100, message(101), message(102))), bytes]));
      },
    ],
    hears: ["opened at 100 from nothing", "message 101", "message 102", "message 103"],
  },
  {
    title: "reads lines that end in CRLF",
    answers: () => [
      (caller) =>
        caller.sendBytewise(HEAD + chunk((RETRY + init(100) + message(101)).replaceAll("\n", "\r\n"))),
    ],
    hears: ["opened at 100 from nothing", "message 101"],
  },
  {
    title: "drops half a frame, and comes back after the last whole one",
    answers: (log) => [
      async (caller) => {
        await caller.send(opening(100, message(101)));
        await log.heard("message 101");
        await caller.send(chunk(message(102).slice(0, -1)));
        caller.reset();
      },
      (caller) => caller.send(opening(101, message(102))),
    ],
    hears: ["opened at 100 from nothing", "message 101", "closed", "opened at 101 from 101", "message 102"],
    sends: [undefined, "101"],
  },
  {
    title: "comes back from an orderly end without a terminal frame",
    answers: () => [
      (caller) => caller.send(opening(100, message(101)) + LAST_CHUNK),
      (caller) => caller.send(opening(101)),
    ],
    hears: ["opened at 100 from nothing", "message 101", "closed", "opened at 101 from 101"],
    sends: [undefined, "101"],
  },
  {
    title: "tells an end frame, and comes back all the same",
    answers: () => [
      (caller) => caller.send(opening(100, message(101), END) + LAST_CHUNK),
      (caller) => caller.send(opening(101, END)),
    ],
    hears: [
      "opened at 100 from nothing",
      "message 101",
      "end: no more continuations",
      "closed",
      "opened at 101 from 101",
      "end: no more continuations",
    ],
    sends: [undefined, "101"],
  },
  {
    title: "tells an error frame by its code",
    answers: () => [
      (caller) =>
        caller.send(
          opening(100, 'event: error\ndata: {"code":"UPSTREAM_ERROR","message":"gone"}\n\n') + LAST_CHUNK,
        ),
    ],
    hears: ["opened at 100 from nothing", "error: UPSTREAM_ERROR", "closed"],
  },
  {
    title: "comes back with the first id of its wish until it has seen another",
    answers: (log) => [
      async (caller) => {
        await caller.send(opening(100));
        await log.heard("opened at 100 from 0");
        caller.reset();
      },
      (caller) => caller.send(opening(100)),
    ],
    hears: ["opened at 100 from 0", "closed", "opened at 100 from 0"],
    sends: ["0", "0"],
    wish: { lastEventId: 0 },
  },
  {
    title: "comes back where it had no answer",
    answers: () => [(caller) => caller.reset(), (caller) => caller.send(opening(100))],
    hears: ["closed", "opened at 100 from nothing"],
    sends: [undefined, undefined],
  },
  {
    title: "stays away for as long as a refusal says",
    answers: () => [
      (caller) =>
        caller.send(
          refusal(503, '{"code":"CAPACITY","message":"full"}', "Retry-After: 1", "Connection: close"),
        ),
      (caller) => caller.send(opening(100)),
    ],
    hears: ["refused: 503 CAPACITY", "closed", "opened at 100 from 100"],
    sends: ["100", "100"],
    wish: { lastEventId: 100 },
    returnsMs: 1000,
  },
  {
    title: "stays away for two seconds where a refusal says longer",
    answers: () => [
      (caller) => caller.send(refusal(429, '{"code":"RATE_LIMITED","message":"later"}', "Retry-After: 600")),
      (caller) => caller.send(opening(100)),
    ],
    hears: ["refused: 429 RATE_LIMITED", "closed", "opened at 100 from nothing"],
    returnsMs: 2000,
  },
  {
    title: "tells a refusal without a code, and chooses its own wait",
    answers: () => [
      (caller) => caller.send(refusal(429, "<h1>no</h1>")),
      (caller) => caller.send(opening(100)),
    ],
    hears: ["refused: 429 ", "closed", "opened at 100 from nothing"],
    returnsMs: 97,
  },
  {
    title: "tells a refusal that is cut short",
    answers: () => [
      async (caller) => {
        await caller.send(refusal(503, '{"code":"CAPACITY"}').slice(0, -1));
        caller.socket.end();
      },
    ],
    hears: ["refused: 503 ", "closed"],
  },
  {
    ...broken(
      "a second reconnection time",
      opening(100, RETRY),
      "opened at 100 from nothing",
      "malformed: a second retry",
    ),
    kinds: ["raw", "curl"], // an EventSource takes it as it comes
  },
  broken(
    "a chunk whose size is no number",
    `${opening(100)}zz\r\n${message(101)}\r\n`,
    "opened at 100 from nothing",
    "malformed: ",
    "closed",
  ),
  broken(
    "a cursor that is no integer",
    opening(100, message("101.5"), message(102)),
    "opened at 100 from nothing",
    "malformed: a message whose id is 101.5",
    "message 102",
  ),
  broken(
    "data that is no JSON",
    opening(100, message(101).replace("}", ""), message(102)),
    "opened at 100 from nothing",
    "malformed: data of message that is no JSON object",
    "message 102",
  ),
  broken(
    "a message before init",
    HEAD + chunk(RETRY + message(101) + init(101)),
    "malformed: a frame message before init",
    "opened at 101 from nothing",
  ),
  broken(
    "an init without a cursor",
    HEAD + chunk(RETRY + init(100).replace("cursor", "cursors")),
    'malformed: init: {"videoId"',
  ),
  broken("a second init", opening(100, init(100)), "opened at 100 from nothing", "malformed: a second init"),
  broken(
    "a comment before the reconnection time",
    HEAD + chunk(KEEPALIVE + RETRY + init(100)),
    "malformed: ",
    "opened at 100 from nothing",
  ),
  broken(
    "a stream without a reconnection time",
    HEAD + chunk(init(100)),
    "malformed: ",
    "opened at 100 from nothing",
  ),
  broken(
    "another reconnection time",
    HEAD + chunk(`retry: 1\n\n${init(100)}`),
    "malformed: retry: 1",
    "opened at 100 from nothing",
  ),
  broken(
    "a message without an id",
    opening(100, message(101), message(102, "other").replace("id: 102\n", "")),
    "opened at 100 from nothing",
    "message 101",
    "malformed: a message without an id",
  ),
  broken(
    "a message that comes twice",
    opening(100, message(101), message(101)),
    "opened at 100 from nothing",
    "message 101",
    "message 101",
  ),
  broken(
    "a message after a terminal frame",
    opening(100, END, message(101)),
    "opened at 100 from nothing",
    "end: no more continuations",
    "malformed: a frame message after a terminal frame",
  ),
];

async function playCase(
  kind: Client["kind"],
  { answers, hears, sends, wish, returnsMs }: Case,
): Promise<void> {
  const play = async ({ log, server, client }: Scripted) => {
    await log.until(() => log.lines.length >= hears.length, hears.at(-1) ?? "");
    await client.leave();
    const isClosed = hears.at(-1) === "closed";
    const due = isClosed ? hears : [...hears, "closed by itself"];
    const heard = log.lines.map((line, i) => (due[i] && line.startsWith(due[i]) ? due[i] : line));
    assert.deepEqual(heard, due);
    if (sends)
      assert.deepEqual(
        server.callers.map(({ lastEventId }) => lastEventId),
        sends,
      );
    if (returnsMs) assertAway(server, returnsMs);
  };
  await scripted(kind, answers, play, wish);
}

after(assertNothingLeft);

// They wait for seconds, as clients do: all at once.
describe("a foreign client", { concurrency: 200 }, () => {
  for (const { kind, skip } of KINDS) {
    for (const found of CASES.filter(({ kinds }) => kinds?.includes(kind) ?? true))
      it(`${kind} ${found.title}`, { skip }, () => playCase(kind, found));
  }
});
