/**
 * A simulated upstream: three HTTP hosts that serve the caller's chats, fail on request, and record their
 * requests. It shares no code with the service that reads it.
 */
import { type Clock, systemClock } from "../src/base/clock.ts";
import { type Answer, errorObject, json } from "./answers.ts";
import { AddressLimit, type AddressLimitOptions } from "./call-limit.ts";
import { readCapture } from "./capture.ts";
import { channelPage, missingChannel } from "./channel-pages.ts";
import { TokenBook, videoIdIn } from "./continuation-book.ts";
import type { Credentials } from "./document.ts";
import { type Fault, type FaultOrder, Faults } from "./faults.ts";
import type { ChannelPageKind, Host, HostContext, PageKind, Site } from "./hosts.ts";
import { serve, startHost } from "./hosts.ts";
import { InProcessResponse, incoming, type Request, type Response } from "./in-process.ts";
import { chatPage, type PageBroadcast, type Wall, wallPage } from "./pages.ts";
import { Random } from "./random.ts";
import { type Awaited, type HostName, type RequestKind, RequestLog, type RequestRecord } from "./requests.ts";
import type { ChatCall, Place, Scenario } from "./scenario.ts";
import { serviceWorker, serviceWorkerData, type WorkerForm } from "./service-worker.ts";
import { Channel, type ChannelScenario } from "./simulated-channel.ts";
import { Chat } from "./simulated-chat.ts";

export interface SimulatorOptions {
  /** Makes ids, tokens and generated chats reproducible; 1 by default. */
  seed?: number;
  clock?: Clock;
  /** 0, the default, chooses a free port. */
  ports?: Partial<Record<HostName, number>>;
  /** The form of `/sw.js`; `full` by default. */
  serviceWorker?: WorkerForm;
  /** The form of `/sw.js_data`; `full` by default. */
  serviceWorkerData?: "full" | "broken";
  /** Whether the pages contain key and version; true by default. */
  pageCredentials?: boolean;
  /** The minimum number of requests to remember; 20,000 by default. */
  keepRequests?: number;
  /** The limit of requests per address, above which the answer is 429; none by default. */
  perAddress?: AddressLimitOptions;
}

/**
 * How to play a capture. Omitted fields of the scenario have the defaults of a live chat or of a replay.
 */
interface PlayOptions extends Partial<Omit<Scenario, "kind">> {
  /** Live or replay; by default as captured. */
  as?: "live" | "replay";
  /** The speed of a live chat and its waits relative to the capture; may be infinite. 1 by default. */
  speed?: number;
}

export interface Simulator extends AsyncDisposable {
  /** Base URLs without a trailing slash. */
  readonly urls: Readonly<Record<HostName, string>>;
  /** Its current key and version; may be replaced while it runs. */
  readonly credentials: Credentials;
  /** The remembered requests, oldest first. A live view, not a copy. */
  readonly requests: readonly Readonly<RequestRecord>[];
  /** The maximum number of requests in flight at once for each host. */
  readonly peakInFlight: Readonly<Record<HostName, number>>;
  /** Opens the chat of a video, and replaces an earlier one. */
  chat(videoId: string, scenario?: Partial<Scenario>): Chat;
  /** Opens a channel without broadcasts by its handle (`@name`). Its pages are also those of its id. */
  channel(handle: string, scenario?: Partial<ChannelScenario>): Channel;
  /**
   * Opens a chat that plays captured files or folders. A captured page names its own video: open it under
   * that id. Rejects if the capture contains no chat.
   */
  play(videoId: string, path: string | readonly string[], options?: PlayOptions): Promise<Chat>;
  /** Adds a fault for the next matching requests. */
  fault(order: FaultOrder): Fault;
  /** Resolves, with the records, after this number of requests. */
  requested(kind: RequestKind, awaited?: Awaited): Promise<RequestRecord[]>;
  /** Destroys every socket and stops every chat at once. */
  close(): Promise<void>;
}

/** Starts the three hosts on 127.0.0.1. Rejects if a port is in use. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const upstream = new Upstream(options);
  try {
    await upstream.listen(options.ports ?? {});
    return upstream;
  } catch (error) {
    await upstream.close();
    throw error;
  }
}

/** The video of the wrong page that the wall `other-video` serves. */
const OTHER_VIDEO = "0ther-vide0";

const HOST_NAMES = ["main", "music", "mobile"] as const;

/** A simulator without sockets: its URLs lead nowhere, and the caller passes in each request. */
export interface InProcessSimulator extends Simulator {
  /** Resolves with the head of the answer. Rejects if the connection breaks, or with the signal's reason. */
  exchange(request: Request, signal: AbortSignal): Promise<Response>;
}

export function simulateInProcess(options: SimulatorOptions = {}): InProcessSimulator {
  const upstream = new Upstream(options);
  for (const name of HOST_NAMES) upstream.urls[name] = `http://${name}.simulated`;
  return upstream;
}

class Upstream implements InProcessSimulator, Site {
  readonly urls: Record<HostName, string> = { main: "", music: "", mobile: "" };
  readonly credentials: Credentials;
  readonly #options: SimulatorOptions;
  readonly #seed: number;
  readonly #clock: Clock;
  readonly #tokens: TokenBook;
  readonly #log: RequestLog;
  readonly #faults = new Faults();
  readonly #limit: AddressLimit | undefined;
  readonly #chats = new Map<string, Chat>();
  /** By handle in lower case. */
  readonly #channels = new Map<string, Channel>();
  readonly #hosts: Host[] = [];
  readonly #closed = new AbortController();

