/**
 * Measures how one party's trouble affects the others, in virtual time: twenty live chats at default
 * settings, a neighbour in trouble, and a newcomer.
 */

import type { FaultOrder } from "../../simulator/faults.ts";
import { realisticHold } from "../../simulator/index.ts";
import type { JsonObject } from "../../simulator/plain-json.ts";
import type { RequestKind } from "../../simulator/requests.ts";
import { probe } from "../../src/upstream/probe.ts";
import { missing, VirtualRelay } from "../harness/virtual-relay.ts";

const OTHERS = 20;
/** The intervals that the upstream asks for, in milliseconds, in rotation. */
const INTERVALS_MS = [10_000, 10_000, 5000, 10_000, 2000];
/** Messages per second of each chat. */
const TALK = 1;
const OPENED_MS = 60_000;
const TROUBLE_MS = 120_000;
/** Messages of all replays: more than can be read in that time. */
const REPLAYED = 8000;
/** The newcomer comes in the middle of the trouble. */
const NEWCOMER_AT_MS = OPENED_MS + 45_000;
/** Two others come this much earlier. */
const FRESH_BEFORE_MS = 500;
const CHAT: readonly RequestKind[] = ["get_live_chat", "get_live_chat_replay"];
const PAGES: readonly RequestKind[] = ["popout", "watch", "next"];

/** A neighbour that gets into trouble when this is called. */
type Neighbour = (relay: VirtualRelay) => Promise<void>;

/** Opens this number of the neighbour's own chats, before the trouble begins. */
async function ownChats(relay: VirtualRelay, count: number, intervalMs = 5000) {
  const chats = Array.from({ length: count }, (_, i) => {
    const chat = relay.upstream.chat(`neighbour-${i}`.padEnd(11, "-"), {
      ...realisticHold,
      kinds: ["text"],
      timeoutMs: intervalMs,
      tokens: "reusable",
    });
    chat.speak(TALK);
    return chat;
  });
  for (const { videoId } of chats) await relay.visit({ videoId, address: "neighbour" }).entered;
  await relay.clock.sleep(OPENED_MS - relay.clock.monotonic());
  return chats;
}

/** Chats whose tokens are refused while their calls of these kinds fail. */
function failing(on: readonly RequestKind[], as: FaultOrder["as"], count = 3): Neighbour {
  return async (relay) => {
    for (const chat of await ownChats(relay, count)) {
      relay.upstream.fault({ on, videoId: chat.videoId, times: Number.POSITIVE_INFINITY, as });
      chat.expireTokens();
    }
  };
}

function replays(count: number): Neighbour {
  return async (relay) => {
    await relay.clock.sleep(OPENED_MS);
    for (let i = 0; i < count; i++) {
      const videoId = `replay-${i}`.padEnd(11, "-");
      relay.upstream
        .chat(videoId, { kind: "replay", kinds: ["text"], tokens: "reusable" })
        .say(REPLAYED / count);
      relay.visit({ videoId, address: "neighbour" }); // viewers that wait too long give up
    }
  };
}

