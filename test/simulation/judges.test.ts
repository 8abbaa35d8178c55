/** The judges of a video's two chats, and of several instances: what each takes for a broken promise. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Random } from "../../simulator/random.ts";
import { CHATS, type ChatKey, chatKey, otherChat } from "../../src/protocol/chat-key.ts";
import type { TakenRoom } from "../../src/store/ownership.ts";
import type { RoomRecord } from "../../src/store/port.ts";
import type { PostgresSettings } from "../../src/store/postgres/postgres.ts";
import { SQL } from "../../src/store/postgres/postgres-tables.ts";
import type { StoredMessage } from "../../src/store/stored-message.ts";
import { EVERYTHING } from "../harness/filters.ts";
import { Journal } from "../harness/journal.ts";
import type { Peek } from "../harness/peek.ts";
import { VirtualRelay } from "../harness/virtual-relay.ts";
import { ChatJudge } from "./chat-judge.ts";
import { ClusterJudge, type ClusterWorld } from "./cluster-judge.ts";
import { RoomJudge } from "./room-judge.ts";
import { free } from "./shared-room.ts";
import { SharedStore } from "./shared-store.ts";

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
      const parts = { viewer: "one", filter: EVERYTHING, isDetailed: false, isSharedWell: true };
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

describe("the judge of several instances, for a chat that an instance alone wants", () => {
  for (const chat of CHATS)
    for (const [what, isOwner, leftForMs] of [
      ["that has handed it on", true, 4000],
      ["that has never read it", false, 2000],
    ] as const)
      it(`gives one ${what} ${leftForMs / 1000} s to read the ${chat} chat`, async () => {
        const { instances, scheduler, journal, judge, store } = instanceThatWants(VIDEO);
        const owner = isOwner ? instances[0].line.instance : "of another one";
        const key = chatKey(VIDEO, chat);
        store.execute(SQL.take, [key, owner, 60_000, otherChat(key)]);
        const room = store.at(VIDEO) ?? assert.fail();
        const pass = async (ms: number) => {
          for (let at = 0; at < ms; at += 250) {
            room.checkpointAt = scheduler.monotonic();
            judge.inspect();
            await scheduler.advance(250);
          }
        };
        const violation = () => journal.violation?.what ?? "";
        room.checkpoint = "{}";
        await pass(20_000);
        free(room);
        await pass(leftForMs);
        assert.equal(violation(), "");
        await pass(3000);
        assert.match(violation(), /^nobody reads it for \d+ ms/);
      });
});

describe("the judge of several instances, for a call of a video whose two chats are owned", () => {
  const ROWS: [what: string, standing: { live: Standing; replay: Standing }, caller: "live" | "replay"][] = [
    ["whose replay has not been read", { live: "unread", replay: "unread" }, "live"],
    ["whose replay has ended", { live: "ended", replay: "ended" }, "live"],
    ["whose replay is open", { live: "ended", replay: "open" }, "replay"],
    ["whose live chat alone is open", { live: "open", replay: "unread" }, "live"],
    ["whose chats are both open", { live: "open", replay: "open" }, "replay"],
  ];
  for (const [what, standing, expected] of ROWS)
    it(`lets the owner of the ${expected} chat alone call of one ${what}`, () => {
      for (const caller of CHATS) {
        const { instances, journal, judge, store } = instanceThatWants(VIDEO);
        for (const chat of CHATS) {
          const owner = chat === caller ? instances[0].line.instance : "of another one";
          own(store, chatKey(VIDEO, chat), owner, standing[chat]);
        }
        judge.called(VIDEO, instances[0].name);
        const violation = journal.violation?.what;
        assert.equal(
          violation,
          caller === expected ? undefined : "instance 1 polls it, and nobody has a good lease",
        );
      }
    });
});

type Standing = "unread" | "open" | "ended";

/** Makes the instance the owner of a chat with this standing. */
function own(store: SharedStore, key: ChatKey, owner: string, standing: Standing): void {
  const take = () => store.execute(SQL.take, [key, owner, 60_000, otherChat(key)])[0] as TakenRoom;
  const { epoch, head } = take();
  if (standing === "unread") return;
  const nothing = [[], [], []];
  store.execute(SQL.append, [key, epoch, head, ...nothing, "{}", 60_000, null, 0, ...nothing]);
  if (standing === "open") return;
  store.execute(SQL.finish, [key, epoch, "ended", "{}"]);
  take();
}

/** The judge of an instance with a viewer of the video, which has been well for long. */
function instanceThatWants(videoId: string) {
  const { clock: scheduler } = new VirtualRelay();
  const journal = new Journal(() => scheduler.monotonic());
  const store = new SharedStore(scheduler, new Random(1));
  const line = { instance: "process of 1", isWell: true };
  const instances = [{ name: "1", life: {}, line, addresses: [], pausedUntil: 0 }] as const;
  const room = { videoId };
  const world = {
    ...{ scheduler, journal, instances, rooms: [room] },
    upstreamJudge: { answeredAt: () => scheduler.monotonic() },
    viewers: [{ host: instances[0], watching: [room] }],
  } as unknown as ClusterWorld;
  const settings = { leaseMs: 6000, graceMs: 90_000 } as PostgresSettings;
  return { instances, scheduler, journal, store, judge: new ClusterJudge(world, store, settings) };
}
