/**
 * Each kind of viewer against a server whose answers are written here: what its judge hears, and what it
 * sends.
 */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, describe, it } from "node:test";
import { Random } from "../../simulator/random.ts";
import { Client, type ClientKind } from "../harness/clients/client.ts";
import { hasCurl } from "../harness/clients/curl-connection.ts";
import type { ChatObserver, ClientOptions } from "../harness/clients/observer.ts";
import {
  type Answer,
  AnsweringServer,
  END,
  init,
  message,
  refuses,
  streams,
} from "../support/answering-server.ts";
import { Stream } from "../support/stream.ts";
import { Changes } from "../support/viewers.ts";

/** An answer that may wait until its client has heard something. */
type Script = (...args: [...Parameters<Answer>, heard: (line: string) => Promise<void>]) => unknown;

interface Case {
  answers: readonly Script[];
  /** The expected lines, each matched at least up to its end here. */
  hears: readonly string[];
  /** The Last-Event-ID of each call. */
  sends?: readonly (string | undefined)[];
  options?: Partial<ClientOptions>;
  /** How long after the first call the second one comes, at least. */
  returnsMs?: number;
  /** For those who can hear it; default all. */
  kinds?: readonly ClientKind[];
}

const SKIP: Record<ClientKind, string | false> = {
  http: false,
  eventsource: false,
  curl: hasCurl() ? false : "curl is not installed",
  sdk: false,
};
const RETRY = "retry: 3000\n\n";
const ERROR = 'event: error\ndata: {"code":"UPSTREAM_ERROR","message":"gone"}\n\n';
const CAPACITY = '{"code":"CAPACITY","message":"full"}';
const OPENED = "opened at 100 from nothing";
const AGAIN = "opened at 101 from 101";
/** The clients that report every broken rule; the SDK copes with it, or reconnects silently. */
const WATCHFUL: readonly ClientKind[] = ["http", "curl", "eventsource"];

/** A stream that begins after a cursor and stays open. */
const opening = (cursor: number, ...frames: string[]) => streams(RETRY, init(cursor), ...frames);

/** Does something with the connection once the client has heard a line. */
const once =
  (answer: Answer, line: string, act: (response: ServerResponse) => unknown): Script =>
  async (response, call, heard) => {
    answer(response, call);
    await heard(line);
    act(response);
  };

const CASES: Record<string, Case> = {
  "drops half a frame, and comes back after the last whole one": {
    answers: [
      once(
        opening(100, message(101), message(102, { message: "zdrówko 👋" }).slice(0, -1)),
        "message 101",
        ({ socket }) => socket?.resetAndDestroy(),
      ),
      opening(101, message(102)),
    ],
    hears: [OPENED, "message 101", "closed", AGAIN, "message 102"],
    sends: [undefined, "101"],
  },
  "comes back from an orderly end": {
    answers: [once(opening(100, message(101)), "message 101", (response) => response.end()), opening(101)],
    hears: [OPENED, "message 101", "closed", AGAIN],
    sends: [undefined, "101"],
  },
  "comes back from an orderly end after a terminal frame": {
    answers: [
      once(opening(100, message(101), END), "end: no more continuations", (response) => response.end()),
      opening(101),
    ],
    hears: [OPENED, "message 101", "end: no more continuations", "closed", AGAIN],
    sends: [undefined, "101"],
  },
  "reports an error frame by its code": {
    answers: [opening(100, ERROR)],
    hears: [OPENED, "error: UPSTREAM_ERROR"],
    kinds: WATCHFUL,
  },
  "closes a stream on which an error frame came": {
    answers: [opening(100, ERROR)],
    hears: [OPENED, "error: UPSTREAM_ERROR", "closed"],
    kinds: ["sdk"],
  },
  "stays away for as long as a refusal says": {
    answers: [refuses(503, CAPACITY, { "retry-after": "1", connection: "close" }), opening(100)],
    hears: ["refused: 503 CAPACITY", "closed", "opened at 100 from 100"],
    sends: ["100", "100"],
    options: { lastEventId: 100 },
    returnsMs: 1000,
  },
  "reports a chunk whose size is not a number": {
    answers: [once(opening(100), OPENED, ({ socket }) => socket?.write(`zz\r\n${message(101)}\r\n`))],
    hears: [OPENED, "malformed: ", "closed"],
    kinds: WATCHFUL,
  },
  "reports a refusal that is cut short": {
    answers: [
      ({ socket }) =>
        socket?.end(`HTTP/1.1 503 No\r\nContent-Length: ${CAPACITY.length}\r\n\r\n${CAPACITY.slice(0, -1)}`),
    ],
    hears: ["refused: 503 ", "closed"],
  },
  "reports a second reconnection time": {
    answers: [opening(100, RETRY)],
    hears: [OPENED, "malformed: a second retry"],
    kinds: ["http", "curl"], // an EventSource takes it as it comes
  },
};

