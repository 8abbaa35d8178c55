/** A process that viewers come to: its lives, one after another. */
import type { Journal } from "../harness/journal.ts";
import type { OriginService } from "../harness/origin-api.ts";
import type { MortalClock, Scheduler } from "../harness/scheduler.ts";
import type { SimulatedSink } from "../harness/sink.ts";

const SUPERVISOR_MS = 1000;
/** Time limit of a stop, without the time for which the service stays unready. */
const STOP_LIMIT_MS = 8000;

interface HostLife extends OriginService {
  readonly clock: MortalClock;
  stop(): Promise<void>;
  kill(): void;
}

export interface HostParts {
  /** "" if there is only one. */
  name: string;
  scheduler: Scheduler;
  journal: Journal;
  /** How long it stays unready before a stop. */
  drainMs: number;
  /** The viewers that are connected to it. */
  viewers(): readonly { name: string; sink: SimulatedSink | undefined }[];
}

export abstract class Host<L extends HostLife = HostLife> {
  readonly name: string;
  /** Its life while it takes viewers. */
  life: L | undefined;
  readonly #parts: HostParts;

  constructor(parts: HostParts) {
    this.name = parts.name;
    this.#parts = parts;
  }

  /** A new process. Rejects if it ends at once. */
  protected abstract begin(): Promise<L>;

  /** Called when a process was killed. */
  protected killed(): void {}

  /** Starts it, and retries like a supervisor until it keeps running. */
  async start(): Promise<void> {
    const { journal, scheduler } = this.#parts;
    for (;;) {
      try {
        this.life = await this.begin();
        this.#note("started");
        return;
      } catch (error) {
        journal.note(`service did not start: ${error}`);
        await scheduler.sleep(SUPERVISOR_MS);
      }
    }
  }

  /** The process ends between two steps; another one starts after a while. */
  async kill(downMs: number): Promise<void> {
    this.life?.kill();
    this.life = undefined;
    this.killed();
    for (const { sink } of this.#parts.viewers()) sink?.lose();
    this.#note("killed");
    await this.#parts.scheduler.sleep(downMs);
    await this.start();
  }

  /** Stops it like a supervisor, and starts it again after a while. */
  async restart(downMs: number): Promise<void> {
    const { scheduler, journal, drainMs, viewers } = this.#parts;
    const { life } = this;
    const beganAt = scheduler.monotonic();
    this.life = undefined;
    await life?.stop();
    const tookMs = scheduler.monotonic() - beganAt;
    if (tookMs > drainMs + STOP_LIMIT_MS) journal.violate("stop", "", `a stop took ${Math.round(tookMs)} ms`);
    for (const { sink, name } of viewers()) {
      if (!sink || sink.closedBy) continue;
      if (sink.written > 0) journal.violate("stop", "", `viewer ${name} outlived the stop`);
      else sink.lose(); // its request still waited for the store
    }
    this.#note("stopped");
    await scheduler.sleep(downMs);
    await this.start();
  }

  #note(what: string): void {
    this.#parts.journal.note(`service${this.name && ` ${this.name}`} ${what}`);
  }
}
