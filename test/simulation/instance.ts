/** One instance of the service, with its own part of the world. */

import type { Config } from "../../src/cli/config.ts";
import type { Logger } from "../../src/telemetry/logger.ts";
import { addressOf } from "../harness/egress-address.ts";
import { Life } from "../harness/life.ts";
import type { Network } from "../harness/network.ts";
import type { Peek } from "../harness/peek.ts";
import type { Storage } from "../harness/storage.ts";
import type { UpstreamJudge } from "../harness/upstream-judge.ts";
import { Host, type HostParts } from "./host.ts";
import { JudgedEvents } from "./judged-events.ts";
import { judgeRecordings } from "./recorded-chat.ts";
import type { StoreLine } from "./store-line.ts";

interface InstanceParts extends Omit<HostParts, "drainMs"> {
  config: Config;
  network: Network;
  upstreamJudge: UpstreamJudge;
  log: Logger;
  /** Whether no other instance shares its store. */
  isAlone: boolean;
  storage: Storage;
  /** Its line to a shared store. */
  line: StoreLine | undefined;
  /** The error of its wall clock, in milliseconds. */
  aheadMs: number | undefined;
  /** Called when a life has begun. */
  started(): void;
  /** Whether the chat of a room is not over. */
  isOpen(videoId: string): boolean;
}

export class Instance extends Host<Life> {
  readonly line: StoreLine | undefined;
  readonly addresses: readonly string[];
  /** A view of its last life's store, which outlasts that life. */
  peek: Peek | undefined;
  /** The end of the longest pause after throttling that it has reported, in virtual milliseconds. */
  pausedUntil = 0;
  readonly #parts: InstanceParts;

  constructor(parts: InstanceParts) {
    super({ ...parts, drainMs: parts.config.drainMs });
    this.line = parts.line;
    this.#parts = parts;
    const { specs } = parts.config.upstream;
    this.addresses = specs.map(({ name }) => addressOf({ egress: name, instance: parts.name }));
  }

  protected async begin(): Promise<Life> {
    const { config, scheduler, network, journal, upstreamJudge, log, isAlone, storage, aheadMs } =
      this.#parts;
    const { started, isOpen } = this.#parts;
    const instance = this.name;
    this.pausedUntil = 0;
    upstreamJudge.lifeEnds(instance);
    const throttled = (cooldownMs: number) => {
      this.pausedUntil = Math.max(this.pausedUntil, scheduler.monotonic() + cooldownMs);
    };
    const telemetry = new JudgedEvents({ log, journal, isAlone, throttled });
    judgeRecordings(telemetry, journal, isOpen);
    const life = await Life.begin({
      ...{ config, scheduler, network, storage, instance, telemetry },
      ...(aheadMs === undefined ? {} : { aheadMs }),
    });
    this.peek = life.peek;
    started();
    return life;
  }

  protected override killed(): void {
    this.#parts.upstreamJudge.lifeEnds(this.name);
  }
}