export const NEIGHBOURS: Record<string, Neighbour> = {
  "nobody in trouble": async () => {},
  "three chats behind a wall on their pages": failing(PAGES, "bot"),
  "three chats whose pages are never answered": failing(PAGES, "silent"),
  "five chats whose pages are never answered, two of them new": async (relay) => {
    await failing(PAGES, "silent")(relay);
    await relay.clock.sleep(NEWCOMER_AT_MS - FRESH_BEFORE_MS - relay.clock.monotonic());
    for (const videoId of ["unanswered1", "unanswered2"]) {
      relay.upstream.fault({ on: PAGES, videoId, times: Number.POSITIVE_INFINITY, as: "silent" });
      relay.visit({ videoId, address: videoId });
    }
  },
  "three chats whose pages fail (HTTP 503)": failing(PAGES, { status: 503 }),
  "three chats whose polls are never answered": failing(CHAT, "silent"),
  "three chats whose tokens expire every 3 s": async (relay) => {
    const chats = await ownChats(relay, 3);
    for (;;) {
      for (const chat of chats) chat.expireTokens();
      await relay.clock.sleep(3000);
    }
  },
  "pages throttled for 120 s": failing(PAGES, { status: 429, headers: { "retry-after": "120" } }),
  "two replays": replays(2),
  "twenty replays": replays(20),
  "100 made-up ids every 20 s": async (relay) => {
    await relay.clock.sleep(OPENED_MS);
    for (let round = 0; ; round++) {
      for (let i = 0; i < 100; i++)
        relay.visit({ videoId: `dead-${round}-${i}`.padEnd(11, "-"), address: "neighbour" });
      await relay.clock.sleep(20_000);
    }
  },
  "200 watched channels": async (relay) => {
    await relay.clock.sleep(OPENED_MS);
    for (let i = 0; i < 200; i++) {
      relay.upstream.channel(`@channel${i}`);
      relay.channels.watch(`@channel${i}`, "192.0.2.1");
    }
  },
  "30 probes": async (relay) => {
    await ownChats(relay, 1);
    const probes = Array.from({ length: 30 }, async () => {
      for (;;) await probe(relay.egresses.best, "neighbour-0", new AbortController().signal);
    });
    await Promise.all(probes);
  },
  "100 callers that poll by themselves": async (relay) => {
    await relay.clock.sleep(OPENED_MS);
    const signal = new AbortController().signal;
    const callers = Array.from({ length: 100 }, async (_, i) => {
      const videoId = `caller-${i}`.padEnd(11, "-");
      relay.upstream.chat(videoId, { kinds: ["text"], tokens: "reusable" }).say(5);
      const options = { lane: "caller", maxCooldownMs: 0, signal } as const;
      const { liveChat } = relay.egresses.best;
      const opened = await liveChat.bootstrap(videoId, options);
      if (opened.is !== "there") throw new Error(opened.why);
      let { position } = opened.first;
      for (;;) {
        const answer = await liveChat.poll(position, options);
        if (answer.kind === "batch") position = answer.position;
      }
    });
    await Promise.all(callers);
  },
  "a viewer that does not read": async (relay) => {
    const [chat] = await ownChats(relay, 1);
    chat?.speak(50);
    const viewer = relay.visit({ videoId: "neighbour-0", address: "neighbour" });
    await viewer.entered;
    viewer.sink.stall();
  },
  "5,000 deletions in one answer": async (relay) => {
    const [chat] = await ownChats(relay, 1);
    const ids = chat?.say(5000) ?? [];
    chat?.say(ids.map((targetItemId): JsonObject => ({ removeChatItemAction: { targetItemId } })));
  },
};

export interface Beside {
  /** Missing messages of the others, and their messages of type `gap`. */
  lost: number;
  gaps: number;
  /** The maximum time between two good answers to one of them, in milliseconds. */
  longestMs: number;
  /** How long a newcomer waited for an unread live chat, in milliseconds; or the code of its refusal. */
  newcomer: number | string;
}

export async function beside(neighbour: Neighbour, { troubleMs = TROUBLE_MS } = {}): Promise<Beside> {
  const relay = new VirtualRelay({ settings: { RELAY_DELETED: "blank" } });
  const { clock, upstream, answers } = relay;
  const others = Array.from({ length: OTHERS }, (_, i) => {
    const timeoutMs = INTERVALS_MS[i % INTERVALS_MS.length] ?? 10_000;
    return upstream.chat(`other-${i}`.padEnd(11, "-"), { ...realisticHold, kinds: ["text"], timeoutMs });
  });
  for (const chat of others) {
    chat.speak(TALK);
    relay.visit({ videoId: chat.videoId, address: chat.videoId });
  }
  const giveUp = (error: unknown) => {
    throw error;
  };
  neighbour(relay).catch((error) => queueMicrotask(() => giveUp(error)));
  let newcomer: number | string = "not opened";
  upstream.chat("newcomer---", { ...realisticHold, kinds: ["text"], timeoutMs: 10_000 }).say(1);
  void (async () => {
    await clock.sleep(NEWCOMER_AT_MS);
    newcomer = await relay.visit({ videoId: "newcomer---", address: "neighbour" }).entered.then(
      () => Math.round(clock.monotonic() - NEWCOMER_AT_MS),
      (error) => String(error.code ?? error),
    );
  })();
  await relay.advance(OPENED_MS + troubleMs);
  const found = await Promise.all(others.map((chat) => missing(relay, chat)));
  const spans = others.flatMap(({ videoId }) => {
    const times = (answers.get(videoId) ?? []).filter((at) => at > OPENED_MS - 10_000);
    return times.slice(1).map((at, i) => at - (times[i] ?? at));
  });
  return {
    lost: found.reduce((sum, { lost }) => sum + lost, 0),
    gaps: found.reduce((sum, { gaps }) => sum + gaps, 0),
    longestMs: Math.round(Math.max(...spans)),
    newcomer,
  };
}
