/**
 * The recordings of this service: the fixed ones of its settings, and those that callers have put into the
 * store's list, of which each instance runs its share.
 */
import { isDeepStrictEqual } from "node:util";
import { nap } from "../../base/clock.ts";
import { atCapacity } from "../../protocol/capacity.ts";
import { isChannel } from "../../protocol/channel.ts";
import { RelayError } from "../../protocol/errors.ts";
import { refuseUnavailable } from "../../serving/store-refusal.ts";
import type { Recording, RecordingReport } from "../../store/recording-list.ts";
import { isUnavailable } from "../../store/store-error.ts";
import { background } from "../../telemetry/background.ts";
import { recordChannel } from "./record-channel.ts";
import { recordChat } from "./record-chat.ts";
import type { RecorderParts, RecordingRun } from "./recording-run.ts";

/** The interval of reports to the store's list. */
const REPORT_MS = 5000;
/** An instance that has not reported for this long no longer runs its recordings. */
const RUN_MS = 3 * REPORT_MS;

/** Whether a recording in this state has no open chat, and will need one, unless its room waits for it. */
const IS_UNOPENED = { waiting: true, failed: true, recording: false, ended: false } as const satisfies Record<
  RecordingReport["state"],
  boolean
>;

const NEW = { state: "waiting", videoId: null, error: null } as const;

/** A recording as callers see it. */
export interface ListedRecording {
  name: string;
  /** When a caller added it, or else when the service started; ISO 8601 in UTC. */
  since: string;
  state: RecordingReport["state"];
  videoId?: string;
  error?: string;
  /** Whether `RELAY_RECORD` names it, so that only a restart can remove it. */
  fixed: boolean;
}

export class Recordings {
  readonly #parts: RecorderParts;
  readonly #fixed: ReadonlySet<string>;
  readonly #since: number;
  readonly #signal: AbortSignal;
  /** The recordings that this instance runs: the fixed ones, and its part of the store's list. */
  readonly #running = new Map<string, RunningRecording>();
  /** Wakes the loop that reports. */
  #wake = () => {};

  /** `fixed`: names that are recorded until the signal aborts. */
  constructor(fixed: Iterable<string>, parts: RecorderParts, signal: AbortSignal) {
    this.#parts = parts;
    this.#signal = signal;
    this.#since = parts.clock.now();
    this.#fixed = new Set(fixed);
    const { rooms, egresses, recorded } = parts;
    const reserve = { places: () => this.#unopened, isFor: (videoId: string) => recorded.has(videoId) };
    for (const shared of [rooms.places, egresses]) shared.setReserve(reserve);
    parts.telemetry.recordings.watch(() => this.#running.values().map(({ report }) => report.state));
  }

  /** Starts the fixed recordings and, if `isListRun`, this instance's part of the store's list. */
  start({ isListRun }: { isListRun: boolean }): void {
    for (const name of this.#fixed) this.#run(name);
    if (isListRun) void background("list of recordings", this.#parts, this.#signal, () => this.#runList());
  }

  async #runList(): Promise<void> {
    const { store, clock } = this.#parts;
    while (!this.#signal.aborted) {
      const woken = this.#woken();
      const put = [...this.#running.values()].filter(({ report }) => !this.#fixed.has(report.name));
      try {
        const names = await store.recordings.runRecordings(
          put.map(({ report }) => report),
          RUN_MS,
        );
        this.#runOnly(new Set(names));
      } catch (error) {
        if (!isUnavailable(error)) throw error; // already reported; recordings continue meanwhile
      }
      await nap(clock, REPORT_MS, woken, this.#signal);
    }
  }

  /** The number of recordings that this instance runs whose chats have no room. */
  get #unopened(): number {
    let count = 0;
    for (const { report } of this.#running.values())
      if (IS_UNOPENED[report.state] && !this.#hasRoom(report)) count += 1;
    return count;
  }

  #hasRoom({ videoId }: RecordingReport): boolean {
    const room = videoId === null ? undefined : this.#parts.rooms.roomOf(videoId);
    return room !== undefined && room.end === undefined;
  }

  /** Rejects with `RelayError` STORE_UNAVAILABLE, as `put` and `delete` do. */
  async list(): Promise<ListedRecording[]> {
    const put = await this.#parts.store.recordings.listRecordings().catch(refuseUnavailable);
    const fixed = [...this.#fixed].map((name) => ({ name, since: this.#since, ...NEW }));
    const others = put.filter(({ name }) => !this.#fixed.has(name));
    return [...fixed, ...others].map((recording) => {
      const current = { ...recording, ...this.#running.get(recording.name)?.report };
      return listed(current, this.#fixed.has(recording.name));
    });
  }

  /** Resolves to whether the recording is new. Rejects with `RelayError` CAPACITY if there are too many. */
  async put(name: string): Promise<boolean> {
    if (this.#fixed.has(name)) return false;
    const outcome = await this.#parts.store.recordings.addRecording(name).catch(refuseUnavailable);
    if (outcome === "full") throw atCapacity("recordings");
    this.#wake();
    return outcome === "added";
  }

  /** Rejects with `RelayError` NOT_FOUND, or CONFLICT if it is a fixed one. */
  async delete(name: string): Promise<void> {
    if (this.#fixed.has(name))
      throw new RelayError(
        "CONFLICT",
        `The configuration of the service names ${name}: change it there, and restart the service.`,
      );
    const wasThere = await this.#parts.store.recordings.removeRecording(name).catch(refuseUnavailable);
    if (!wasThere) throw new RelayError("NOT_FOUND", `There is no recording of ${name}.`);
    this.#wake();
  }

  #runOnly(names: ReadonlySet<string>): void {
    for (const [name, running] of this.#running) {
      if (names.has(name) || this.#fixed.has(name)) continue;
      running.stop();
      this.#running.delete(name);
    }
    for (const name of names) if (!this.#running.has(name)) this.#run(name);
  }

  #run(name: string): void {
    this.#running.set(name, new RunningRecording(name, this.#parts, this.#signal, () => this.#wake()));
  }

  #woken(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    return promise;
  }
}

/** One recording that this instance runs, and its current state. */
class RunningRecording {
  readonly #deleted = new AbortController();
  #report: RecordingReport;

  constructor(name: string, parts: RecorderParts, signal: AbortSignal, onChange: () => void) {
    this.#report = { name, ...NEW };
    const run: RecordingRun = {
      signal: AbortSignal.any([signal, this.#deleted.signal]),
      deleted: this.#deleted.signal,
      report: (news) => {
        const changed = { ...this.#report, error: null, ...news };
        if (isDeepStrictEqual(changed, this.#report)) return;
        this.#report = changed;
        onChange();
      },
    };
    const record = isChannel(name) ? recordChannel : recordChat;
    void background(`recording of ${name}`, parts, run.signal, () => record(name, parts, run));
  }

  get report(): RecordingReport {
    return this.#report;
  }

  stop(): void {
    this.#deleted.abort();
  }
}

function listed({ name, since, state, videoId, error }: Recording, fixed: boolean): ListedRecording {
  return {
    name,
    since: new Date(since).toISOString(),
    state,
    ...(videoId !== null && { videoId }),
    ...(error !== null && { error }),
    fixed,
  };
}