/** The broken rule, the stream's frames, and the expected lines. */
const BROKEN: [what: string, frames: string[], ...hears: string[]][] = [
  [
    "a cursor that is not an integer",
    [RETRY, init(100), message(101).replace("id: 101", "id: 101.5"), message(102)],
    OPENED,
    "malformed: a message whose id is 101.5",
    "message 102",
  ],
  [
    "data that is not JSON",
    [RETRY, init(100), message(101).replace("}", ""), message(102)],
    OPENED,
    "malformed: data of message that is not a JSON object",
    "message 102",
  ],
  [
    "a message before init",
    [RETRY, message(101), init(101)],
    "malformed: a frame message before init",
    "opened at 101 from nothing",
  ],
  [
    "an init without a cursor",
    [RETRY, init(100).replace("cursor", "cursors")],
    'malformed: init: {"videoId"',
  ],
  ["a second init", [RETRY, init(100), init(100)], OPENED, "malformed: a second init"],
  ["a comment before the reconnection time", [": keepalive\n\n", RETRY, init(100)], "malformed: ", OPENED],
  ["a stream without a reconnection time", [init(100)], "malformed: ", OPENED],
  ["another reconnection time", ["retry: 1\n\n", init(100)], "malformed: retry: 1", OPENED],
  [
    "a message without an id",
    [RETRY, init(100), message(101), message(102).replace("id: 102\n", "")],
    OPENED,
    "message 101",
    "malformed: a message without an id",
  ],
  [
    "a message after a terminal frame",
    [RETRY, init(100), END, message(101)],
    OPENED,
    "end: no more continuations",
    "malformed: a frame message after a terminal frame",
  ],
];
const HEARD_BY_SDK = ["a message before init", "a second init"];
for (const [what, frames, ...hears] of BROKEN) {
  const kinds: readonly ClientKind[] = HEARD_BY_SDK.includes(what) ? [...WATCHFUL, "sdk"] : WATCHFUL;
  CASES[`reports ${what}`] = { answers: [streams(...frames)], hears, kinds };
}

async function play(kind: ClientKind, { answers, hears, sends, options, returnsMs }: Case): Promise<void> {
  const lines: string[] = [];
  const changes = new Changes();
  const add = (line: string): void => {
    lines.push(line);
    changes.announce();
  };
  const observer: ChatObserver = {
    opened: ({ cursor }, lastEventId) => add(`opened at ${cursor} from ${lastEventId ?? "nothing"}`),
    message: (cursor) => add(`message ${cursor}`),
    terminal: (event, reason) => add(`${event}: ${reason}`),
    refused: (status, code) => add(`refused: ${status} ${code}`),
    closed: (asked) => add(asked ? "closed by itself" : "closed"),
    malformed: (what) => add(`malformed: ${what}`),
  };
  const heard = (line: string) => changes.until(() => lines.includes(line), `${line} among ${lines}`);
  const scripts = answers.map(
    (script): Answer =>
      (response, call) =>
        script(response, call, heard),
  );
  await using server = await AnsweringServer.start(...scripts);
  const asked = { videoId: "scripted-01", ...options };
  const client = new Client(kind, () => server.url, asked, observer, new Random(2)); // first waits 97 ms
  try {
    await changes.until(() => lines.length >= hears.length, `${hears.length} lines`);
  } finally {
    await client.leave();
  }
  const due = hears.at(-1) === "closed" ? hears : [...hears, "closed by itself"];
  assert.deepEqual(
    lines.map((line, i) => (due[i] && line.startsWith(due[i]) ? due[i] : line)),
    due,
  );
  const sent = server.calls.map(({ lastEventId }) => lastEventId);
  if (sends) assert.deepEqual(sent, sends);
  const [awayMs = 0] = server.waits;
  if (returnsMs) assert.ok(awayMs >= returnsMs - 2, `away for ${awayMs} ms`); // timers may be early
}

after(async () => {
  // The handle of a process that is gone goes a turn of the loop later, behind the immediates.
  for (let turns = 0; turns < 2; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  const left = process.getActiveResourcesInfo().filter((name) => /^(ProcessWrap|Timeout)$/.test(name));
  assert.deepEqual(left, [], "processes or timers are left");
});

// They wait for seconds, as clients do: all at once.
describe("a client", { concurrency: 200 }, () => {
  for (const [kind, skip] of Object.entries(SKIP) as [ClientKind, string | false][]) {
    for (const [title, found] of Object.entries(CASES))
      if (found.kinds?.includes(kind) ?? true) it(`${kind} ${title}`, { skip }, () => play(kind, found));
  }
});

describe("a test's own stream fails if", () => {
  for (const [what, frames, fault] of [
    ["a cursor is left out", [message(101), message(103)], "is sent 103 after 101"],
    ["a cursor comes twice", [message(101), message(101)], "is sent 101 after 101"],
    ["a message follows the end", [END, message(101)], "is sent 101 after its end"],
  ] as const) {
    it(what, async () => {
      await using server = await AnsweringServer.start(opening(100, ...frames));
      const stream = await Stream.open(server.url, { videoId: "scripted-01" });
      const read = stream.until(() => stream.frames.length === 3);
      await assert.rejects(read, { actual: [fault] });
      await assert.rejects(stream.close(), { actual: [fault] });
    });
  }
});
