/**
 * Rooms that one address or several read at once, in virtual time, from an upstream that holds what was said for 10 s
 * and counts calls by address: which rooms are refused, how late polls are, and what is lost, also where an address is
 * throttled or dies.
 */

import { missing, VirtualRelay } from "../harness/virtual-relay.ts";
import type { SettingName } from "../src/cli/config.ts";
import { RelayError } from "../src/protocol/errors.ts";
import { realisticHold } from "../src/simulator/index.ts";
import { silentLog } from "../src/telemetry/log.ts";
import { Telemetry } from "../src/telemetry/telemetry.ts";

export interface CarryOptions {
  seed: number;
  /** How many chats somebody asks for. */
  rooms: number;
  /** The interval that the upstream asks for, in milliseconds: of the first chat the first, and so on, in turn. */
  timeoutsMs: readonly number[];
  /** The time in which they ask, one after the other, in milliseconds. */
  arrivalMs: number;
  /** How long the chats are read in all, in milliseconds. */
  forMs: number;
  settings?: Partial<Record<SettingName, string>>;
  /** How many addresses the service has; 1 by default. */
  egresses?: number;
  /** How many replays are read beside them from the beginning. */
  replays?: number;
  /** What befalls the first address from that time on. */
  trouble?: { atMs: number; as: "throttled" | "dead" };
}

export interface Carried {
  open: number;
  refused: number;
  /** The refusal's words, where there was one. */
  refusal: RelayError | undefined;
  /** How many rooms each address reads in the end. */
  byEgress: number[];
  /** How many rooms left their address for another. */
  moves: number;
  /** Messages of type `gap`. */
  gaps: number;
  /**
   * The longest time between two good answers, in milliseconds: of the rooms that were read by the first address when
   * the trouble began, from then on, and of all others.
   */
  silentMs: { troubled: number; others: number };
  /** Messages of the open rooms that were said after their first one and before their last one, and are not in them. */
  lost: number;
  /** Of the polls, in milliseconds. */
  lateness: { median: number; largest: number };
  fullAnswers: number;
}

/** Messages per second of each chat. */
const TALK = 0.5;
/** More than are read in a run. */
const REPLAY_MESSAGES = 3000;
const FIRST = "address-0";
const THROTTLES = { status: 429, headers: { "retry-after": "120" } };

export async function carry(options: CarryOptions): Promise<Carried> {
  const { seed, rooms: count, timeoutsMs, arrivalMs, forMs, egresses = 1, replays = 0, trouble } = options;
  const telemetry = new MeasuredPolls(silentLog);
  const RELAY_EGRESS = Array.from({ length: egresses }, (_, i) => `address-${i}=direct`).join();
  const relay = new VirtualRelay({ seed, settings: { RELAY_EGRESS, ...options.settings }, telemetry });
  const { clock, upstream, network, answers } = relay;

  const refusals: RelayError[] = [];
  const chats = Array.from({ length: count }, (_, i) => {
    const timeoutMs = timeoutsMs[i % timeoutsMs.length] ?? 10_000;
    const videoId = `carried${String(i).padStart(4, "0")}`;
    return upstream.chat(videoId, { kinds: ["text"], page: 20, timeoutMs, ...realisticHold });
  });
  for (let i = 0; i < replays; i++) {
    const videoId = `replay${String(i).padStart(5, "0")}`;
    upstream
      .chat(videoId, { kind: "replay", kinds: ["text"], tokens: "reusable", pageSize: 10 })
      .say(REPLAY_MESSAGES);
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
    for (const { videoId, egress } of await relay.rooms.list()) if (egress === FIRST) troubled.add(videoId);
    if (trouble.as === "dead") network.lost.add(FIRST);
    else upstream.fault({ on: "get_live_chat", from: FIRST, times: Number.POSITIVE_INFINITY, as: THROTTLES });
  })();
  await relay.advance(forMs);
  const listed = await relay.rooms.list();

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

  override roomMoved(...move: Parameters<Telemetry["roomMoved"]>): void {
    super.roomMoved(...move);
    this.moves += 1;
  }

  override callStarted(egress: string, lane: string, lateMs: number): void {
    super.callStarted(egress, lane, lateMs);
    if (lane === "poll") this.lateMs.push(lateMs);
  }

  override answerFull(videoId: string, actions: number, isNews: boolean): void {
    super.answerFull(videoId, actions, isNews);
    this.fullAnswers += 1;
  }
}
