/**
 * Chats that jump from 2 to 40 messages a second, read from an upstream that holds 10 s or 200 messages, in
 * virtual time.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { Chat } from "../../../src/simulator/simulated-chat.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";

const JUMPS = 1;
const QUIET = { rate: 2, forMs: 20_000 };
/** Longer than until the second poll after a jump. */
const LIVELY = { rate: 40, forMs: 8000 };
const PHASES = [...Array.from({ length: JUMPS }, () => [QUIET, LIVELY]).flat(), QUIET];
/** Each jumps at other moments between two polls. */
const VIDEOS = ["jumping-one", "jumping-two", "jumping-thr", "jumping-fou", "jumping-fiv"];

it("a chat that jumps from 2 to 40 messages a second loses nothing if polls are requested every 5 s", async () => {
  const relay = new VirtualRelay();
  const { clock, upstream } = relay;
  const talk = async (chat: Chat) => {
    await clock.sleep(QUIET.forMs * clock.random());
    for (const { rate, forMs } of PHASES) {
      const until = clock.monotonic() + forMs;
      for (; clock.monotonic() < until; await clock.sleep(1000 / rate)) chat.say(1);
    }
    await clock.sleep(QUIET.forMs);
  };
  const scenario = { kinds: ["text"], timeoutMs: 5000, holdsMs: 10_000, holdsMessages: 200 } as const;
  const chats = VIDEOS.map((videoId) => upstream.chat(videoId, scenario));
  for (const { videoId } of chats) await relay.enter({ videoId });
  await relay.when(Promise.all(chats.map(talk)));
  for (const { videoId, ledger } of chats) {
    assert.ok(ledger.length > JUMPS * 40 * 7);
    const stored = await relay.stored(videoId);
    assert.deepEqual(
      stored.map(({ id }) => id),
      ledger.map(({ id }) => id),
    );
  }
});
