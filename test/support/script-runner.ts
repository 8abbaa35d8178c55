/**
 * Runs a script on one relay: chats that speak and fail, viewers that come, sleep, resume and go. In the end it judges
 * whether everybody was sent exactly what was said, and whether the upstream met one poller per room.
 */
import assert from "node:assert/strict";
import type { Chat } from "../../src/simulator/chat.ts";
import type { Failure, Fault } from "../../src/simulator/faults.ts";
import type { RequestKind, RequestRecord } from "../../src/simulator/requests.ts";
import type { TestRelay } from "./relay.ts";
import { assertExact, Viewer } from "./viewers.ts";

const MAX_VIEWERS = 200;
/** One viewer in so many reads with `node:http`, all others with an EventSource. */
const HTTP_SHARE = 10;
/** One in so many asks for details. */
const DETAILS_SHARE = 7;
/** `backlog`: how much was said before anybody came. */
const ROOMS = [
  { videoId: "dQw4w9WgXcQ", backlog: 0 },
  { videoId: "-_0aZ9aaaaa", backlog: 30 },
];

/** `room` is 0 or 1; `share` means one viewer in so many. */
export type Step =
  | { do: "say"; room: number; count: number }
  | { do: "arrive"; room: number; count: number; backfill: number }
  | { do: "sleep" | "wake" | "leave"; share: number }
  | { do: "expire"; room: number; page: Failure | undefined }
  | { do: "fail"; room: number; as: Failure; times: number }
  | { do: "wait"; room: number; polls: number };

interface ScriptRoom {
  chat: Chat;
  /** The first message said has the cursor after this. */
  base: number;
  ordered: { fault: Fault; on: RequestKind; times: number }[];
}

interface Member {
  viewer: Viewer;
  room: ScriptRoom;
  details: boolean;
  mood: "awake" | "asleep" | "gone";
}

export class ScriptRunner {
  readonly #relay: TestRelay;
  readonly #rooms: ScriptRoom[] = [];
  /** All that ever came, those who left included. */
  readonly #members: Member[] = [];

  /** Opens both rooms, each by so many viewers at once, one of which is sent all of it. */
  static async on(relay: TestRelay, openers = 3): Promise<ScriptRunner> {
    const runner = new ScriptRunner(relay);
    for (const { videoId, backlog } of ROOMS) await runner.#open(videoId, backlog, openers);
    return runner;
  }

  private constructor(relay: TestRelay) {
    this.#relay = relay;
  }

  async run(step: Step): Promise<void> {
    switch (step.do) {
      case "say":
        this.#room(step).chat.say(step.count);
        return;
      case "arrive":
        for (let i = 0; i < step.count; i++) await this.#arrive(this.#room(step), step.backfill);
        return;
      case "sleep":
        return this.#each(step.share, "awake", "asleep", (viewer) => viewer.sleep());
      case "wake":
        return this.#each(step.share, "asleep", "awake", (viewer) => viewer.wake());
      case "leave":
        return this.#each(step.share, "awake", "gone", (viewer) => viewer.leave());
      case "expire":
        if (step.page) this.#fail(this.#room(step), "popout", step.page, 1);
        this.#room(step).chat.expireTokens();
        return;
      case "fail":
        return this.#fail(this.#room(step), "get_live_chat", step.as, step.times);
      case "wait":
        await this.polled(step.room, step.polls);
    }
  }

  /** Resolves, with their records, once a room has been polled so often from now on. */
  polled(room: number, polls: number): Promise<RequestRecord[]> {
    const { videoId } = this.#room({ room }).chat;
    return this.#relay.upstream.requested("get_live_chat", { videoId, count: polls });
  }

