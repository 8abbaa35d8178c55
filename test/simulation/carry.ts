/**
 * Rooms that one or several addresses read at once, in virtual time, from an upstream that holds messages for
 * 10 s and counts calls by address. Measures the refused rooms, the lateness of polls, and the losses, also
 * when an address is throttled or dies.
 */

import { realisticHold } from "../../simulator/index.ts";
import type { SettingName } from "../../src/cli/setting-table.ts";
import { RelayError } from "../../src/protocol/errors.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { missing, VirtualRelay } from "../harness/virtual-relay.ts";
import { whenever } from "../harness/whenever.ts";

interface CarryOptions {
  seed: number;
  /** The number of requested chats. */
  rooms: number;
  /**
   * The intervals that the upstream asks for, in milliseconds: the first for the first chat and so on, in
   * rotation.
   */
  timeoutsMs: readonly number[];
  /** The time in which the chats are requested one after another, in milliseconds. */
  arrivalMs: number;
  /** How long the chats are read in total, in milliseconds. */
  forMs: number;
  settings?: Partial<Record<SettingName, string>>;
  /** The number of the service's addresses; 1 by default. */
  egresses?: number;
  /** The number of replays that are also read from the beginning. */
  replays?: number;
  /** The trouble of the first address from that time on. */
  trouble?: { atMs: number; as: "throttled" | "dead" };
}

export interface Carried {
  open: number;
  refused: number;
  /** The error of the refusal, if there was one. */
  refusal: RelayError | undefined;
  /** The number of rooms that each address reads at the end. */
  byEgress: number[];
  /** The number of rooms that moved to another address. */
  moves: number;
  /** Messages of type `gap`. */
  gaps: number;
  /**
   * The maximum time between two good answers, in milliseconds: for the rooms that the first address read
   * when the trouble began, from then on, and for all others.
   */
  silentMs: { troubled: number; others: number };
  /** Messages missing in the open rooms between their first and their last one. */
  lost: number;
  /** The lateness of the polls, in milliseconds. */
  lateness: { median: number; largest: number };
  fullAnswers: number;
}

/** Messages per second of each chat. */
const TALK = 0.5;
/** Messages in each answer of a replay. */
const REPLAY_PAGE = 10;
const FIRST = "address-0";
const THROTTLES = { status: 429, headers: { "retry-after": "120" } };

export async function carry(options: CarryOptions): Promise<Carried> {
  const { seed, rooms: count, timeoutsMs, arrivalMs, forMs, egresses = 1, replays = 0, trouble } = options;
  const telemetry = new MeasuredPolls();
  const RELAY_EGRESS = Array.from({ length: egresses }, (_, i) => `address-${i}=direct`).join();
  const relay = new VirtualRelay({ seed, settings: { RELAY_EGRESS, ...options.settings }, telemetry });
  const { clock, upstream, network, answers } = relay;

  const refusals: RelayError[] = [];
  const chats = Array.from({ length: count }, (_, i) => {
    const timeoutMs = timeoutsMs[i % timeoutsMs.length] ?? 10_000;
    const videoId = `carried${String(i).padStart(4, "0")}`;
    return upstream.chat(videoId, { kinds: ["text"], page: 20, timeoutMs, ...realisticHold });
  });
  const mostCalls = (egresses * forMs) / relay.config.upstream.gate.spacingMs;
  for (let i = 0; i < replays; i++) {
    const videoId = `replay${String(i).padStart(5, "0")}`;
    upstream
      .chat(videoId, { kind: "replay", kinds: ["text"], tokens: "reusable", pageSize: REPLAY_PAGE })
      .say(Math.ceil((2 * mostCalls * REPLAY_PAGE) / replays)); // more than is read of it
    relay.visit({ videoId, address: "reader" });
  }
  for (const [i, chat] of chats.entries()) {
    void (async () => {
      await clock.sleep((i * arrivalMs) / count);
      const talk = chat.speak(TALK);
      await relay.visit({ videoId: chat.videoId, address: `viewer ${i}` }).entered.catch((error) => {
        talk.stop();
        if (!(error instanceof RelayError && error.code === "CAPACITY")) throw error;
        refusals.push(error);
      });
    })();
  }
  const troubled = new Set<string>();
  void (async () => {
    if (!trouble) return;
    await clock.sleep(trouble.atMs);
    for (const { videoId, egress } of await relay.list.all()) if (egress === FIRST) troubled.add(videoId);
    if (trouble.as === "dead") network.lost.add(FIRST);
    else upstream.fault({ on: "get_live_chat", from: FIRST, times: Number.POSITIVE_INFINITY, as: THROTTLES });
  })();
  await relay.advance(forMs);
  const listed = await relay.list.all();

  const found = await Promise.all(chats.map((chat) => missing(relay, chat)));
  const open = found.filter(({ stored }) => stored > 0);
  const silentMs = { troubled: 0, others: 0 };
  for (const [videoId, times] of answers) {
    const whose = troubled.has(videoId) ? "troubled" : "others";
    const since = times.findLastIndex((at) => at <= (trouble?.atMs ?? 0));
    const all = times.slice(whose === "troubled" ? Math.max(0, since) : 0);
    const spans = all.slice(1).map((at, i) => at - (all[i] ?? at));
    silentMs[whose] = Math.max(silentMs[whose], ...spans);
  }
  const lateness = telemetry.lateMs.sort((a, b) => a - b);
  return {
    open: open.length,
    refused: refusals.length,
    refusal: refusals[0],
    byEgress: relay.config.upstream.specs.map(
      ({ name }) => listed.filter(({ egress }) => egress === name).length,
    ),
    moves: telemetry.moves,
    gaps: open.reduce((sum, { gaps }) => sum + gaps, 0),
    silentMs,
    lost: open.reduce((sum, { lost }) => sum + lost, 0),
    lateness: { median: lateness[lateness.length >> 1] ?? 0, largest: lateness.at(-1) ?? 0 },
    fullAnswers: telemetry.fullAnswers,
  };
}

class MeasuredPolls extends Telemetry {
  readonly lateMs: number[] = [];
  fullAnswers = 0;
  moves = 0;

  constructor() {
    super(silentLog);
    whenever(this.upstream, "roomMoved", () => {
      this.moves += 1;
    });
    whenever(this.upstream, "callStarted", (_egress, lane, lateMs) => {
      if (lane === "poll") this.lateMs.push(lateMs);
    });
    whenever(this.rooms, "answerFull", () => {
      this.fullAnswers += 1;
    });
  }
}
