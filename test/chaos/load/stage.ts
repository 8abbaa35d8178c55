/**
 * What every scenario plays on: the service as its own process on a store of its own, a simulated upstream in
 * this process, and load clients in theirs. All of it is gone when the stage is.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Simulator, startSimulator } from "../../../simulator/index.ts";
import { freePorts, Service } from "../service.ts";
import { type Gauges, readGauges } from "./gauges.ts";
import type { Opening } from "./load-clients.ts";
import { LoadClientsProcess } from "./load-clients-process.ts";

const PROJECT = fileURLToPath(new URL("../../..", import.meta.url));
export interface LoadOptions {
  /** The number of viewers that cause the load; each scenario also has healthy viewers. */
  viewers: number;
  /** From how many different places the viewers of a storm resume. */
  places: number;
  /** The number of viewers of a stop that take nothing. */
  stuck: number;
  /** A storm that follows a `kill -9`. */
  restart: boolean;
}

/** As shipped, but that polls may be frequent: delays then show the service rather than its waits. */
const SETTINGS = {
  RELAY_GATE_SPACING_MS: "10",
  RELAY_POLL_MIN_MS: "100",
};
/** Said at once while a room is filled: one answer of the upstream. */
const FILLING = 500;

/** A room whose messages are counted: each action said is one. */
export interface CountedRoom {
  readonly videoId: string;
  /** The cursor before the first message. */
  readonly base: number;
  /** The cursor of the last message said. */
  head(): number;
  /** Says generated messages at a rate, until stopped. */
  speak(perSecond: number): { stop(): void };
  /** Says this many messages at once, and waits until the service has requested them. */
  fill(messages: number): Promise<void>;
}

export class Stage implements AsyncDisposable {
  readonly upstream: Simulator;
  /** Runs; may be killed and started again. */
  readonly service: Service;
  readonly #owned: AsyncDisposableStack;

  static async open(): Promise<Stage> {
    await using owned = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), "relay-load-"));
    owned.defer(() => rm(folder, { recursive: true }));
    const upstream = owned.use(await startSimulator());
    const [port = 0] = await freePorts(1);
    const settings = {
      ...SETTINGS,
      RELAY_STORE: `sqlite:${join(folder, "relay.db")}`,
      RELAY_UPSTREAM_URL: upstream.urls.main,
      RELAY_UPSTREAM_MUSIC_URL: upstream.urls.music,
      RELAY_UPSTREAM_MOBILE_URL: upstream.urls.mobile,
    } satisfies Record<string, string>;
    const service = owned.use(new Service({ projectDir: PROJECT, port, settings }));
    await service.start();
    return new Stage(upstream, service, owned.move());
  }

  private constructor(upstream: Simulator, service: Service, owned: AsyncDisposableStack) {
    this.upstream = upstream;
    this.service = service;
    this.#owned = owned;
  }

  /** A clients in a process of its own. */
  clients(): LoadClientsProcess {
    return this.#owned.use(new LoadClientsProcess());
  }

  gauges(): Promise<Gauges> {
    return readGauges(this.service.url);
  }

  /** How many bootstraps the upstream has seen, for whatever room: each begins with the credentials. */
  get bootstraps(): number {
    return this.upstream.requests.filter(({ kind }) => kind === "sw.js").length;
  }

  /** A room that polls at the given interval, opened by this number of load clients before any message. */
  async room(
    videoId: string,
    everyMs: number,
    clients: LoadClientsProcess,
    opening: Pick<Opening, "viewers" | "details">,
  ): Promise<CountedRoom> {
    const chat = this.upstream.chat(videoId, { kinds: ["text"], timeoutMs: everyMs });
    const base = await clients.tell("open", { service: this.service.url, videoId, withinMs: 0, ...opening });
    assert.ok(base > 0, `the room of ${videoId} did not open`);
    return {
      videoId,
      base,
      head: () => base + chat.ledger.length,
      speak: (perSecond) => chat.speak(perSecond),
      fill: async (messages) => {
        for (let left = messages; left > 0; left -= FILLING) {
          const polled = this.upstream.requested("get_live_chat", { videoId, finished: true });
          chat.say(Math.min(left, FILLING));
          await polled;
        }
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
