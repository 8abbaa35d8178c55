/** The list of recordings in the store file. Only one process uses the file, so it runs all recordings. */
import type { Clock } from "../../clock.ts";
import type { Recording, RecordingList, RecordingReport } from "../recordings.ts";
import type { StoreThread } from "./thread.ts";

export class SqliteRecordings implements RecordingList {
  readonly #thread: StoreThread;
  readonly #clock: Clock;

  constructor(thread: StoreThread, clock: Clock) {
    this.#thread = thread;
    this.#clock = clock;
  }

  listRecordings(): Promise<Recording[]> {
    return this.#thread.call("listRecordings");
  }

  addRecording(name: string): Promise<"added" | "present" | "full"> {
    return this.#thread.call("addRecording", name, this.#clock.now());
  }

  removeRecording(name: string): Promise<boolean> {
    return this.#thread.call("removeRecording", name);
  }

  runRecordings(reports: readonly RecordingReport[]): Promise<string[]> {
    return this.#thread.call("runRecordings", reports);
  }
}
