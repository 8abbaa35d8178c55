/**
 * A connection that carries several chats. Each chat has a viewer of its own in its room, with a branch of
 * this connection as its sink. If the client is slow, all its chats wait and write in turn: the connection
 * holds two chunks in all, the one that is being written and the next one.
 */
import { type Clock, pause } from "../base/clock.ts";
import type { BodyForm, Form, Packet } from "../serving/form.ts";
import { EVENTS, type Events, type Format } from "../serving/framing.ts";
import type { Sink, SinkOwner } from "../serving/sink.ts";
import type { Viewer } from "../serving/viewer.ts";
import { background } from "../telemetry/background.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { type ChatEvent, eventOf } from "./chat-events.ts";

/** The sink of the whole connection. */
export type BodySink = Sink & { readonly form: BodyForm };

export class Multiplex implements SinkOwner {
  readonly events: Events;
  readonly sink: BodySink;
  readonly #gone = new AbortController();
  /** In the order in which they may write after the next drain. */
  readonly #branches = new Set<Branch>();
  /** By what it concerns, the text that waits for the drain of a slow client. */
  #latest: Map<object, () => string | undefined> | undefined;

  /** Writes the beginning of the connection. */
  constructor(sink: BodySink, format: Format) {
    this.events = EVENTS[format];
    this.sink = sink;
    sink.attach(this);
    sink.write(sink.form.begin(this.events.head));
  }

  /** Aborts when the connection is over. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  get about(): object {
    return { chats: [...this.#branches].map(({ owner }) => owner?.about) };
  }

  get isBackPressured(): boolean {
    return this.sink.isBackPressured;
  }

  /** A sink for the viewer of one chat. `receive` gets the viewer's events, and writes them here. */
  branch(form: Form, receive: (event: ChatEvent) => void): Branch {
    const branch = new Branch(this, form, receive);
    this.#branches.add(branch);
    return branch;
  }

  leave(branch: Branch): void {
    this.#branches.delete(branch);
  }

  isNext(branch: Branch): boolean {
    return this.#branches.values().next().value === branch;
  }

  /** The branch has had its turn: after the next drain, it comes after all others. */
  hadTurn(branch: Branch): void {
    if (this.#branches.delete(branch)) this.#branches.add(branch);
  }

  /** Writes the text, after the `writeLatest` that waits. */
  write(...text: readonly (Buffer | string)[]): void {
    if (this.#gone.signal.aborted) return;
    const waiting = this.#latest?.values().map((latest) => latest() ?? "") ?? [];
    this.#latest = undefined;
    const bytes = [...waiting, ...text].map((part) => (typeof part === "string" ? Buffer.from(part) : part));
    if (bytes.some(({ length }) => length > 0)) this.sink.write(this.sink.form.packText(bytes, true));
  }

  /**
   * Writes the text, or nothing if it is undefined by then: for a slow client at its next drain, before
   * anything else, and only the last one of this `key`.
   */
  writeLatest(key: object, text: () => string | undefined): void {
    this.#latest ??= new Map();
    this.#latest.set(key, text);
    if (!this.isBackPressured) this.write();
  }

  /**
   * Sends keepalives until the connection is over. Before each one, it sends the cursors that have moved
   * without a message. A client with unread bytes gets no keepalive.
   */
  async keepOpen(parts: { clock: Clock; telemetry: Telemetry; keepaliveMs: number }): Promise<void> {
    const { clock, keepaliveMs } = parts;
    await background("keepalives of a connection", parts, this.gone, async () => {
      while (!this.gone.aborted) {
        await pause(clock, keepaliveMs, this.gone);
        if (this.isBackPressured) continue;
        for (const branch of [...this.#branches]) branch.owner?.keepalive();
        this.write(this.events.keepalive);
      }
    });
  }

  /** Ends the connection once its client has taken everything. Each chat may ask for it at a stop. */
  end(): void {
    if (this.#gone.signal.aborted) return; // a second end would cut off what the client has not taken
    this.write(); // the latest that waits
    this.closed();
    this.sink.end();
  }

  drained(): void {
    this.write(); // the latest that waits
    for (const branch of [...this.#branches]) {
      if (this.isBackPressured) return;
      branch.owner?.drained();
      if (!branch.owner?.isReading) this.hadTurn(branch);
    }
  }

  closed(): void {
    this.#gone.abort();
    for (const branch of this.#branches) branch.closed();
  }
}

/** The sink of the viewer of one chat. */
export class Branch implements Sink {
  readonly form: Form;
  /** Resolves when the viewer has left. */
  readonly left: Promise<void>;
  /** Undefined until the viewer is in its room. */
  owner: Viewer | undefined;
  readonly #multiplex: Multiplex;
  readonly #receive: (event: ChatEvent) => void;
  readonly #leave: () => void;

  constructor(multiplex: Multiplex, form: Form, receive: (event: ChatEvent) => void) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.form = form;
    this.left = promise;
    this.#multiplex = multiplex;
    this.#receive = receive;
    this.#leave = resolve;
  }

  write(packet: Packet): void {
    this.#receive(eventOf(packet));
    this.#multiplex.hadTurn(this);
  }

  get isBackPressured(): boolean {
    return this.#multiplex.isBackPressured;
  }

  get isNext(): boolean {
    return this.#multiplex.isNext(this);
  }

  end(): void {
    this.#multiplex.leave(this);
    this.#leave();
  }

  /** The viewer cannot continue: the whole connection is cut. */
  reset(): void {
    this.#multiplex.sink.reset();
  }

  attach(owner: Viewer): void {
    this.owner = owner;
  }

  closed(): void {
    this.owner?.closed();
    this.end();
  }
}
