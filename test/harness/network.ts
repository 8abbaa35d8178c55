/**
 * The network between the service and the simulated upstream: latency with jitter, refused connections, total
 * silence. It reports each call and its outcome to the upstream's judge.
 */

import type { Response } from "../../simulator/in-process.ts";
import type { InProcessSimulator } from "../../simulator/index.ts";
import type { Random } from "../../simulator/random.ts";
import { AnswerBytes } from "../../src/upstream/egress/answer-bytes.ts";
import type { Connections, IncomingAnswer, OutgoingRequest } from "../../src/upstream/egress/connections.ts";
import { addressOf, type EgressAddress } from "./egress-address.ts";
import type { MortalClock, Scheduler } from "./scheduler.ts";
import type { UpstreamJudge } from "./upstream-judge.ts";

/** The usual latency of an answer in milliseconds: a minimum, plus at most the jitter. */
const USUAL_LATENCY = { leastMs: 20, jitterMs: 100 };

export class Network {
  latency: Readonly<typeof USUAL_LATENCY> = USUAL_LATENCY;
  /** How long the code that makes connections takes to load, once in each life of the service. */
  loadingMs = 0;
  /** How long the first request of a life waits for its connection, and for code that has not run before. */
  connectingMs = 0;
  /** Until these virtual times, connections are refused, or nothing is answered (milliseconds). */
  refusesUntil = 0;
  silentUntil = 0;
  /** Until this virtual time, the machine of the service has no file for a connection. */
  shortOfFilesUntil = 0;
  /** The addresses from which nothing is answered, and those from which connections are refused. */
  readonly lost = new Set<string>();
  readonly refused = new Set<string>();
  readonly #simulator: InProcessSimulator;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #judge: UpstreamJudge;

  constructor(simulator: InProcessSimulator, scheduler: Scheduler, random: Random, judge: UpstreamJudge) {
    this.#simulator = simulator;
    this.#scheduler = scheduler;
    this.#random = random;
    this.#judge = judge;
  }

  /** Ends all faults. */
  calm(): void {
    this.latency = USUAL_LATENCY;
    this.refusesUntil = 0;
    this.silentUntil = 0;
    this.shortOfFilesUntil = 0;
    this.lost.clear();
    this.refused.clear();
  }

  /** Whether calls from an address reach the upstream, and its answers come back. */
  reaches(address: string): boolean {
    const isCut = this.#scheduler.monotonic() < Math.max(this.refusesUntil, this.silentUntil);
    return !isCut && !this.lost.has(address) && !this.refused.has(address);
  }

  /** The connections of one egress, in one life of the service or of one of its instances. */
  connectionsOf(life: MortalClock, egress: string, instance = ""): Connections {
    let loaded: Promise<void> | undefined;
    const open = async () => {
      if (this.loadingMs === 0) return;
      loaded ??= this.#scheduler.sleep(this.loadingMs);
      await life.untilDeath(loaded);
    };
    let connected: Promise<void> | undefined;
    return {
      open,
      request: async (request, signal, onSent) => {
        if (life.isDead) return aborted();
        await open();
        if (!connected && this.connectingMs > 0) {
          connected = this.#scheduler.sleep(this.connectingMs);
          await life.untilDeath(connected);
        }
        onSent?.();
        return life.untilDeath(this.#request(request, signal, life, { egress, instance }));
      },
      close: async () => {},
    };
  }

  async #request(
    request: OutgoingRequest,
    signal: AbortSignal,
    life: MortalClock,
    from: EgressAddress,
  ): Promise<IncomingAnswer> {
    const address = addressOf(from);
    if (this.#scheduler.monotonic() < this.shortOfFilesUntil)
      throw Object.assign(new Error("connect EMFILE"), { code: "EMFILE" });
    const call = this.#judge.began(request, from);
    try {
      signal.throwIfAborted();
      const now = this.#scheduler.monotonic();
      const waitMs = this.latency.leastMs + this.#random.next() * this.latency.jitterMs;
      if (now < this.refusesUntil || this.refused.has(address)) {
        await this.#scheduler.sleep(waitMs, signal);
        throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
      }
      if (now < this.silentUntil || this.lost.has(address)) await aborted(signal);
      const answer = await this.#simulator.exchange({ ...request, from: address }, signal);
      await this.#scheduler.sleep(waitMs, signal);
      const { status, header } = answer;
      return { status, header, body: () => this.#body(answer, call, life) };
    } catch (error) {
      if (!life.isDead) this.#judge.failed(call, error);
      throw error;
    }
  }

  async #body(
    answer: Response,
    call: ReturnType<UpstreamJudge["began"]>,
    life: MortalClock,
  ): Promise<Buffer> {
    const bytes = new AnswerBytes();
    try {
      for await (const chunk of answer.body) {
        if (life.isDead) await aborted(); // a dead process reads nothing
        bytes.add(chunk);
      }
    } catch (error) {
      if (life.isDead) await aborted();
      this.#judge.failed(call, error);
      throw error;
    }
    if (life.isDead) await aborted();
    this.#judge.delivered(call, answer, bytes.all.toString());
    return bytes.all;
  }
}

/** Rejects with the signal's reason when it aborts; without a signal, never settles. */
function aborted(signal?: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
