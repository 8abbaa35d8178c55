/**
 * Isolation: how chats, viewers and callers in trouble affect live chats that are read beside them.
 */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { realisticHold } from "../../simulator/index.ts";
import { VirtualRelay } from "../harness/virtual-relay.ts";
import { beside, NEIGHBOURS } from "./neighbours.ts";

/** How much longer than alone a newcomer may wait, in milliseconds. */
const MAX_EXTRA_MS = 9000;
const PAGES = ["popout", "watch", "next"] as const;
/** While the upstream refuses every page, no new chat can be found. */
const REFUSED: Record<string, string> = { "pages throttled for 120 s": "RATE_LIMITED" };
/** For each lane at the gate, the scenario that disturbs others most; `simulate -- neighbours` plays all. */
const PLAYED = [
  "three chats whose pages are never answered",
  "five chats whose pages are never answered, two of them new",
  "pages throttled for 120 s",
  "twenty replays",
  "100 made-up ids every 20 s",
  "200 watched channels",
  "30 probes",
  "100 callers that poll by themselves",
];

describe("twenty live chats lose nothing, and a new one waits at most 9 s longer, beside", () => {
  let aloneMs: number;
  before(async () => {
    const { newcomer } = await playedBeside("nobody in trouble");
    aloneMs = Number(newcomer);
    assert.ok(aloneMs < 5000, `alone it waits ${newcomer}`);
  });

  for (const name of PLAYED) {
    it(name, async () => {
      const { lost, gaps, newcomer } = await playedBeside(name);
      assert.deepEqual({ lost, gaps }, { lost: 0, gaps: 0 });
      if (REFUSED[name]) assert.equal(newcomer, REFUSED[name]);
      else assert.ok(Number(newcomer) <= aloneMs + MAX_EXTRA_MS, `it waits ${newcomer}`);
    });
  }

  function playedBeside(name: string) {
    const neighbour = NEIGHBOURS[name];
    assert.ok(neighbour, name);
    return beside(neighbour, { troubleMs: 60_000 });
  }
});

it("new chats open within 10 s beside some that are switched off and some never answered", async () => {
  const relay = new VirtualRelay({ settings: { RELAY_GRACE_MS: "1" } });
  const { clock, upstream } = relay;
  const opened = async (name: string) => {
    const chat = upstream.chat(name.padEnd(11, "-"), { ...realisticHold, kinds: ["text"], timeoutMs: 5000 });
    chat.speak(1);
    const viewer = relay.visit({ videoId: chat.videoId, address: name });
    await viewer.entered;
    return { chat, viewer };
  };
  const lose = ({ chat }: Awaited<ReturnType<typeof opened>>) => {
    upstream.fault({ on: PAGES, videoId: chat.videoId, times: Number.POSITIVE_INFINITY, as: "silent" });
    chat.expireTokens();
  };
  const several = (name: string, count: number) =>
    relay.when(Promise.all(Array.from({ length: count }, (_, i) => opened(`${name}${i}`))));
  const [off, others] = [await several("off", 4), await several("other", 10)];
  for (const { chat } of off) {
    chat.change({ kind: "off" });
    chat.expireTokens();
  }
  await relay.advance(10_000);
  for (const chat of off) lose(chat);
  const waits = [];
  for (const [i, other] of others.entries()) {
    lose(other);
    await relay.advance(8000);
    const cameAt = clock.monotonic();
    const { viewer } = await relay.when(opened(`new${i}`));
    waits.push(Math.round(clock.monotonic() - cameAt));
    viewer.sink.leave();
  }
  assert.ok(Math.max(...waits) < MAX_EXTRA_MS, `they wait ${waits}`);
});

it("a page that a late answer requests and that is never answered holds up no poll of its room", async () => {
  const relay = new VirtualRelay({ seed: 1 });
  const { clock, upstream, answers } = relay;
  const videoId = "late-answer";
  const chat = upstream.chat(videoId, { ...realisticHold, kinds: ["text"], timeoutMs: 10_000 });
  chat.speak(1);
  relay.visit({ videoId });
  void (async () => {
    await clock.sleep(30_000);
    const away = upstream.fault({
      on: "get_live_chat",
      videoId,
      times: Number.POSITIVE_INFINITY,
      as: { status: 503 },
    });
    upstream.fault({ on: "popout", videoId, times: Number.POSITIVE_INFINITY, as: "silent" });
    await clock.sleep(20_000);
    away.cancel();
  })();
  await relay.advance(120_000);
  const times = (answers.get(videoId) ?? []).filter((at) => at > 50_000);
  const apartMs = times.slice(1).map((at, i) => at - (times[i] ?? at));
  assert.ok(apartMs.length >= 6 && Math.max(...apartMs) < 9500, apartMs.join());
});
