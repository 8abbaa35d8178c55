/** Chaos's clients against a server that says byte by byte what is written here: what is heard, and what is sent. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { ClientKind } from "../harness/clients/client.ts";
import type { ClientOptions } from "../harness/clients/observer.ts";
import {
  assertAway,
  assertNothingLeft,
  chunk,
  END,
  init,
  KINDS,
  LAST_CHUNK,
  type Log,
  message,
  OPENED,
  opening,
  RETRY,
  refusal,
  scripted,
  stream,
} from "./support/foreign-client.ts";
import type { Answer } from "./support/scripted-server.ts";

interface Case {
  title: string;
  answers: readonly (string | ((log: Log) => Answer))[];
  /** What is heard, each line at least to where it is written here. */
  hears: readonly string[];
  /** The Last-Event-ID of each call. */
  sends?: readonly (string | undefined)[];
  options?: Partial<ClientOptions>;
  /** How long after the first call the second one comes, at least. */
  returnsMs?: number;
  /** For those who can hear it; default all. */
  kinds?: readonly ClientKind[];
}

const KEEPALIVE = ": keepalive\n\n";
const AGAIN = "opened at 101 from 101";

/** Sends bytes, waits until a line was heard, and resets the connection. */
function resetAfter(bytes: string, line?: string): (log: Log) => Answer {
  return (log) => async (caller) => {
    await caller.send(bytes);
    if (line) await log.heard(line);
    caller.reset();
  };
}

const CASES: readonly Case[] = [
  {
    title: "drops half a frame, and comes back after the last whole one",
    answers: [
      resetAfter(opening(100, message(101)) + chunk(message(102).slice(0, -1)), "message 101"),
      opening(101, message(102)),
    ],
    hears: [OPENED, "message 101", "closed", AGAIN, "message 102"],
    sends: [undefined, "101"],
  },
  {
    title: "comes back from an orderly end, with a terminal frame or without",
    answers: [opening(100, message(101)) + LAST_CHUNK, opening(101, END) + LAST_CHUNK, opening(101)],
    hears: [OPENED, "message 101", "closed", AGAIN, "end: no more continuations", "closed", AGAIN],
    sends: [undefined, "101", "101"],
  },
  {
    title: "reports an error frame by its code",
    answers: [
      opening(100, 'event: error\ndata: {"code":"UPSTREAM_ERROR","message":"gone"}\n\n') + LAST_CHUNK,
    ],
    hears: [OPENED, "error: UPSTREAM_ERROR", "closed"],
  },
  {
    title: "stays away for as long as a refusal says",
    answers: [
      refusal(503, '{"code":"CAPACITY","message":"full"}', "Retry-After: 1", "Connection: close"),
      opening(100),
    ],
    hears: ["refused: 503 CAPACITY", "closed", "opened at 100 from 100"],
    sends: ["100", "100"],
    options: { lastEventId: 100 },
    returnsMs: 1000,
  },
  {
    title: "reports a chunk whose size is not a number",
    answers: [
      (log) => async (caller) => {
        await caller.send(opening(100));
        await log.heard(OPENED);
        await caller.send(`zz\r\n${message(101)}\r\n`);
      },
    ],
    hears: [OPENED, "malformed: ", "closed"],
  },
  {
    title: "reports a refusal that is cut short",
    answers: [
      () => async (caller) => {
        await caller.send(refusal(503, '{"code":"CAPACITY"}').slice(0, -1));
        caller.socket.end();
      },
    ],
    hears: ["refused: 503 ", "closed"],
  },
];

/** What breaks a rule, the bytes, and what is heard. */
const BROKEN: readonly [what: string, bytes: string, hears: readonly string[], kinds?: ClientKind[]][] = [
  [
    "a second reconnection time",
    opening(100, RETRY),
    [OPENED, "malformed: a second retry"],
    ["http", "curl"], // an EventSource takes it as it comes
  ],
  [
    "a cursor that is not an integer",
    opening(100, message("101.5"), message(102)),
    [OPENED, "malformed: a message whose id is 101.5", "message 102"],
  ],
  [
    "data that is not JSON",
    opening(100, message(101).replace("}", ""), message(102)),
    [OPENED, "malformed: data of message that is not a JSON object", "message 102"],
  ],
  [
    "a message before init",
    stream(RETRY, message(101), init(101)),
    ["malformed: a frame message before init", "opened at 101 from nothing"],
  ],
  [
    "an init without a cursor",
    stream(RETRY, init(100).replace("cursor", "cursors")),
    ['malformed: init: {"videoId"'],
  ],
  ["a second init", opening(100, init(100)), [OPENED, "malformed: a second init"]],
  ["a comment before the reconnection time", stream(KEEPALIVE, RETRY, init(100)), ["malformed: ", OPENED]],
  ["a stream without a reconnection time", stream(init(100)), ["malformed: ", OPENED]],
  ["another reconnection time", stream("retry: 1\n\n", init(100)), ["malformed: retry: 1", OPENED]],
  [
    "a message without an id",
    opening(100, message(101), message(102, "other").replace("id: 102\n", "")),
    [OPENED, "message 101", "malformed: a message without an id"],
  ],
  [
    "a message after a terminal frame",
    opening(100, END, message(101)),
    [OPENED, "end: no more continuations", "malformed: a frame message after a terminal frame"],
  ],
];

async function playCase(kind: ClientKind, found: Case): Promise<void> {
  const { answers, hears, sends, options, returnsMs } = found;
  await scripted(
    kind,
    answers,
    async ({ log, server, client }) => {
      await log.length(hears.length);
      await client.leave();
      const due = hears.at(-1) === "closed" ? hears : [...hears, "closed by itself"];
      const heard = log.lines.map((line, i) => (due[i] && line.startsWith(due[i]) ? due[i] : line));
      assert.deepEqual(heard, due);
      const ids = server.callers.map(({ lastEventId }) => lastEventId);
      if (sends) assert.deepEqual(ids, sends);
      if (returnsMs) assertAway(server, returnsMs);
    },
    options,
  );
}

after(assertNothingLeft);

// They wait for seconds, as clients do: all at once.
describe("a client", { concurrency: 200 }, () => {
  const broken = BROKEN.map(([what, bytes, hears, kinds]): Case => {
    return { title: `reports ${what}`, answers: [bytes], hears, ...(kinds && { kinds }) };
  });
  for (const { kind, skip } of KINDS) {
    for (const found of [...CASES, ...broken].filter(({ kinds }) => kinds?.includes(kind) ?? true))
      it(`${kind} ${found.title}`, { skip }, () => playCase(kind, found));
  }
});
