/**
 * An egress: one path to the upstream with its own pace, health, load and connections. It reads its live
 * chats itself, because the upstream ties credentials and visitor data to one address.
 */
import type { Clock } from "../../base/clock.ts";
import type { ClockWitness } from "../../base/clock-witness.ts";
import type { SharedPace } from "../../base/shared-pace.ts";
import type { ChatType } from "../../protocol/chat.ts";
import type { Standing } from "../../protocol/chat-standing.ts";
import type { VideoFacts } from "../../protocol/video-facts.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { type CallSettings, type SendRequest, UpstreamCalls } from "../calls.ts";
import { type ChannelLook, type ChannelMemory, lookAtChannel } from "../channel-look.ts";
import { LiveChat, type ReadingSettings } from "../live-chat.ts";
import { channelNamesIn } from "../page/channel-names.ts";
import { PageLoads } from "../page-loads.ts";
import { isUnanswered, UpstreamError } from "../upstream-error.ts";
import { Breaker, type Reach } from "./breaker.ts";
import { ChatLoad } from "./chat-load.ts";
import type { Connections } from "./connections.ts";
import { type CallOptions, Flights } from "./flights.ts";
import { Gate, type GateSettings } from "./gate.ts";
import { Silence } from "./silence.ts";
import type { EgressSpec } from "./spec.ts";
import { Transport } from "./transport.ts";
import { WallCount } from "./wall-count.ts";

/** The calls that open a room: for credentials, a page and the chat. */
const OPENING_CALLS = 3;
/**
 * Limits the openings in progress: the gate can start all their calls in this time. Rooms that are opened
 * together would be polled together from then on.
 */
const MAX_OPENING_MS = 3000;
/** The page that an egress requests to see whether it reaches the upstream again. */
const SMALL_PAGE = "/sw.js";

/** What it needs of all egresses; see `EgressPool`. */
interface OwnPool extends Reach {
  /** Time limit of a chat call, in milliseconds. */
  readonly chatMs: number;
  /** Hears the dates of the upstream's answers. */
  readonly witness: Pick<ClockWitness, "hear">;
}

export interface EgressSettings extends CallSettings {
  gate: GateSettings;
  reading: ReadingSettings;
}

export class Egress {
  /** The `egress` label of metrics. */
  readonly name: string;
  /** As in its spec. */
  readonly key: string;
  readonly liveChat: LiveChat;
  readonly silence: Silence;
  /** The chats that it reads. The breaker may count a room for longer: see `RoomEgress`. */
  readonly load: ChatLoad;
  readonly breaker: Breaker;
  /** It knows the egress's cooldowns. Only the egress's own calls take its slots. */
  readonly gate: Gate;
  readonly #pool: OwnPool;
  readonly #telemetry: Telemetry;
  readonly #maxOpenings: number;
  readonly #flights: Flights;
  readonly #wallCount: WallCount;
  readonly #transport: Transport;
  readonly #calls: UpstreamCalls;
  #openings = 0;
  /** Whether calls wait because this machine had no free file. */
  #isShortOfFiles = false;
  /** Whether the log has named the proxy since it last gave a connection. */
  #isProxyNamed = false;

