/**
 * A viewer's connection instead of an HTTP response: it takes written bytes at once, a little later, or not
 * at all while its viewer stalls. Bytes that were written and not taken are lost with the connection.
 */
import { type BodyForm, FORMS, type Packet } from "../../src/serving/form.ts";
import type { StreamRequest } from "../../src/serving/room.ts";
import type { Sink, SinkOwner } from "../../src/serving/sink.ts";

/**
 * The bytes that a connection holds before it makes its writer wait: few, because chats in a run are slow.
 */
const HIGH_WATER_BYTES = 1024;

export class SimulatedSink implements Sink {
  /**
   * `end`: the service ended it; `reset`: the service cut it; `left`: its viewer left; `lost`: its service
   * died.
   */
  closedBy: "end" | "reset" | "left" | "lost" | undefined;
  readonly closed: Promise<void>;
  readonly #take: (bytes: Buffer) => void;
  readonly #close: () => void;
  readonly form: BodyForm;
  #owner: SinkOwner | undefined;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** The total of written bytes. */
  written = 0;
  #isStalled = false;
  #isBackPressured = false;

  constructor(form: BodyForm, take: (bytes: Buffer) => void) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    this.#close = resolve;
    this.form = form;
    this.#take = take;
  }

  write({ bytes }: Packet): void {
    if (this.closedBy) return;
    this.written += bytes.length;
    if (!this.#isStalled) {
      this.#take(bytes);
      return;
    }
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    this.#isBackPressured ||= this.#heldBytes >= HIGH_WATER_BYTES;
  }

  get isBackPressured(): boolean {
    return this.#isBackPressured || this.closedBy !== undefined;
  }

  /** Whether its viewer has not yet taken everything that was written. */
  get isBehind(): boolean {
    return this.#heldBytes > 0;
  }

  /** Bytes that were written and not taken. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Takes nothing from now on. */
  stall(): void {
    this.#isStalled = true;
  }

  /** Takes all bytes that are held, and those that follow. */
  readOn(): void {
    this.#isStalled = false;
    this.sip();
  }

  /** Takes all bytes that are held; those that follow only if it is not stalled. */
  sip(): void {
    this.#flush();
    if (!this.#isBackPressured || this.closedBy) return;
    this.#isBackPressured = false;
    this.#owner?.drained();
  }

  end(): void {
    this.#flush();
    this.#over("end");
  }

  reset(): void {
    this.#over("reset");
  }

  leave(): void {
    this.#over("left");
  }

  /** Its service was killed, so nobody notices. */
  lose(): void {
    this.#owner = undefined;
    this.#over("lost");
  }

  attach(owner: SinkOwner): void {
    this.#owner = owner;
  }

  #flush(): void {
    if (this.closedBy) return;
    for (const bytes of this.#held.splice(0)) this.#take(bytes);
    this.#heldBytes = 0;
  }

  #over(by: NonNullable<SimulatedSink["closedBy"]>): void {
    if (this.closedBy) return;
    this.closedBy = by;
    this.#held = [];
    this.#close();
    this.#owner?.closed();
  }
}

/** The request of a viewer who watches a room from now on, and its connection, which takes everything. */
export function visit(videoId: string, address: string): { request: StreamRequest; sink: SimulatedSink } {
  const sink = new SimulatedSink(FORMS.sse.plain.bare, () => {});
  const request = {
    videoId,
    lastEventId: undefined,
    backfill: 0,
    address: () => address,
    openSink: () => sink,
  };
  return { request, sink };
}
