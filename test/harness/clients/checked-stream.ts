/**
 * Checks one connection against the rules of the service's stream, for any library. It reports received
 * events and broken rules to the observer, and knows the cursor from which the next connection must resume.
 * It reports nothing after a cut, and is closed once.
 */
import { dig, parseObject } from "../../../simulator/plain-json.ts";
import type { ChatObserver, ChatsObserver, Observer } from "./observer.ts";
import { isStream, type SseFrame, type SseListener } from "./sse.ts";

const RETRY_MS = 3000;
const CHAT_TYPES = ["liveChatRenderer", "liveChatReplayRenderer"] as const;

type State = "calling" | "refused" | "begun" | "primed" | "open" | "terminal" | "cut" | "closed";

export class CheckedStream implements SseListener {
  readonly #observer: Observer;
  /** The `Last-Event-ID` of the request. */
  readonly #resumedFrom: string | undefined;
  #lastEventId: string | undefined;
  #state: State = "calling";
  #hasRetry = false;
  #wasCut = false;
  #status = 0;
  #retryAfterMs: number | undefined;

  /** `lastEventId`: the request's value, if it has one. */
  constructor(observer: Observer, lastEventId: string | undefined) {
    this.#observer = observer;
    this.#resumedFrom = lastEventId;
    this.#lastEventId = lastEventId;
    if (isOfSeveral(observer)) observer.begin(lastEventId);
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  /** The last id received, on this connection or before it. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** The wait that a refusal asks for, in milliseconds. */
  get retryAfterMs(): number | undefined {
    return this.#retryAfterMs;
  }

  head(status: number, headers: ReadonlyMap<string, string>): void {
    if (this.#state !== "calling") return;
    this.#status = status;
    this.#state = isStream(status, headers) ? "begun" : "refused";
    const seconds = Number(headers.get("retry-after") ?? Number.NaN);
    if (seconds >= 0) this.#retryAfterMs = seconds * 1000;
  }

  /** The whole body of an answer that is not a stream. */
  body(text: string): void {
    if (this.#state === "refused") this.#refuse(text);
  }

  retry(ms: number): void {
    if (this.#isSilent) return;
    if (this.#state === "begun") this.#state = "primed";
    if (this.#hasRetry) this.malformed("a second retry");
    else if (ms !== RETRY_MS) this.malformed(`retry: ${ms}`);
    this.#hasRetry = true;
  }

  comment(text: string): void {
    if (!this.#isSilent) this.#checkPlace(`the comment ${text}`);
  }

  frame({ event, id, data }: SseFrame): void {
    if (this.#isSilent) return;
    if (!this.#checkPlace(`a frame ${event}`)) return;
    const value = parseObject(data);
    if (value === undefined) this.malformed(`data of ${event} that is not a JSON object: ${data}`);
    else if (isOfSeveral(this.#observer)) this.#hear(this.#observer, event, id, data);
    else if (event === "init") this.#init(this.#observer, value);
    else if (this.#state !== "open") this.malformed(`a frame ${event} before init`);
    else if (event === "message") this.#message(this.#observer, id, data);
    else if (event === "end") this.#terminal(this.#observer, event, dig(value, "reason"));
    else if (event === "error") this.#terminal(this.#observer, event, dig(value, "code"));
    else this.malformed(`a frame ${event}`);
  }

  cursor(id: string): void {
    if (this.#isSilent || !this.#checkPlace(`the id ${id}`)) return;
    if (isOfSeveral(this.#observer)) this.#hear(this.#observer, "cursor", id, "");
    else {
      if (this.#state !== "open") this.malformed(`the id ${id} before init`);
      this.#lastEventId = id;
      this.#observer.moved?.(Number(id));
    }
  }

  malformed(what: string): void {
    if (!this.#isSilent) this.#observer.malformed(what.slice(0, 200));
  }

  /** The reconnection time must come before anything else. */
  beforeRetry(what: string): void {
    if (this.#state !== "begun") return;
    this.#state = "primed";
    this.malformed(`${what} before retry: ${RETRY_MS}`);
  }

  /** The client itself ends the connection. */
  cut(): void {
    if (this.#state === "closed") return;
    this.#wasCut = true;
    this.#state = "cut";
  }

  closed(): void {
    if (this.#state === "closed") return;
    if (this.#state === "refused") this.#refuse("");
    this.#state = "closed";
    this.#observer.closed(this.#wasCut);
  }

  get #isSilent(): boolean {
    return this.#state === "cut" || this.#state === "closed";
  }

  /** Whether this event is allowed at this point of the stream. */
  #checkPlace(what: string): boolean {
    this.beforeRetry(what);
    if (this.#state === "terminal") this.malformed(`${what} after a terminal frame`);
    return this.#state !== "terminal";
  }

  #hear(observer: ChatsObserver, event: string, id: string | undefined, data: string): void {
    if (event === "message" && id === undefined) this.malformed(`a message without an id: ${data}`);
    this.#state = "open";
    // An EventSource gives every event the last id, which may have come alone.
    const cameAlone = event !== "message" && event !== "cursor" && id !== this.#lastEventId ? id : undefined;
    if (cameAlone !== undefined) this.#hear(observer, "cursor", cameAlone, "");
    this.#lastEventId = id ?? this.#lastEventId;
    observer.take({ event, id: cameAlone ? undefined : id, cursor: undefined, data });
  }

  #init(observer: ChatObserver, value: unknown): void {
    const [videoId, type, cursor] = ["videoId", "chatType", "cursor"].map((key) => dig(value, key));
    const chatType = CHAT_TYPES.find((known) => known === type);
    if (this.#state === "open") this.malformed("a second init");
    else if (typeof videoId === "string" && chatType && isCursor(cursor)) {
      this.#state = "open";
      const asked = this.#resumedFrom === undefined ? undefined : Number(this.#resumedFrom);
      observer.opened({ videoId, chatType, cursor }, asked);
    } else this.malformed(`init: ${JSON.stringify(value)}`);
  }

  #message(observer: ChatObserver, id: string | undefined, data: string): void {
    const cursor = /^\d+$/.test(id ?? "") ? Number(id) : undefined;
    if (id === undefined) this.malformed(`a message without an id: ${data}`);
    else if (!isCursor(cursor)) this.malformed(`a message whose id is ${id}`);
    else {
      this.#lastEventId = id;
      observer.message(cursor, data);
    }
  }

  #terminal(observer: ChatObserver, event: "end" | "error", reason: unknown): void {
    this.#state = "terminal";
    if (typeof reason === "string") observer.terminal(event, reason);
    else this.malformed(`${event} without a reason`);
  }

  #refuse(body: string): void {
    const [code, message] = ["code", "message"].map((key) => dig(parseObject(body), key));
    this.#state = "calling";
    this.#observer.refused(this.#status, String(code ?? ""), String(message ?? ""));
  }
}

function isOfSeveral(observer: Observer): observer is ChatsObserver {
  return "take" in observer;
}

function isCursor(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
