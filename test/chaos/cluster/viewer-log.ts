/**
 * Everything that one viewer received, across its connections, and where it was notified of missing messages.
 */
import type { ChatObserver } from "../../harness/clients/observer.ts";
import { Sequence } from "../../harness/sequence.ts";

/** What a viewer may be refused with while instances, database and upstream come and go; it tries again. */
const REFUSALS = new Set(["CAPACITY", "STORE_UNAVAILABLE", "SW_JS_FAILED", "NO_WORKING_CLIENT"]);
/** The error NO_LIVE_CHAT says so if no page of the video could be loaded. */
const NO_PAGE = /^(The video's page could not be loaded|the connection failed|\S+ cannot be reached)\b/;

export interface Sent {
  cursor: number;
  id: string;
}

/** A connection whose `init.cursor` shows that it did not begin where its viewer had stopped. */
export interface Break {
  /** How many messages the viewer had by then, and when the last of them came. */
  after: number;
  lastAt: number;
  openedAt: number;
  asked: number;
  begins: number;
}

export class ViewerLog implements ChatObserver {
  readonly videoId: string;
  readonly messages: Sent[] = [];
  readonly breaks: Break[] = [];
  readonly faults: string[] = [];
  readonly refusals = new Map<string, number>();
  /** When its newest stream began. */
  openedAt = Number.NEGATIVE_INFINITY;
  /** Its chat is over, and it received the end. */
  hasEnded = false;
  readonly #isOver: () => boolean;
  readonly #sequence = new Sequence();
  #lastAt = Number.NEGATIVE_INFINITY;

  /** `isOver`: whether the chat has really ended. */
  constructor(videoId: string, isOver: () => boolean = () => false) {
    this.videoId = videoId;
    this.#isOver = isOver;
  }

  /** Whether it has the newest message of the chat, or a notice that it missed that. */
  isComplete(said: ReadonlyMap<string, readonly string[]>): boolean {
    if (this.breaks.at(-1)?.after === this.messages.length) return true;
    return this.messages.at(-1)?.id === said.get(this.videoId)?.at(-1);
  }

  /** The cursor of its last message. */
  get cursor(): number | undefined {
    return this.messages.at(-1)?.cursor;
  }

  /** Whether it ever had a stream. */
  get wasOpened(): boolean {
    return Number.isFinite(this.openedAt);
  }

  /** Its messages, split at each break: within a stretch each follows the one before. */
  get stretches(): Sent[][] {
    const bounds = [0, ...this.breaks.map(({ after }) => after), this.messages.length];
    return bounds.slice(1).map((end, n) => this.messages.slice(bounds[n], end));
  }

  opened({ cursor }: { cursor: number }, lastEventId: number | undefined): void {
    this.openedAt = performance.now();
    const isElsewhere = this.#sequence.begin(cursor, lastEventId) !== undefined;
    if (!isElsewhere || lastEventId === undefined) return;
    const [after, lastAt, openedAt] = [this.messages.length, this.#lastAt, this.openedAt];
    this.breaks.push({ after, lastAt, openedAt, asked: lastEventId, begins: cursor });
  }

  message(cursor: number, data: string): void {
    this.#lastAt = performance.now();
    this.messages.push({ cursor, id: JSON.parse(data).id });
    this.#note(this.#sequence.next(cursor));
  }

  terminal(event: string, reason: string): void {
    if (event === "end" && this.#isOver()) this.hasEnded = true;
    else this.#note(`${event}: ${reason}`);
  }

  refused(status: number, code: string, message: string): void {
    const isWithoutPage = code === "NO_LIVE_CHAT" && NO_PAGE.test(message);
    if (REFUSALS.has(code) || isWithoutPage) this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1);
    else this.#note(`refused with ${status} ${code}: ${message}`);
  }

  closed(): void {}

  malformed(what: string): void {
    this.#note(what);
  }

  #note(fault: string | undefined): void {
    if (fault) this.faults.push(fault);
  }
}

/** The log of a visitor: a chat may be absent (not yet, no longer, or never there), or impossible to find. */
export class VisitorLog extends ViewerLog {
  override refused(status: number, code: string, message: string): void {
    if (code !== "NO_LIVE_CHAT") super.refused(status, code, message);
  }
}
