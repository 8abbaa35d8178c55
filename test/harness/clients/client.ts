/**
 * A viewer from the service's side: one connection after another on a third-party library, each with the last
 * id received. It reconnects by itself after a wait of its own choice or a refusal's, unless it was ordered
 * to stay away or to leave. A connection may reconnect by itself, like an EventSource, until it is over.
 */
import type { Random } from "../../../simulator/random.ts";
import { CheckedStream } from "./checked-stream.ts";
import type { Connection, ConnectionContext } from "./connection.ts";
import { CurlConnection } from "./curl-connection.ts";
import { EventSourceConnection } from "./eventsource-connection.ts";
import { HttpConnection } from "./http-connection.ts";
import type { ClientOptions, Observer } from "./observer.ts";
import { SdkConnection } from "./sdk-connection.ts";
import { streamUrl } from "./sse.ts";

const MIN_WAIT_MS = 50;
const MAX_WAIT_MS = 1500;
/** Maximum wait after a refusal. */
const MAX_REFUSED_MS = 2000;

export type ClientKind = "http" | "curl" | "eventsource" | "sdk";

const CONNECTIONS: Record<ClientKind, (context: ConnectionContext) => Connection> = {
  http: (context) => new HttpConnection(context),
  curl: (context) => new CurlConnection(context),
  eventsource: (context) => new EventSourceConnection(context),
  sdk: (context) => new SdkConnection(context),
};

export class Client {
  readonly kind: ClientKind;
  readonly #base: () => string;
  readonly #options: ClientOptions;
  readonly #observer: Observer;
  readonly #random: Random;
  #connection: Connection | undefined;
  /** The URL of its last connection. */
  url = "";
  #stream: CheckedStream | undefined;
  #wait: NodeJS.Timeout | undefined;
  /** The time to stay away after the connection; undefined if the client chooses it. */
  #awayMs: number | undefined;
  /** It is away on an order. */
  #isAway = false;
  #left: PromiseWithResolvers<void> | undefined;

  /** Connects at once. `base` returns the service's current URL; `random` draws the waits. */
  constructor(
    kind: ClientKind,
    base: () => string,
    options: ClientOptions,
    observer: Observer,
    random: Random,
  ) {
    this.kind = kind;
    this.#base = base;
    this.#options = options;
    this.#observer = observer;
    this.#random = random;
    this.#connect();
  }

  /** Whether a stream is open and its init frame received. */
  get isOpen(): boolean {
    return this.#stream?.isOpen ?? false;
  }

  /** Breaks the connection and stays away for `awayMs`; if infinite, until `comeBack`. */
  drop(awayMs: number): void {
    if (this.#left) return;
    this.#awayMs = awayMs;
    if (this.#connection) this.#cut(this.#connection);
    else this.#stayAway();
  }

  /** Ends an absence at once; has no effect on a client that is not away. */
  comeBack(): void {
    if (this.#awayMs !== undefined)
      this.#awayMs = 0; // the connection is not over yet
    else if (this.#isAway && !this.#left) this.#connect();
  }

  /** Stops reading from the current connection for `ms`. A later `stall` or `trickle` replaces it. */
  stall(ms: number): void {
    this.#connection?.stall(ms);
  }

  /** Reads a few bytes at a time for `ms`; a client that cannot do that stalls in small steps. */
  trickle(ms: number): void {
    this.#connection?.trickle(ms);
  }

  /** Leaves for good. Resolves when its connection is closed and its processes have ended. */
  leave(): Promise<void> {
    if (!this.#left) {
      this.#left = Promise.withResolvers();
      clearTimeout(this.#wait);
      if (this.#connection) this.#cut(this.#connection);
      else this.#left.resolve();
    }
    return this.#left.promise;
  }

  /** The id from which its next connection resumes. */
  get #lastEventId(): string | undefined {
    return this.#stream?.lastEventId ?? this.#options.lastEventId?.toString();
  }

  #connect(): void {
    clearTimeout(this.#wait);
    this.#isAway = false;
    this.url = streamUrl(this.#base(), this.#options);
    this.#connection = CONNECTIONS[this.kind]({
      url: new URL(this.url),
      lastEventId: () => this.#lastEventId,
      begin: (lastEventId) => {
        const known = this.#lastEventId;
        if (lastEventId !== known && !this.#mayKnow(lastEventId))
          this.#observer.malformed(`its client came with ${lastEventId}, having seen ${known}`);
        this.#stream = new CheckedStream(this.#observer, lastEventId);
        return this.#stream;
      },
      over: () => this.#over(),
    });
  }

  /** A library may know an id that came alone, which it has not passed on. */
  #mayKnow(lastEventId: string | undefined): boolean {
    if (lastEventId === undefined) return false;
    if ("take" in this.#observer) {
      this.#observer.take({ event: "cursor", id: lastEventId, cursor: undefined, data: "" });
      return true;
    }
    if (!this.#observer.moved || Number(lastEventId) <= Number(this.#lastEventId ?? 0)) return false;
    this.#observer.moved(Number(lastEventId));
    return true;
  }

  #cut(connection: Connection): void {
    this.#stream?.cut();
    connection.cut();
  }

  #over(): void {
    this.#connection = undefined;
    this.#stream?.closed();
    if (this.#left) this.#left.resolve();
    else this.#stayAway();
  }

  #stayAway(): void {
    this.#isAway = this.#awayMs !== undefined;
    const ms = this.#awayMs ?? this.#ownWaitMs();
    this.#awayMs = undefined;
    clearTimeout(this.#wait);
    if (Number.isFinite(ms)) this.#wait = setTimeout(() => this.#connect(), ms);
  }

  #ownWaitMs(): number {
    const drawn = MIN_WAIT_MS + this.#random.below(MAX_WAIT_MS - MIN_WAIT_MS);
    return Math.min(this.#stream?.retryAfterMs ?? drawn, MAX_REFUSED_MS);
  }
}
