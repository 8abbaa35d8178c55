/** The judges of a video's two chats: what each takes for a broken promise. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CAPACITY_CAUSES } from "../../src/protocol/capacity.ts";
import type { RoomRecord } from "../../src/store/port.ts";
import type { StoredMessage } from "../../src/store/stored-message.ts";
import { EVERYTHING } from "../harness/filters.ts";
import { Journal } from "../harness/journal.ts";
import type { Peek } from "../harness/peek.ts";
import { VirtualRelay } from "../harness/virtual-relay.ts";
import { ChatJudge } from "./chat-judge.ts";
import { EdgeWaits } from "./edge-waits.ts";
import { RoomJudge } from "./room-judge.ts";

const VIDEO = "finished-01";
/** The cursors before the first message of each chat. */
const [LIVE_BASE, REPLAY_BASE] = [1000, 5000];

const body = (id: string) => JSON.stringify({ type: "chat", id });
/** A message of the live chat; with `offsetMs`, one of the replay. */
function row(cursor: number, details: { offsetMs?: number } = {}): StoredMessage {
  const id = `message ${cursor}`;
  return { cursor, id, body: body(id), details: JSON.stringify(details), storedAt: 0 };
}
const live = (...rows: StoredMessage[]) => ({ base: LIVE_BASE, rows });
const replay = (...rows: StoredMessage[]) => ({ base: REPLAY_BASE, rows });
const said = (count: number) => Array.from({ length: count }, (_, n) => row(LIVE_BASE + 1 + n));
const played = (count: number) =>
  Array.from({ length: count }, (_, n) => row(REPLAY_BASE + 1 + n, { offsetMs: n }));

/** What the store holds of the two chats. */
interface Stored {
  live?: ReturnType<typeof live>;
  replay?: ReturnType<typeof replay>;
}

/** The judges of both chats, and an inspection of the store as it is then. */
function judged() {
  const { upstream, clock: scheduler } = new VirtualRelay();
  const chat = upstream.chat(VIDEO);
  const journal = new Journal(() => 0);
  const rooms = {
    live: new RoomJudge(chat, { view: "all", journal }),
    replay: new RoomJudge(chat, { view: "all", journal }),
  };
  Object.assign(rooms.replay, { isReplay: true, live: rooms.live });
  rooms.live.replay = rooms.replay;
  const inspect = async (stored: Stored) => {
    const of = (key: string) => (key === rooms.replay.key ? stored.replay : stored.live);
    const peek: Peek = {
      room: async (key) => {
        const log = of(key);
        return log && ({ base: log.base, head: log.base + log.rows.length } as RoomRecord);
      },
      account: async () => undefined,
      after: async (key, cursor) => of(key)?.rows.filter((each) => each.cursor > cursor) ?? [],
    };
    await rooms.live.inspect(peek);
    await rooms.replay.inspect(peek);
  };
  return { scheduler, journal, rooms, inspect };
}

describe("the judge of the logs of a video's two chats", () => {
  const ROWS: [what: string, seen: Stored[], expected: RegExp | undefined][] = [
    [
      "that follow each other",
      [{ live: live(...said(2)) }, { live: live(...said(2)), replay: replay(...played(2)) }],
      undefined,
    ],
    [
      "of which the live one has a message of the replay",
      [{ live: live(row(1001, { offsetMs: 5 })) }],
      /message 1001 at 1001 is of the replay/,
    ],
    [
      "of which the replay has a message of the live chat",
      [{ replay: replay(row(5001)) }],
      /message 5001 at 5001 is of the live chat/,
    ],
    [
      "of which the live one grows behind the replay",
      [
        { live: live(...said(2)), replay: replay(...played(1)) },
        { live: live(...said(3)), replay: replay(...played(1)) },
      ],
      /message 1003 is stored at 1003, behind the replay/,
    ],
    [
      "whose cursors meet",
      [{ live: live(...said(2)), replay: { base: 1001, rows: [] } }],
      /it goes on to 1002, and its replay begins after 1001/,
    ],
  ];
  for (const [what, seen, expected] of ROWS)
    it(`${expected ? "objects to" : "is silent about"} those ${what}`, async () => {
      const { journal, inspect } = judged();
      for (const stored of seen) await inspect(stored);
      if (expected) assert.match(journal.violation?.what ?? "", expected);
      else assert.equal(journal.violation, undefined);
    });
});

describe("the judge of a viewer of a replay's stored part", () => {
  for (const [what, sent, expected] of [
    ["gets all of it", 3, undefined],
    ["gets also what is stored after it came", 4, undefined],
    ["gets a part of it", 2, /is sent a part up to 5002, of 5003 stored/],
    ["gets nothing of it", 0, /is sent a part up to 5000, of 5003 stored/],
  ] as const)
    it(`${expected ? "objects to" : "is silent about"} one that ${what}`, async () => {
      const { scheduler, journal, rooms, inspect } = judged();
      const parts = { viewer: "one", filter: EVERYTHING, isDetailed: false, mayRefuse: () => false };
      const chat = new ChatJudge(rooms.live, { ...parts, scheduler, journal });
      const messages = played(4);
      await inspect({ live: live(...said(2)), replay: replay(...messages.slice(0, 3)) });
      chat.asks(undefined);
      await inspect({ live: live(...said(2)), replay: replay(...messages) });
      chat.begin({ cursor: REPLAY_BASE, chatType: "liveChatReplayRenderer" });
      for (const { cursor, body: data } of messages.slice(0, sent)) chat.message(cursor, data);
      chat.endPart();
      if (expected) assert.match(journal.violation?.what ?? "", expected);
      else assert.equal(journal.violation, undefined);
    });
});

describe("the judge of refusals at edges", () => {
  const refusedAfter = (waitedMs: number) => {
    const clock = { nowMs: 0 };
    const waits = new EdgeWaits(() => clock.nowMs);
    waits.refused(`/v1/stream?videoId=${VIDEO}&details=true`, waitedMs);
    return { clock, waits };
  };
  const { message } = CAPACITY_CAUSES.openings;

  it("accepts one after the longest wait in the queue of videos", () => {
    assert.equal(refusedAfter(30_000).waits.explain(VIDEO, message), true);
  });

  it("objects to one after a shorter wait", () => {
    assert.equal(refusedAfter(29_999).waits.explain(VIDEO, message), false);
  });

  it("objects to one of another video", () => {
    assert.equal(refusedAfter(30_000).waits.explain("finished-02", message), false);
  });

  it("objects to one for any other cause", () => {
    assert.equal(refusedAfter(30_000).waits.explain(VIDEO, CAPACITY_CAUSES.rooms.message), false);
  });

  it("objects to one that comes later", () => {
    const { clock, waits } = refusedAfter(30_000);
    clock.nowMs = 500;
    assert.equal(waits.explain(VIDEO, message), false);
  });
});
