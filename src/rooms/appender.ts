/**
 * The writing side of one room's log. While the store fails it tries again with growing waits and lets nothing
 * else happen, so that polling pauses and nothing is lost; only another owner makes it give up.
 */
import type { Clock } from "../clock.ts";
import type { RoomEnd } from "../protocol/chat.ts";
import { encodeMessage, type Message } from "../protocol/message.ts";
import { type Claim, type Store, StoreError } from "../store/port.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { type Checkpoint, encodeCheckpoint } from "./checkpoint.ts";

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 10_000;

export class Appender {
  readonly #store: Store;
  readonly #claim: Claim;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  #head: number;

  constructor(store: Store, claim: Claim, head: number, clock: Clock, telemetry: Telemetry) {
    this.#store = store;
    this.#claim = claim;
    this.#head = head;
    this.#clock = clock;
    this.#telemetry = telemetry;
  }

  /** Durable when it resolves. Rejects with `StoreError` "fenced", or the signal's reason. */
  async append(messages: readonly Message[], checkpoint: Checkpoint, signal: AbortSignal): Promise<void> {
    const encoded = messages.map(encodeMessage);
    const where = encodeCheckpoint(checkpoint);
    await this.#untilDone("append", signal, async () => {
      const began = this.#clock.monotonic();
      const added = await this.#store.append(this.#claim, this.#head, encoded, where);
      this.#head += added.length;
      this.#telemetry.appended(added.length, this.#clock.monotonic() - began);
    });
  }

  /** Closes the room in the store. Rejects as `append` does. */
  finish(end: RoomEnd, signal: AbortSignal): Promise<void> {
    return this.#untilDone("finish", signal, () => this.#store.finish(this.#claim, end));
  }

  async #untilDone(what: string, signal: AbortSignal, act: () => Promise<void>): Promise<void> {
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(LAST_RETRY_MS, retryMs * 2)) {
      try {
        return await act();
      } catch (error) {
        if (!(error instanceof StoreError) || error.kind !== "unavailable") throw error;
        this.#telemetry.storeFailed(what, error, retryMs);
      }
      await this.#clock.sleep(retryMs, signal);
      if (await this.#isDone()) return;
    }
  }

  /** After an outcome that is not known: takes up the head as it is, and tells whether the room was closed. */
  async #isDone(): Promise<boolean> {
    try {
      const record = await this.#store.room(this.#claim.videoId);
      if (record) this.#head = record.head;
      return record !== undefined && record.end !== null;
    } catch {
      return false; // still failing: the next attempt says why
    }
  }
}
