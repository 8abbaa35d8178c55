/** One instance of the service: its lives, one after the other, and what of the world is its own. */

import type { Journal } from "../harness/journal.ts";
import { Life } from "../harness/life.ts";
import type { Network } from "../harness/network.ts";
import type { Peek } from "../harness/peek.ts";
import type { Scheduler } from "../harness/scheduler.ts";
import type { SimulatedSink } from "../harness/sink.ts";
import type { Storage } from "../harness/storage.ts";
import type { UpstreamJudge } from "../harness/upstream-judge.ts";
import { addressOf } from "../harness/way.ts";
import type { Config } from "../src/cli/config.ts";
import type { Logger } from "../src/telemetry/log.ts";
import { Telemetry } from "../src/telemetry/telemetry.ts";
import type { StoreLine } from "./store-line.ts";

const SUPERVISOR_MS = 1000;
/** How long a stop may take, beside the time for which the service stays unready. */
const STOP_LIMIT_MS = 8000;

interface InstanceParts {
  /** "" where there is only one. */
  name: string;
  config: Config;
  scheduler: Scheduler;
  network: Network;
  journal: Journal;
  upstreamJudge: UpstreamJudge;
  log: Logger;
  storage: Storage;
  /** To a store that is shared. */
  line: StoreLine | undefined;
  /** By how much its wall clock is wrong. */
  aheadMs: number | undefined;
  /** Those who are connected to it. */
  viewers(): readonly { name: string; sink: SimulatedSink | undefined }[];
  /** Called when a life has begun. */
  started(): void;
}

export class Instance {
  readonly name: string;
  readonly line: StoreLine | undefined;
  readonly addresses: readonly string[];
  /** While it takes viewers. */
  life: Life | undefined;
  /** Of its last life: what that has stored can be read after it. */
  peek: Peek | undefined;
  /** When the longest pause is over that it has told of after throttling, in virtual milliseconds. */
  pausedUntil = 0;
  readonly #parts: InstanceParts;

  constructor(parts: InstanceParts) {
    this.name = parts.name;
    this.line = parts.line;
    this.#parts = parts;
    const { specs } = parts.config.upstream;
    this.addresses = specs.map(({ name }) => addressOf({ egress: name, instance: parts.name }));
  }

  /** Starts it, as its supervisor does until it stays. */
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

  /** The process is gone between two steps, and whatever it was about to do; another is started after a while. */
  async kill(downMs: number): Promise<void> {
    this.life?.kill();
    this.life = undefined;
    this.#parts.upstreamJudge.lifeEnds(this.name);
    for (const { sink } of this.#parts.viewers()) sink?.lose();
    this.#note("killed");
    await this.#parts.scheduler.sleep(downMs);
    await this.start();
  }

  /** Stops it as its supervisor does, and starts it after a while. */
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
