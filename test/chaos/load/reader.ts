/**
 * One viewer of a load: its owner connects and cuts it; it keeps its cursor, asks for what follows when it
 * comes back, and judges that each message comes once and in order. A stuck one asks for the same and takes
 * nothing.
 */
import { SseConnection, type SseFrame, streamUrl } from "../../harness/clients/sse.ts";
import { Sequence } from "../../harness/sequence.ts";
import type { LoadStats } from "./load-stats.ts";

interface ReaderOptions {
  videoId: string;
  /** Asks for details, which say when a message was sent: its delays are measured. */
  details: boolean;
  stuck: boolean;
  /** Where it calls from. */
  localAddress: string;
}

/** How a connection that had begun came to its end. */
export interface Closing {
  /** Wall time, milliseconds since 1970. */
  at: number;
  /** The response came to its orderly end. */
  complete: boolean;
}

export class Reader {
  readonly options: ReaderOptions;
  /** What it resumes from, by its last message or by the owner's word. */
  lastEventId: number | undefined;
  /** The last end of a stream that the reader itself did not want. */
  closing: Closing | undefined;
  readonly #stats: LoadStats;
  readonly #sequence = new Sequence();
  #connection: SseConnection | undefined;
  #isOpen = false;

  constructor(options: ReaderOptions, lastEventId: number | undefined, stats: LoadStats) {
    this.options = options;
    this.lastEventId = lastEventId;
    this.#stats = stats;
  }

  /** A stream is open, as far as the reader can know. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Calls the service; resolves once the stream has begun or has failed to. */
  connect(service: string): Promise<void> {
    const { videoId, details, stuck, localAddress } = this.options;
    const { promise, resolve } = Promise.withResolvers<void>();
    const from = performance.now();
    const asked = this.lastEventId;
    const url = new URL(streamUrl(service, { videoId, backfill: 0, details }));
    let status: number | undefined;
    const begun = () => {
      this.#isOpen = true;
      this.#stats.openings.add(performance.now() - from);
      resolve();
    };
    const connection = new SseConnection(
      url,
      asked?.toString(),
      {
        head: (answered) => {
          status = answered;
          if (!stuck) return;
          connection.pause();
          if (answered === 200) begun();
        },
        frame: (frame) => {
          if (this.#connection !== connection) return;
          if (frame.event === "init") {
            this.lastEventId = JSON.parse(frame.data).cursor as number;
            this.#fault(this.#sequence.begin(this.lastEventId, asked) && "resumed elsewhere than asked");
            begun();
          } else this.#take(frame);
        },
        closed: (complete, why = "closed before its init frame") => {
          if (this.#connection !== connection) return;
          if (this.#isOpen) this.closing = { at: Date.now(), complete };
          else
            this.#fault(`no stream: ${status ? `answered with ${status}` : why.replace(/ [\d.:-]+.*$/, "")}`);
          this.#isOpen = false;
          this.#connection = undefined;
          resolve();
        },
      },
      localAddress,
    );
    this.#connection = connection;
    return promise;
  }

  /** Ends its connection by itself, if it has one. */
  cut(): void {
    this.#connection?.destroy();
    this.#connection = undefined;
    this.#isOpen = false;
  }

  #take({ event, id, data }: SseFrame): void {
    if (event !== "message") {
      this.#fault(`a frame: ${event}`);
      return;
    }
    this.lastEventId = Number(id);
    this.#fault(this.#sequence.next(this.lastEventId) && "messages missed or repeated");
    if (!this.options.details) return;
    const { publishedAt } = JSON.parse(data).details;
    this.#stats.deliveries.add(Date.now() - Date.parse(publishedAt));
  }

  #fault(what: string | undefined): void {
    if (what) this.#stats.fault(what);
  }
}