  /** `pool`: all egresses, with this one. */
  constructor(
    { name, key }: EgressSpec,
    settings: EgressSettings,
    pool: OwnPool,
    connections: Connections,
    { clock, telemetry }: { clock: Clock; telemetry: Telemetry },
  ) {
    this.name = name;
    this.key = key;
    this.silence = new Silence(clock);
    this.load = new ChatLoad(settings.gate);
    this.breaker = new Breaker(this, pool, { clock, telemetry });
    this.#pool = pool;
    this.#telemetry = telemetry;
    this.#maxOpenings = Math.max(1, Math.floor(MAX_OPENING_MS / (OPENING_CALLS * settings.gate.spacingMs)));
    this.gate = new Gate(name, settings.gate, this.load, { clock, telemetry });
    this.#flights = new Flights(this.gate, clock);
    this.#transport = new Transport(clock, connections, !pool.isSingle);
    this.#calls = new UpstreamCalls(settings, (request) => this.#send(request));
    this.#wallCount = new WallCount(name, { clock, telemetry });
    this.liveChat = new LiveChat(this.#calls, settings.reading, this.#wallCount, { clock, telemetry });
    telemetry.upstream.egressAdded(name, {
      isUp: () => this.isUp,
      queuedCalls: () => this.gate.queued,
      roomCount: () => this.load.roomCount,
      roomsCarried: () => this.load.roomsCarried,
      cooldownLeftMs: (isPage) => this.gate.cooldownLeftMs(isPage),
    });
  }

  /** Whether the upstream answers, as far as is known. */
  get isUp(): boolean {
    return this.breaker.isUp;
  }

  /** Whether it can open a chat now or, without pages, continue to read one. */
  isUsable(withPages = true): boolean {
    return this.isUp && this.gate.cooldownLeftMs(withPages) === 0;
  }

  /**
   * Sort key, the best egress first, compared element by element: availability, then load, then queued calls.
   */
  get rank(): readonly number[] {
    return [
      this.isUp ? 0 : 1,
      this.gate.cooldownLeftMs(true),
      this.load.pollsPerSecond,
      this.load.roomCount + this.#openings,
      this.gate.queued,
    ];
  }

  /**
   * Calls the upstream just to see whether it answers in the time of a poll. Rejects with `UpstreamError`, or
   * the signal's reason.
   */
  async trial(signal: AbortSignal, maxCooldownMs: number): Promise<void> {
    await this.#calls.page(SMALL_PAGE, { lane: "probe", maxCooldownMs, signal }, this.#pool.chatMs);
  }

  /** Looks at the pages of a channel. Rejects as `lookAtChannel` does. */
  lookAt(channel: string, memory: ChannelMemory, signal: AbortSignal): Promise<ChannelLook> {
    return this.#wallCount.observe(channel, lookAtChannel(channel, memory, this.#calls, signal));
  }

  /** The standing of a video's chat, and what its pages say of it. Rejects as `LiveChat.findChat` does. */
  async standingOf(
    videoId: string,
    signal: AbortSignal,
  ): Promise<Standing<{ chatType: ChatType; video: VideoFacts | undefined }>> {
    const standing = await this.liveChat.findChat(videoId, { lane: "look", maxCooldownMs: 0, signal });
    if (standing.is !== "there") return standing;
    const { is, start, video } = standing;
    return { is, chatType: start.chatType, video };
  }

  /**
   * The names of a video's channel, by one page; none for a video that does not exist. Rejects with
   * `UpstreamError` "throttled", or "unusable" if the page cannot be loaded or says nothing of the channel.
   */
  channelOf(videoId: string, options: CallOptions): Promise<string[]> {
    const path = `/watch?v=${videoId}&hl=en&gl=US`;
    const page = new PageLoads(this.#calls, options).page(path);
    const found = page.then((html) => channelNamesIn(html, videoId));
    return this.#wallCount.observe(videoId, found);
  }

  /** From now on this egress shares its pace with other instances. */
  share(pace: SharedPace): void {
    this.gate.share(pace);
  }

  /** Takes a place for an opening; undefined if all are taken. Disposing frees it. */
  takeOpening(): Disposable | undefined {
    if (this.#openings >= this.#maxOpenings) return undefined;
    this.#openings += 1;
    return {
      [Symbol.dispose]: () => {
        this.#openings -= 1;
      },
    };
  }

  /** Starts no more calls, and ends those that wait. */
  async close(): Promise<void> {
    this.breaker.close();
    this.#flights.close();
    this.gate.close();
    await this.#transport.close();
  }

  #send: SendRequest = async ({ kind, labels, isPage, request, read, options }) => {
    const { upstream } = this.#telemetry;
    const run = async (signal: AbortSignal, onSent: () => void) => {
      const called = upstream.called({
        egress: this.name,
        client: "none",
        endpoint: kind,
        ...labels,
      });
      try {
        const answer = await this.#transport.send(request, signal, onSent);
        this.silence.end();
        this.#isProxyNamed = false;
        this.#pool.witness.hear(Date.parse(answer.header("date") ?? ""));
        this.#isShortOfFiles = false;
        const value = read(answer, request);
        called("ok");
        return value;
      } catch (error) {
        const given = signal.aborted && error === signal.reason ? "aborted" : "bug";
        called(error instanceof UpstreamError ? error.fault : given);
        if (isUnanswered(error)) this.silence.unanswered();
        if (error instanceof UpstreamError && error.needsFiles) {
          if (!this.#isShortOfFiles) upstream.shortOfFiles(this.name);
          this.#isShortOfFiles = true;
        }
        if (error instanceof UpstreamError && error.proxy && !this.#isProxyNamed) {
          this.#isProxyNamed = true;
          upstream.proxyDead(this.name, error.proxy.place, error.proxy.why);
        }
        throw error;
      }
    };
    await this.#transport.open();
    const key = `${request.method} ${request.url} ${request.body ?? ""}`;
    const { lost } = this.breaker;
    const signal = lost ? AbortSignal.any([options.signal, lost]) : options.signal;
    return this.#flights.call({ ...options, signal, key, kind, isPage, run });
  };
}
