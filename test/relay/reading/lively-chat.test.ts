/**
 * Chats that grow from 2 to 23 and to 57 messages a second, read from an upstream that holds 10 s or 200
 * messages, in virtual time.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { Chat } from "../../../simulator/simulated-chat.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";

const ASKED_MS = 9000;
/**
 * An interval of 8.1 s at 23 a second, and then one of 3.3 s at 57, have just under 200 messages. Each phase
 * is longer than the interval of the one before it.
 */
const PHASES = [
  { rate: 2, forMs: 20_000 },
  { rate: 23, forMs: 18_000 },
  { rate: 57, forMs: 8000 },
  { rate: 2, forMs: 2 * ASKED_MS },
];
/** Each grows at other moments between two polls. */
const VIDEOS = ["growing-one", "growing-two", "growing-thr", "growing-fou", "growing-fiv"];

it("a chat that grows from 2 to 23 and 57 messages a second loses nothing if polls are requested every 9 s", async () => {
  const relay = new VirtualRelay();
  const { clock, upstream } = relay;
  const talk = async (chat: Chat) => {
    await clock.sleep(ASKED_MS * clock.random());
    for (const { rate, forMs } of PHASES) {
      const until = clock.monotonic() + forMs;
      for (; clock.monotonic() < until; await clock.sleep(1000 / rate)) chat.say(1);
    }
    await clock.sleep(ASKED_MS);
  };
  const scenario = { kinds: ["text"], timeoutMs: ASKED_MS, holdsMs: 10_000, holdsMessages: 200 } as const;
  const chats = VIDEOS.map((videoId) => upstream.chat(videoId, scenario));
  for (const { videoId } of chats) await relay.enter({ videoId });
  await relay.when(Promise.all(chats.map(talk)));
  for (const { videoId, ledger } of chats) {
    const stored = await relay.stored(videoId);
    assert.deepEqual(
      stored.map(({ id }) => id),
      ledger.map(({ id }) => id),
    );
  }
});
