/** A store that does what it is told and cannot say so: a room goes on, and holds everything once. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { systemClock } from "../src/clock.ts";
import type { RoomEnd } from "../src/protocol/chat.ts";
import type { EncodedMessage, Message } from "../src/protocol/message.ts";
import { Appender } from "../src/rooms/appender.ts";
import type { Checkpoint } from "../src/rooms/checkpoint.ts";
import { MemoryStore } from "../src/store/memory.ts";
import { type Claim, StoreError } from "../src/store/port.ts";
import { silentLog } from "../src/telemetry/log.ts";
import { Telemetry } from "../src/telemetry/telemetry.ts";
import { observe } from "./support/store-subject.ts";

const VIDEO = "lost-answer";
const NEVER = new AbortController().signal;
const CHECKPOINT: Checkpoint = {
  chatType: "liveChatRenderer",
  pair: { client: "WEB", endpoint: "get_live_chat" },
  credentials: { apiKey: "key", clientVersion: "1" },
  continuation: "token",
  panels: [],
};

/** Loses the answers to its next writes, and then to its next looks at a room. */
class ForgetfulStore extends MemoryStore {
  losesWrites = 0;
  losesLooks = 0;

  override async append(claim: Claim, head: number, messages: readonly EncodedMessage[], checkpoint: string) {
    const added = await super.append(claim, head, messages, checkpoint);
    if (this.losesWrites-- > 0) throw new StoreError("unavailable", "the answer was lost");
    return added;
  }

  override async finish(claim: Claim, end: RoomEnd) {
    await super.finish(claim, end);
    if (this.losesWrites-- > 0) throw new StoreError("unavailable", "the answer was lost");
  }

  override async getRoom(videoId: string) {
    if (this.losesLooks-- > 0) throw new StoreError("unavailable", "no look at the room");
    return super.getRoom(videoId);
  }
}

function batchOf(...ids: string[]) {
  const messages = ids.map((id): Message => {
    return {
      type: "chat",
      id,
      timestamp: "",
      author: "a",
      message: id,
      amount: "",
      color: "",
      parts: [],
      details: {},
    };
  });
  return { messages, replacements: new Map() };
}

for (const losesLooks of [0, 1, 2]) {
  it(`goes on after a lost answer, and ${losesLooks} looks at the room that fail`, async () => {
    const store = new ForgetfulStore(systemClock);
    const claim = await store.claim(VIDEO);
    const telemetry = new Telemetry(silentLog);
    const observed = observe(store, systemClock, telemetry);
    const appender = new Appender({ store: observed, clock: systemClock, telemetry }, claim, claim.head);
    Object.assign(store, { losesWrites: 1, losesLooks });

    await appender.append(batchOf("1", "2"), CHECKPOINT, NEVER);
    await appender.append(batchOf("2", "3"), CHECKPOINT, NEVER);
    assert.deepEqual(
      (await store.read(VIDEO, claim.base, 10)).map(({ id, cursor }) => [id, cursor - claim.base]),
      [
        ["1", 1],
        ["2", 2],
        ["3", 3],
      ],
    );

    Object.assign(store, { losesWrites: 1, losesLooks });
    await appender.finish({ state: "ended", reason: "no more continuations" }, NEVER);
    assert.equal(observed.health.isBlocked, false);
  });
}
