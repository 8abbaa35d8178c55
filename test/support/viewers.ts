/**
 * Viewers over all their connections, on chaos's clients: whatever breaks, they resume with the last cursor
 * they have, when the test says so. What they are sent is judged as it comes.
 */
import assert from "node:assert/strict";
import { Random } from "../../simulator/random.ts";
import { Client, type ClientKind } from "../harness/clients/client.ts";
import type { ChatObserver, ClientOptions } from "../harness/clients/observer.ts";
import { Sequence } from "../harness/sequence.ts";
import { PATIENCE_MS } from "./eventually.ts";

/** What a test waits on: a condition that is looked at whenever something has changed. */
export class Changes {
  #waiters: (() => void)[] = [];

  announce(): void {
    for (const wake of this.#waiters.splice(0)) wake();
  }

  async until(condition: () => boolean, what: string): Promise<void> {
    let isLate = false;
    // Unlike the timer of an `AbortSignal`, it keeps the process alive until the failure can be reported.
    const limit = setTimeout(() => {
      isLate = true;
      this.announce();
    }, PATIENCE_MS);
    try {
      while (!condition()) {
        assert.ok(!isLate, `not in time: ${what}`);
        await new Promise<void>((resolve) => this.#waiters.push(resolve));
      }
    } finally {
      clearTimeout(limit);
    }
  }
}

/**
 * Everything that one viewer was sent. From the cursor of its first init on, nothing may be missing.
 */
export class History implements ChatObserver {
  readonly messages: { cursor: number; id: string; data: string }[] = [];
  /** The faults, in words. */
  readonly faults: string[] = [];
  /** The cursor of the first init. */
  start: number | undefined;
  isOpen = false;
  /** Connections that neither the viewer nor its test has ended. */
  lost = 0;
  readonly changes = new Changes();
  readonly #sequence = new Sequence();

  /** The cursor of the last message, or of the init before it. */
  get cursor(): number {
    return this.#sequence.cursor ?? Number.NaN;
  }

  opened({ cursor }: { cursor: number }, lastEventId: number | undefined): void {
    this.isOpen = true;
    this.start ??= cursor;
    this.#note(this.#sequence.begin(cursor, lastEventId));
  }

  message(cursor: number, data: string): void {
    this.messages.push({ cursor, id: JSON.parse(data).id, data });
    this.#note(this.#sequence.next(cursor));
  }

  terminal(event: string, reason: string): void {
    this.#note(`${event}: ${reason}`);
  }

  refused(status: number, code: string): void {
    this.#note(`refused with ${status} ${code}`);
  }

  closed(asked: boolean): void {
    if (this.isOpen && !asked) this.lost += 1;
    this.isOpen = false;
    this.#note(undefined);
  }

  malformed(what: string): void {
    this.#note(what);
  }

  #note(fault: string | undefined): void {
    if (fault) this.faults.push(fault);
    this.changes.announce();
  }
}

export class Viewer {
  readonly history = new History();
  readonly #client: Client;

  /** Resolves once its stream is open. `base` says where the relay listens now. */
  static async open(base: () => string, options: ClientOptions, kind: ClientKind = "http"): Promise<Viewer> {
    const viewer = new Viewer(base, options, kind);
    await viewer.#opened();
    return viewer;
  }

  private constructor(base: () => string, options: ClientOptions, kind: ClientKind) {
    this.#client = new Client(kind, base, options, this.history, new Random(1, "viewer"));
  }

  /** Resolves once it has everything up to the cursor. */
  reached(cursor: number): Promise<void> {
    return this.history.changes.until(() => this.history.cursor >= cursor, `cursor ${cursor}`);
  }

  /** Breaks the connection, and stays away until `wake`. */
  async sleep(): Promise<void> {
    this.#client.drop(Number.POSITIVE_INFINITY);
    await this.history.changes.until(() => !this.history.isOpen, "the end of a connection");
  }

  /** Waits for the server's end of the connection, and stays away until `wake`. */
  async ended(): Promise<void> {
    await this.history.changes.until(() => !this.history.isOpen, "the server's end of a connection");
    await this.sleep();
  }

  /** Connects again, with the last cursor. */
  async wake(): Promise<void> {
    this.#client.comeBack();
    await this.#opened();
  }

  /** Goes for good. */
  leave(): Promise<void> {
    return this.#client.leave();
  }

  #opened(): Promise<void> {
    return this.history.changes.until(() => this.history.isOpen, "init");
  }
}

/**
 * Asserts that a viewer was sent exactly the room's sequence from its start: `ids` are those of all messages,
 * the first of them under the cursor after `base`. `texts` holds the messages that others got under the same
 * cursors.
 */
export function assertExact(
  { messages, faults }: History,
  base: number,
  ids: readonly string[],
  texts = new Map<number, string>(),
): void {
  assert.deepEqual(faults, []);
  const from = (messages[0]?.cursor ?? base + 1) - base - 1;
  assert.ok(from >= 0, "a cursor from before the room");
  assert.deepEqual(
    messages.map(({ id }) => id),
    ids.slice(from, from + messages.length),
  );
  for (const { cursor, data } of messages) {
    assert.equal(data, texts.get(cursor) ?? data, `cursor ${cursor} is not the same for all`);
    texts.set(cursor, data);
  }
}
