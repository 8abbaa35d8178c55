/**
 * One connection as its witness is told of it, whichever library read it: holds what came to the rules of the
 * service's stream, tells what breaks them as malformed, and knows where the next connection has to resume. It hears
 * nothing more once it is cut, and is closed once.
 */
import { at, parseObject } from "../../src/simulator/json.ts";
import type { Witness } from "../client.ts";
import type { SseFrame } from "../sse-frames.ts";
import { isStream } from "../sse-response.ts";
import type { SseListener } from "../sse-socket.ts";

const RETRY_MS = 3000;
const CHAT_TYPES: readonly unknown[] = ["liveChatRenderer", "liveChatReplayRenderer"];

type State = "calling" | "refused" | "begun" | "primed" | "open" | "terminal" | "cut" | "closed";

export class Reading implements SseListener {
  readonly #witness: Witness;
  /** What the request carried. */
  readonly #resumedFrom: number | undefined;
  #lastEventId: number | undefined;
  #state: State = "calling";
  #hasRetry = false;
  #wasCut = false;
  #status = 0;
  #retryAfterMs: number | undefined;

  /** `lastEventId`: what the request carries, if anything. */
  constructor(witness: Witness, lastEventId: number | undefined) {
    this.#witness = witness;
    this.#resumedFrom = lastEventId;
    this.#lastEventId = lastEventId;
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  /** The last id that was seen, on this connection or before it. */
  get lastEventId(): number | undefined {
    return this.#lastEventId;
  }

  /** How long a refusal asks to stay away. */
  get retryAfterMs(): number | undefined {
    return this.#retryAfterMs;
  }

  head(status: number, headers: ReadonlyMap<string, string>): void {
    if (this.#state !== "calling") return;
    this.#status = status;
    this.#state = isStream({ status, headers }) ? "begun" : "refused";
    const seconds = Number(headers.get("retry-after") ?? Number.NaN);
    if (seconds >= 0) this.#retryAfterMs = seconds * 1000;
  }

  /** The whole body of an answer that is no stream. */
  body(text: string): void {
    if (this.#state === "refused") this.#refuse(text);
  }

  retry(ms: number): void {
    if (this.#isDeaf) return;
    if (this.#state === "begun") this.#state = "primed";
    if (this.#hasRetry) this.malformed("a second retry");
    else if (ms !== RETRY_MS) this.malformed(`retry: ${ms}`);
    this.#hasRetry = true;
  }

  comment(text: string): void {
    if (!this.#isDeaf) this.#checkPlace(`the comment ${text}`);
  }

  frame({ event, id, data }: SseFrame): void {
    if (this.#isDeaf) return;
    if (!this.#checkPlace(`a frame ${event}`)) return;
    const value = parseObject(data);
    if (value === undefined) this.malformed(`data of ${event} that is no JSON object: ${data}`);
    else if (event === "init") this.#init(value);
    else if (this.#state !== "open") this.malformed(`a frame ${event} before init`);
    else if (event === "message") this.#message(id, data);
    else if (event === "end") this.#terminal(event, at(value, "reason"));
    else if (event === "error") this.#terminal(event, at(value, "code"));
    else this.malformed(`a frame ${event}`);
  }

  malformed(what: string): void {
    if (!this.#isDeaf) this.#witness.malformed(what.slice(0, 200));
  }

  /** What comes before anything else must be the reconnection time. */
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
    this.#witness.closed(this.#wasCut);
  }

  get #isDeaf(): boolean {
    return this.#state === "cut" || this.#state === "closed";
  }

  /** Whether something may come where it came. */
  #checkPlace(what: string): boolean {
    this.beforeRetry(what);
    if (this.#state === "terminal") this.malformed(`${what} after a terminal frame`);
    return this.#state !== "terminal";
  }

  #init(value: unknown): void {
    const [videoId, chatType, cursor] = ["videoId", "chatType", "cursor"].map((key) => at(value, key));
    if (this.#state === "open") this.malformed("a second init");
    else if (typeof videoId === "string" && CHAT_TYPES.includes(chatType) && isCursor(cursor)) {
      this.#state = "open";
      this.#witness.opened({ videoId, chatType: String(chatType), cursor }, this.#resumedFrom);
    } else this.malformed(`init: ${JSON.stringify(value)}`);
  }

  #message(id: string | undefined, data: string): void {
    const cursor = /^\d+$/.test(id ?? "") ? Number(id) : undefined;
    if (id === undefined) this.malformed(`a message without an id: ${data}`);
    else if (!isCursor(cursor)) this.malformed(`a message whose id is ${id}`);
    else {
      this.#lastEventId = cursor;
      this.#witness.message(cursor, data);
    }
  }

  #terminal(event: "end" | "error", reason: unknown): void {
    this.#state = "terminal";
    if (typeof reason === "string") this.#witness.terminal(event, reason);
    else this.malformed(`${event} without a reason`);
  }

  #refuse(body: string): void {
    const code = at(parseObject(body), "code");
    this.#state = "calling";
    this.#witness.refused(this.#status, typeof code === "string" ? code : "");
  }
}

function isCursor(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
