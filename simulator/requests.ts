/**
 * The simulator's requests: a bounded list of records, the peak of requests in flight for each host, and
 * promises for future requests. A record appears on arrival and is complete when the exchange ends.
 */
import type { IncomingHttpHeaders } from "node:http";

export type HostName = "main" | "music" | "mobile";

export type RequestKind =
  | "sw.js"
  | "sw.js_data"
  | "popout"
  | "watch"
  | "next"
  /** A channel's `/live` page and its streams tab. */
  | "live"
  | "streams"
  | "get_live_chat"
  | "get_live_chat_replay"
  | "other";

export interface RequestRecord {
  /** The arrival, in milliseconds of `performance.now`. */
  readonly at: number;
  readonly host: HostName;
  readonly kind: RequestKind;
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The address from which the request came. */
  readonly from: string;
  /** The page's `v`, or the video of the continuation. */
  videoId?: string;
  /** The channel of a channel's page: a handle in lower case, an id, `c/name` or `user/name`. */
  channel?: string;
  /** `context.client.clientName` of the body. */
  client?: string;
  clientVersion?: string;
  continuation?: string;
  /** The body as received. */
  body?: string;
  /** Set if a fault hit the request. */
  faulted?: true;
  /** The status that was sent; missing if none was. */
  status?: number;
  /** The time at which the answer was written or the connection was gone, on the clock of `at`. */
  finishedAt?: number;
}

/** Which requests to wait for. */
export interface Awaited {
  videoId?: string;
  /** The number of requests to wait for; 1 by default. */
  count?: number;
  /**
   * Counts only requests that arrived at this time or later, on the clock of `at`. Default: now; 0 counts
   * all.
   */
  since?: number;
  /** Waits until the requests are finished, not only received. */
  finished?: boolean;
}

interface Waiter {
  since: number;
  matches: (record: RequestRecord) => boolean;
  count: number;
  resolve: (records: RequestRecord[]) => void;
}

export class RequestLog {
  readonly records: RequestRecord[] = [];
  /** The maximum number of requests in flight at once. */
  readonly peakInFlight: Record<HostName, number> = { main: 0, music: 0, mobile: 0 };
  readonly #inFlight: Record<HostName, number> = { main: 0, music: 0, mobile: 0 };
  /** Requests that have arrived and are not yet read to the end, so their kind is unknown. */
  readonly #unread = new Set<RequestRecord>();
  readonly #waiters = new Set<Waiter>();
  readonly #keep: number;

  /** Keeps at least the last `keep` records. */
  constructor(keep: number) {
    this.#keep = keep;
  }

  /** Adds a record; call `received` when its body is read. */
  arrive(record: RequestRecord): void {
    this.#inFlight[record.host] += 1;
    this.peakInFlight[record.host] = Math.max(this.peakInFlight[record.host], this.#inFlight[record.host]);
    this.records.push(record);
    this.#unread.add(record);
    if (this.records.length >= this.#keep * 1.1 + 1) this.records.splice(0, this.records.length - this.#keep);
  }

  received(record: RequestRecord): void {
    this.#unread.delete(record);
    this.#settle();
  }

  finish(record: RequestRecord, finishedAt: number, status?: number): void {
    this.#inFlight[record.host] -= 1;
    this.#unread.delete(record);
    record.finishedAt = finishedAt;
    if (status !== undefined) record.status = status;
    this.#settle();
  }

  /** Resolves, with the records, after this number of requests of the kind. */
  requested(kind: RequestKind, awaited: Awaited, nowMs: number): Promise<RequestRecord[]> {
    const { videoId, count = 1, since = nowMs, finished = false } = awaited;
    const matches = (record: RequestRecord): boolean =>
      record.kind === kind &&
      !this.#unread.has(record) &&
      (videoId === undefined || record.videoId === videoId) &&
      (!finished || record.finishedAt !== undefined);
    return new Promise((resolve) => {
      this.#waiters.add({ since, matches, count, resolve });
      this.#settle();
    });
  }

  #settle(): void {
    for (const waiter of this.#waiters) {
      const before = this.records.findLastIndex(({ at }) => at < waiter.since);
      const found = this.records.slice(before + 1).filter(waiter.matches);
      if (found.length < waiter.count) continue;
      this.#waiters.delete(waiter);
      waiter.resolve(found);
    }
  }
}