  /** Lets everything come to rest, faults that were ordered included, and judges it. */
  async judge(): Promise<void> {
    for (const { chat, ordered } of this.#rooms) {
      for (const { fault, on, times } of ordered) {
        while (fault.fired < times) {
          if (on === "popout") chat.expireTokens(); // two expiries may have come to one page
          await this.#relay.upstream.requested("get_live_chat", { videoId: chat.videoId });
        }
      }
    }
    await this.#each(1, "asleep", "awake", (viewer) => viewer.wake());
    for (const { viewer, room, mood } of this.#members) {
      if (mood === "awake") await viewer.reached(room.base + room.chat.ledger.length);
    }
    for (const room of this.#rooms) {
      const said = room.chat.ledger.map(({ id }) => id);
      const texts = { plain: new Map<number, string>(), detailed: new Map<number, string>() };
      for (const { viewer, details } of this.#members.filter((member) => member.room === room)) {
        assertExact(viewer.history, room.base, said, details ? texts.detailed : texts.plain);
        for (const { data } of viewer.history.messages) assert.equal("details" in JSON.parse(data), details);
        assert.equal(viewer.history.lost, 0, "a connection was lost");
      }
      this.#assertOnePoller(room);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#members.map(({ viewer }) => viewer.leave()));
  }

  /** At no time two calls for one video; a token is sent again only where a fault took its answer. */
  #assertOnePoller({ chat: { videoId }, ordered }: ScriptRoom): void {
    const calls = this.#relay.upstream.requests.filter((call) => call.videoId === videoId);
    for (const [i, call] of calls.entries()) {
      const before = calls[i - 1];
      if (before)
        assert.ok((before.finishedAt ?? Number.POSITIVE_INFINITY) <= call.at, `two calls for ${videoId}`);
    }
    const tokens = calls.map(({ continuation }) => continuation).filter((token) => token !== undefined);
    const repeats = tokens.length - new Set(tokens).size;
    const lost = ordered.reduce((sum, { fault, on }) => sum + (on === "get_live_chat" ? fault.fired : 0), 0);
    assert.ok(repeats <= lost, `${repeats} tokens of ${videoId} sent again, ${lost} answers lost`);
  }

  /** Every action becomes one message, and whoever loads a page is shown all that was said. */
  async #open(videoId: string, backlog: number, openers: number): Promise<void> {
    const chat = this.#relay.upstream.chat(videoId, {
      kinds: ["text", "paid"],
      timeoutMs: 15,
      page: 5000,
      overlap: 25,
    });
    chat.say(backlog);
    const base = () => this.#relay.url;
    const viewers = await Promise.all([
      Viewer.open(base, { videoId, backfill: 500 }),
      ...Array.from({ length: openers - 1 }, () => Viewer.open(base, { videoId }, "eventsource")),
    ]);
    const room = { chat, base: viewers[0].history.start ?? Number.NaN, ordered: [] };
    this.#rooms.push(room);
    for (const viewer of viewers) this.#members.push({ viewer, room, details: false, mood: "awake" });
  }

  async #arrive(room: ScriptRoom, backfill: number): Promise<void> {
    if (this.#members.filter(({ mood }) => mood !== "gone").length >= MAX_VIEWERS) return;
    const details = this.#members.length % DETAILS_SHARE === 0;
    const query = { videoId: room.chat.videoId, backfill, details };
    const base = () => this.#relay.url;
    const kind = this.#members.length % HTTP_SHARE === 0 ? "http" : "eventsource";
    const viewer = await Viewer.open(base, query, kind);
    this.#members.push({ viewer, room, details, mood: "awake" });
  }

  #fail({ chat, ordered }: ScriptRoom, on: RequestKind, as: Failure, times: number): void {
    const fault = this.#relay.upstream.fault({ on, videoId: chat.videoId, times, as });
    ordered.push({ fault, on, times });
  }

  async #each(
    share: number,
    before: Member["mood"],
    after: Member["mood"],
    act: (viewer: Viewer) => Promise<void>,
  ): Promise<void> {
    const some = this.#members.filter(({ mood }) => mood === before).filter((_, i) => i % share === 0);
    for (const member of some) member.mood = after;
    await Promise.all(some.map(({ viewer }) => act(viewer)));
  }

  #room({ room }: { room: number }): ScriptRoom {
    const found = this.#rooms[room];
    assert.ok(found, `no room ${room}`);
    return found;
  }
}