  constructor(options: SimulatorOptions) {
    const { seed = 1, clock = systemClock, keepRequests = 20_000, pageCredentials = true } = options;
    const random = new Random(seed);
    this.#limit = options.perAddress && new AddressLimit(options.perAddress);
    this.#options = options;
    this.#seed = seed;
    this.#clock = clock;
    this.#tokens = new TokenBook(random);
    this.#log = new RequestLog(keepRequests);
    this.credentials = {
      apiKey: `AIzaSy${random.text(24)}A`,
      clientVersion: "2.20260612.01.00",
      visitorData: `Cgt${random.text(21)}%3D%3D`,
      onPages: pageCredentials,
    };
  }

  get requests(): readonly RequestRecord[] {
    return this.#log.records;
  }

  get peakInFlight(): Readonly<Record<HostName, number>> {
    return this.#log.peakInFlight;
  }

  async listen(ports: Partial<Record<HostName, number>>): Promise<void> {
    for (const name of HOST_NAMES) {
      const host = await startHost(name, ports[name] ?? 0, this.#context);
      this.#hosts.push(host);
      this.urls[name] = host.url;
    }
  }

  exchange(request: Request, signal: AbortSignal): Promise<Response> {
    const response = new InProcessResponse();
    const { origin } = new URL(request.url);
    const host = HOST_NAMES.find((name) => this.urls[name] === origin);
    if (!host) throw new Error(`${origin} is not a host of this simulator`);
    const onAbort = () => response.destroy();
    signal.addEventListener("abort", onAbort, { once: true });
    response.once("close", () => signal.removeEventListener("abort", onAbort));
    serve(host, incoming(request), response, this.#context).catch(() => response.destroy());
    return response.answered;
  }

  get #context(): HostContext {
    const { signal } = this.#closed;
    return {
      site: this,
      faults: this.#faults,
      limit: this.#limit,
      log: this.#log,
      clock: this.#clock,
      signal,
    };
  }

  chat(videoId: string, scenario: Partial<Scenario> = {}): Chat {
    this.#tokens.revoke(videoId);
    const chat = this.#newChat(videoId, scenario);
    this.#chats.set(videoId, chat);
    return chat;
  }

  channel(handle: string, scenario: Partial<ChannelScenario> = {}): Channel {
    const name = handle.toLowerCase();
    const channelId = `UC${new Random(this.#seed, name).text(17).slice(0, 22)}`;
    const openChat = (videoId: string, chat: Partial<Scenario>) => this.chat(videoId, chat);
    const channel = new Channel(name, channelId, scenario, { clock: this.#clock, openChat });
    this.#channels.set(name, channel);
    return channel;
  }

  async play(videoId: string, path: string | readonly string[], options: PlayOptions = {}): Promise<Chat> {
    const { as, speed = 1, ...scenario } = options;
    const capture = await readCapture(typeof path === "string" ? [path] : path);
    const chat = this.chat(videoId, { ...scenario, kind: as ?? capture.kind });
    chat.play(capture, speed);
    return chat;
  }

  fault(order: FaultOrder): Fault {
    return this.#faults.order(order);
  }

  requested(kind: RequestKind, awaited: Awaited = {}): Promise<RequestRecord[]> {
    return this.#log.requested(kind, awaited, this.#clock.monotonic());
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.all(this.#hosts.map((host) => host.close()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  page(kind: PageKind, videoId: string): Answer {
    if (kind === "sw.js") return serviceWorker(this.#options.serviceWorker ?? "full", this.credentials);
    if (kind === "sw.js_data")
      return serviceWorkerData(this.#options.serviceWorkerData ?? "full", this.credentials);
    const chat = this.#chats.get(videoId) ?? this.#newChat(videoId, { kind: "unavailable" });
    const broadcast = this.#broadcastOf(videoId);
    return chatPage(kind, { ...chat.page(kind), broadcast }, this.credentials);
  }

  channelPage(kind: ChannelPageKind, name: string): Answer {
    const byId = this.#channels.values().find(({ channelId }) => channelId === name);
    const channel = this.#channels.get(name.replace(/^(?:c|user)\//, "@").toLowerCase()) ?? byId;
    if (!channel || channel.scenario.state === "gone") return missingChannel();
    const isOpen = channel.scenario.state === "open";
    const picked = kind === "live" && isOpen ? channel.picked : undefined;
    if (picked) return this.page("watch", picked.videoId);
    const random = new Random(this.#seed, name);
    return channelPage(kind === "streams" ? "streams" : "home", channel, this.credentials, random);
  }

  wall(wall: Wall, on: Place, videoId: string): Answer {
    const other = this.#newChat(OTHER_VIDEO, {}).page(on);
    const frame = { videoId, random: new Random(this.#seed, videoId), broadcast: this.#broadcastOf(videoId) };
    return wallPage(wall, on, frame, this.credentials, other);
  }

  #broadcastOf(videoId: string): PageBroadcast | undefined {
    const facts = this.#channels.values().map((channel) => channel.factsOf(videoId));
    return facts.find((known) => known !== undefined);
  }

  accept(call: ChatCall): () => Answer {
    const grant = this.#tokens.find(call.token);
    const chat = grant && this.#chats.get(grant.videoId);
    return chat ? chat.accept(call, grant) : () => json(400, errorObject(400));
  }

  videoOf(token: string): string | undefined {
    return this.#tokens.find(token)?.videoId ?? videoIdIn(token);
  }

  #newChat(videoId: string, scenario: Partial<Scenario>): Chat {
    const { signal } = this.#closed;
    return new Chat(videoId, scenario, {
      clock: this.#clock,
      tokens: this.#tokens,
      seed: this.#seed,
      signal,
    });
  }
}
