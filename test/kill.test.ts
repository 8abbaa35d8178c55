/** `kill -9` in mid-stream, again and again: what a viewer has seen stays, and nobody misses or gets twice anything. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { it } from "node:test";
import { startSimulator } from "../src/simulator/index.ts";
import { Random } from "../src/simulator/random.ts";
import { RelayProcess } from "./support/relay-process.ts";
import { temporaryFolder } from "./support/store-subject.ts";
import { Stream } from "./support/stream.ts";
import { assertExact, Viewer } from "./support/viewers.ts";

const KILLS = 22;
const VIDEO = "dQw4w9WgXcQ";
const SPOKEN_PER_SECOND = 100;

it(`loses and doubles nothing over ${KILLS} kills`, { timeout: 90_000 }, async (t) => {
  const random = new Random(7, "kills");
  await using upstream = await startSimulator();
  // Whoever loads a page is shown all that was said: what is missing in the end, the relay has lost.
  const chat = upstream.chat(VIDEO, { kinds: ["text", "paid"], timeoutMs: 10, page: 1000, overlap: 20 });
  const settings = {
    RELAY_STORE: `sqlite:${join(await temporaryFolder(t), "relay.db")}`,
    RELAY_MAX_FAILURES: "1000",
  };

  let relay = await RelayProcess.start(upstream, settings);
  t.after(() => relay.kill());

  const options = { videoId: VIDEO, backfill: 500 };
  const viewers = await Promise.all(
    Array.from({ length: 8 }, (_, i) =>
      Viewer.open(() => relay.url, options, i < 4 ? "http" : "eventsource"),
    ),
  );
  t.after(() => Promise.all(viewers.map((viewer) => viewer.leave())));
  const base = viewers[0]?.history.start ?? Number.NaN;
  const speech = chat.speak(SPOKEN_PER_SECOND);

  for (let kill = 0; kill < KILLS; kill++) {
    await someMoment();
    await relay.kill();
    await Promise.all(viewers.map((viewer) => viewer.ended()));
    const seen = seenBy(viewers);

    // The upstream says nothing until it is clear what was kept.
    const silence = upstream.fault({
      on: "get_live_chat",
      times: Number.POSITIVE_INFINITY,
      as: { status: 503 },
    });
    relay = await RelayProcess.start(upstream, settings);
    const kept = await keptBy(relay, Math.max(...seen.keys()));
    for (const [cursor, id] of seen)
      assert.equal(kept.get(cursor), id, `cursor ${cursor} after kill ${kill + 1}`);
    silence.cancel();

    // Some sleep through lives of the relay, so that not all stand at one place.
    const isLast = kill === KILLS - 1;
    const waking = viewers.filter((_, i) => isLast || i === 0 || random.chance(0.6));
    await Promise.all(waking.map((viewer) => viewer.wake()));
  }

  speech.stop();
  const said = chat.ledger.map(({ id }) => id);
  const texts = new Map<number, string>();
  for (const viewer of viewers) {
    await viewer.reached(base + said.length);
    assertExact(viewer.history, base, said, texts);
    assert.equal(viewer.history.messages.length, said.length);
  }

  /** After some polls, and some messages at a viewer: while a large batch is read, stored and sent, or near that. */
  async function someMoment(): Promise<void> {
    await upstream.requested("get_live_chat", { videoId: VIDEO, count: 1 + random.below(5) });
    const [awake] = viewers;
    if (random.chance(0.5)) await awake?.reached(awake.history.cursor + 1 + random.below(20));
    chat.say(100);
    await upstream.requested("get_live_chat", { videoId: VIDEO });
    await new Promise((resolve) => setTimeout(resolve, random.below(12)));
  }
});

/** Ids by cursor, of everybody together. */
function seenBy(viewers: readonly Viewer[]): Map<number, string> {
  return new Map(
    viewers.flatMap(({ history }) => history.messages.map(({ cursor, id }) => [cursor, id] as const)),
  );
}

/** What a reader of all that is kept is sent, up to a cursor that somebody has seen. */
async function keptBy(relay: RelayProcess, head: number): Promise<Map<number, string>> {
  await using reader = await Stream.open(relay.url, { videoId: VIDEO, lastEventId: 0 });
  await reader.until(() => reader.frames.some(({ id }) => id === String(head)), `cursor ${head}`);
  return new Map(reader.messages.map(({ cursor, message }) => [cursor, message.id]));
}
