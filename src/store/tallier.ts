/**
 * Keeps the totals of rooms up to date after the appends, in small steps. So no append waits for them, except
 * one that blanks messages: those stored before it are counted first. When the totals are requested, little
 * is left to count.
 */
import type { Clock } from "../base/clock.ts";
import { InFlight } from "../base/shared-work.ts";
import type { ChatKey } from "../protocol/chat-key.ts";
import { background } from "../telemetry/background.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { RoomAccount, Store, Tallying } from "./port.ts";
import { STEP_ENTRIES } from "./retention.ts";
import { isUnavailable } from "./store-error.ts";

/** A room is counted whenever its head passes a multiple of this number. */
const EVERY_MESSAGES = 500;
/** The pause after a step, as a multiple of the step's duration: appends come first. */
const PAUSE_FACTOR = 10;
const MAX_PAUSE_MS = 5000;
/**
 * The maximum number of messages that are counted while a request for the totals waits. There are more only
 * after unreadable totals, until the rounds have counted them.
 */
const MAX_CAUGHT_UP = 20_000;
/** The interval of the rounds, which find what a killed process has left uncounted. */
const ROUND_MS = 600_000;

export class Tallier {
  readonly #store: Tallying & Pick<Store, "getAccount">;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  /** The rooms to count, the first one next. */
  readonly #waiting = new Set<ChatKey>();
  readonly #runs = new InFlight<void, ChatKey>();
  readonly #closed = new AbortController();
  #isWorking = false;

  constructor(store: Tallying & Pick<Store, "getAccount">, clock: Clock, telemetry: Telemetry) {
    this.#store = store;
    this.#clock = clock;
    this.#telemetry = telemetry;
  }

  /** Call it after an append. Counts the room from time to time. */
  appended(key: ChatKey, before: number, head: number): void {
    if (Math.floor(head / EVERY_MESSAGES) > Math.floor(before / EVERY_MESSAGES)) this.countSoon(key);
  }

  /** Call it when a room was finished. */
  countSoon(key: ChatKey): void {
    this.#waiting.add(key);
    if (!this.#isWorking) void this.#work();
  }

  /** If the store fails, the next round counts the rest. */
  async #work(): Promise<void> {
    this.#isWorking = true;
    try {
      for (const key of this.#waiting) {
        this.#waiting.delete(key);
        const left = await paced(() => this.#step(key), this.#clock, this.#closed.signal);
        if (left > 0) this.#waiting.add(key);
      }
      this.#isWorking = false;
    } catch {
      // closed
    }
  }

  /** Resolves to how many messages are left to count; to 0 after a failure. */
  async #step(key: ChatKey): Promise<number> {
    try {
      return await this.#store.tally(key, STEP_ENTRIES);
    } catch (error) {
      if (!isUnavailable(error)) this.#telemetry.store.uncounted(key, error); // a bug
      return 0;
    }
  }

  /** Counts what the room has at this moment, at most `MAX_CAUGHT_UP` messages. Rejects with `StoreError`. */
  async catchUp(key: ChatKey): Promise<void> {
    await this.#runs.get(key)?.catch(() => {}); // it may have read before the last append
    await this.#run(key);
  }

  /** The run that is in flight, or else a new one. */
  #run(key: ChatKey): Promise<void> {
    return this.#runs.join(() => this.#count(key), key);
  }

  async #count(key: ChatKey): Promise<void> {
    for (let counted = 0; counted < MAX_CAUGHT_UP; counted += STEP_ENTRIES) {
      if ((await this.#store.tally(key, STEP_ENTRIES)) === 0) return;
    }
  }

  /** Begins no further step: the rest is counted after the next start. */
  close(): void {
    this.#closed.abort();
  }

  /**
   * The room, with totals that count all messages stored before the call, unless more than `MAX_CAUGHT_UP`
   * were left to count. Rejects with `StoreError`.
   */
  async account(key: ChatKey): Promise<RoomAccount | undefined> {
    let account = await this.#store.getAccount(key);
    const head = account?.head ?? 0;
    const isBehind = () => account && account.head - account.uncounted < head;
    // The first time, it may join a run that began before the last append.
    for (let times = 0; isBehind() && times < 2; times++) {
      if (account && account.uncounted > MAX_CAUGHT_UP) return account;
      await this.#run(key);
      account = await this.#store.getAccount(key);
    }
    return account;
  }
}

/** Runs a step, and pauses after it. Rejects with the signal's reason. */
async function paced<T>(step: () => Promise<T>, clock: Clock, signal: AbortSignal): Promise<T> {
  const beganAt = clock.monotonic();
  const result = await step();
  const tookMs = clock.monotonic() - beganAt;
  await clock.sleep(Math.min(PAUSE_FACTOR * tookMs, MAX_PAUSE_MS), signal);
  return result;
}

/** Counts all rooms in rounds, until the signal aborts. */
export async function runTally(
  store: Tallying,
  clock: Clock,
  telemetry: Telemetry,
  signal: AbortSignal,
): Promise<void> {
  await background("totals", { clock, telemetry }, signal, async () => {
    for (;;) {
      await countAll();
      await clock.sleep(ROUND_MS, signal);
    }
  });

  async function countAll(): Promise<void> {
    try {
      for (let after: ChatKey | undefined = ""; after !== undefined; ) {
        const from: ChatKey = after;
        after = await paced(() => store.tallyRooms(from, STEP_ENTRIES), clock, signal);
      }
    } catch (error) {
      if (!isUnavailable(error)) throw error; // the next round tries again
    }
  }
}
