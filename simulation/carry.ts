/**
 * Rooms that one address or several read at once, in virtual time, from an upstream that holds what was said for 10 s
 * and counts calls by address: which rooms are refused, how late polls are, and what is lost, also where an address is
 * throttled or dies.
 */
import { SETTINGS, type SettingName, toConfig } from "../src/cli/config.ts";
import { readFlags } from "../src/cli/flags.ts";
import { assembleRelay } from "../src/cli/relay.ts";
import { RelayError } from "../src/protocol/errors.ts";
import { FORMS } from "../src/rooms/form.ts";
import { realisticHold, simulateInProcess } from "../src/simulator/index.ts";
import { Random } from "../src/simulator/random.ts";
import { MemoryStore } from "../src/store/memory.ts";
import { ObservedStore } from "../src/store/observed.ts";
import { silentLog } from "../src/telemetry/log.ts";
import { Telemetry } from "../src/telemetry/telemetry.ts";
import { openEgresses } from "../src/upstream/egress/egress.ts";
import type { Way } from "../src/upstream/egress/spec.ts";
import { Journal } from "./journal.ts";
import { Network } from "./network.ts";
import { MortalClock, Scheduler } from "./scheduler.ts";
import { SimulatedSink } from "./sink.ts";
import { UpstreamJudge } from "./upstream-judge.ts";

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
  holes: number;
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
const FIRST = "address-0";
const THROTTLES = { status: 429, headers: { "retry-after": "120" } };

export async function carry(options: CarryOptions): Promise<Carried> {
  const { seed, rooms: count, timeoutsMs, arrivalMs, forMs, egresses = 1, trouble } = options;
  const scheduler = new Scheduler(new Random(seed, "time"));
  const spacingMs = Number(options.settings?.RELAY_GATE_SPACING_MS ?? SETTINGS.RELAY_GATE_SPACING_MS.default);
  // One more than an address asks for that keeps to the gate.
  const perAddress = { requests: Math.floor(1000 / spacingMs) + 1, everyMs: 1000 };
  const upstream = simulateInProcess({ seed, clock: scheduler, keepRequests: 1, perAddress });
  const { main, music, mobile } = upstream.urls;
  const texts = {
    RELAY_UPSTREAM_URL: main,
    RELAY_UPSTREAM_MUSIC_URL: music,
    RELAY_UPSTREAM_MOBILE_URL: mobile,
    RELAY_EGRESS: Array.from({ length: egresses }, (_, i) => `address-${i}=direct`).join(),
  };
  const config = toConfig(readFlags(SETTINGS, [], { ...texts, ...options.settings }).values);
  const journal = new Journal(() => scheduler.monotonic());
  const answers = new Map<string, number[]>();
  const answered = (videoId: string) => answers.getOrInsert(videoId, []).push(scheduler.monotonic());
  const judge = new UpstreamJudge(config.gate, scheduler, journal, {
    chatCalled() {},
    pageCame() {},
    answered,
  });
  const network = new Network(upstream, scheduler, new Random(seed, "network"), judge);
  const clock = new MortalClock(scheduler);
  const telemetry = new MeasuredPolls(silentLog);
  const engine = new MemoryStore(clock);
  const store = new ObservedStore(engine, clock, telemetry);
  const connectionsOf = ({ name }: Way) => network.connectionsOf(clock, name);
  const { egress: ways, gate } = config;
  const relay = assembleRelay({
    config,
    store,
    egresses: openEgresses({ ways, settings: gate, clock, telemetry, connectionsOf }),
    clock,
    telemetry,
  });

  const refusals: RelayError[] = [];
  const chats = Array.from({ length: count }, (_, i) => {
    const timeoutMs = timeoutsMs[i % timeoutsMs.length] ?? 10_000;
    const videoId = `carried${String(i).padStart(4, "0")}`;
    return upstream.chat(videoId, { kinds: ["text"], page: 20, timeoutMs, ...realisticHold });
  });
  for (const [i, chat] of chats.entries()) {
    void (async () => {
      await scheduler.sleep((i * arrivalMs) / count);
      const talk = chat.speak(TALK);
      const request = {
        videoId: chat.videoId,
        lastEventId: undefined,
        backfill: 0,
        open: () => new SimulatedSink(FORMS.plain.bare, () => {}),
      };
      await relay.rooms.enter(request, new AbortController().signal).catch((error) => {
        talk.stop();
        if (!(error instanceof RelayError && error.code === "CAPACITY")) throw error;
        refusals.push(error);
      });
    })();
  }
  const troubled = new Set<string>();
  void (async () => {
    if (!trouble) return;
    await scheduler.sleep(trouble.atMs);
    for (const { videoId, egress } of await relay.rooms.list()) if (egress === FIRST) troubled.add(videoId);
    if (trouble.as === "dead") network.lost.add(FIRST);
    else upstream.fault({ on: "get_live_chat", from: FIRST, times: Number.POSITIVE_INFINITY, as: THROTTLES });
  })();
  await scheduler.run(
    () => scheduler.monotonic() < forMs,
    async () => {},
  );
  const listed = await relay.rooms.list();
  clock.isDead = true;
  if (journal.violation)
    throw new Error(`a promise of the gate is broken: ${JSON.stringify(journal.violation)}`);

  let open = 0;
  let lost = 0;
  let holes = 0;
  for (const { videoId, ledger } of chats) {
    const read = (await engine.read(videoId, 0, Number.POSITIVE_INFINITY)).map(({ body }) =>
      JSON.parse(body),
    );
    const stored = read.filter(({ type }) => type !== "gap").map(({ id }) => id);
    holes += read.length - stored.length;
    if (stored.length === 0) continue;
    open += 1;
    const ids = new Set(stored);
    const places = ledger.flatMap(({ id }, place) => (ids.has(id) ? [place] : []));
    lost += (places.at(-1) ?? 0) - (places[0] ?? 0) + 1 - places.length;
  }
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
    open,
    refused: refusals.length,
    refusal: refusals[0],
    byEgress: ways.map(({ name }) => listed.filter(({ egress }) => egress === name).length),
    moves: telemetry.moves,
    holes,
    silentMs,
    lost,
    lateness: { median: lateness[lateness.length >> 1] ?? 0, largest: lateness.at(-1) ?? 0 },
    fullAnswers: telemetry.fullAnswers,
  };
}

class MeasuredPolls extends Telemetry {
  readonly lateMs: number[] = [];
  fullAnswers = 0;
  moves = 0;

  override roomMoved(videoId: string, egress: string, to: string, reason: string): void {
    super.roomMoved(videoId, egress, to, reason);
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
