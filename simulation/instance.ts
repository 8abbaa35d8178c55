/** One instance of the service: its lives, one after another, and its own part of the world. */

import { addressOf } from "../harness/egress-address.ts";
import type { Journal } from "../harness/journal.ts";
import { Life } from "../harness/life.ts";
import type { Network } from "../harness/network.ts";
import type { Peek } from "../harness/peek.ts";
import type { Scheduler } from "../harness/scheduler.ts";
import type { SimulatedSink } from "../harness/sink.ts";
import type { Storage } from "../harness/storage.ts";
import type { UpstreamJudge } from "../harness/upstream-judge.ts";
import type { Config } from "../src/cli/config.ts";
import type { Logger } from "../src/telemetry/log.ts";
import { Telemetry } from "../src/telemetry/telemetry.ts";
import type { StoreLine } from "./store-line.ts";

const SUPERVISOR_MS = 1000;
/** Time limit of a stop, without the time for which the service stays unready. */
const STOP_LIMIT_MS = 8000;

interface InstanceParts {
  /** "" if there is only one. */
  name: string;
  config: Config;
  scheduler: Scheduler;
  network: Network;
  journal: Journal;
  upstreamJudge: UpstreamJudge;
  log: Logger;
  storage: Storage;
  /** Its line to a shared store. */
  line: StoreLine | undefined;
  /** The error of its wall clock, in milliseconds. */
  aheadMs: number | undefined;
  /** The viewers that are connected to it. */
  viewers(): readonly { name: string; sink: SimulatedSink | undefined }[];
  /** Called when a life has begun. */
  started(): void;
}

export class Instance {
  readonly name: string;
  readonly line: StoreLine | undefined;
  readonly addresses: readonly string[];
  /** Its life while it takes viewers. */
  life: Life | undefined;
  /** A view of its last life's store, which outlasts that life. */
  peek: Peek | undefined;
  /** The end of the longest pause after throttling that it has reported, in virtual milliseconds. */
  pausedUntil = 0;
  readonly #parts: InstanceParts;

  constructor(parts: InstanceParts) {
    this.name = parts.name;
    this.line = parts.line;
    this.#parts = parts;
    const { specs } = parts.config.upstream;
    this.addresses = specs.map(({ name }) => addressOf({ egress: name, instance: parts.name }));
  }

  /** Starts it, and retries like a supervisor until it keeps running. */
  async start(): Promise<void> {
    const { config, scheduler, network, journal, upstreamJudge, log, storage, aheadMs, started } =
      this.#parts;
    const instance = this.name;
    for (;;) {
      this.pausedUntil = 0;
      upstreamJudge.lifeEnds(instance);
      try {
        const telemetry = new Telemetry(log);
        telemetry.mark = (mark) => journal.mark(mark);
        this.life = await Life.begin({
          ...{ config, scheduler, network, storage, instance, telemetry },
          ...(aheadMs === undefined ? {} : { aheadMs }),
        });
        this.peek = this.life.peek;
        started();
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
    this.#parts.upstreamJudge.lifeEnds(this.name);
    for (const { sink } of this.#parts.viewers()) sink?.lose();
    this.#note("killed");
    await this.#parts.scheduler.sleep(downMs);
    await this.start();
  }

  /** Stops it like a supervisor, and starts it again after a while. */
  async restart(downMs: number): Promise<void> {
    const { scheduler, journal, config, viewers } = this.#parts;
    const { life } = this;
    const beganAt = scheduler.monotonic();
    this.life = undefined;
    await life?.stop();
    const tookMs = scheduler.monotonic() - beganAt;
    if (tookMs > config.drainMs + STOP_LIMIT_MS) journal.violate("", `a stop took ${Math.round(tookMs)} ms`);
    for (const { sink, name } of viewers()) {
      if (sink?.closedBy === undefined && sink) journal.violate("", `viewer ${name} outlived the stop`);
    }
    this.#note("stopped");
    await scheduler.sleep(downMs);
    await this.start();
  }

  #note(what: string): void {
    this.#parts.journal.note(`service${this.name && ` ${this.name}`} ${what}`);
  }
}
