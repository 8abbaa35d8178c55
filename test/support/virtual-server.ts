/**
 * A whole service in virtual time, its HTTP server included: clients connect in memory, and the upstream is
 * simulated. It keeps no journal, as `VirtualRelay` does: so all that it keeps of many clients is the
 * product's own.
 */
import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import type { FastifyInstance } from "fastify";
import { type InProcessSimulator, simulateInProcess } from "../../simulator/index.ts";
import { Random } from "../../simulator/random.ts";
import { createServer } from "../../src/http/server.ts";
import { Featuring } from "../../src/rooms/featuring.ts";
import { Recordings } from "../../src/rooms/recordings/recordings.ts";
import { History } from "../../src/serving/history/history.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import type { Connections } from "../../src/upstream/egress/connections.ts";
import { Life } from "../harness/life.ts";
import { Scheduler } from "../harness/scheduler.ts";
import { inMemory } from "../harness/storage.ts";
import { configOf, type VirtualRelayOptions } from "../harness/virtual-relay.ts";
import { recorderOf } from "./recorder-parts.ts";

/** The upstream's latency, and the step in which time advances for answers, in virtual milliseconds. */
const LATENCY_MS = 20;
const STEP_MS = 20;
/** Every request is answered within this virtual time. */
const LIMIT_MS = 120_000;
/** Turns of the event loop in which an answer comes that waits for no time, but perhaps for a thread. */
const TURNS = 20;

export class VirtualServer {
  readonly app: FastifyInstance;
  readonly clock: Scheduler;
  readonly upstream: InProcessSimulator;

  static async start(settings: VirtualRelayOptions["settings"] = {}): Promise<VirtualServer> {
    const clock = new Scheduler(new Random(1, "time"));
    const upstream = simulateInProcess({ seed: 1, clock, keepRequests: 10 });
    const config = configOf(upstream, settings);
    const telemetry = new Telemetry(silentLog);
    const network = { connectionsOf: () => connectionsTo(upstream, clock) };
    const life = new Life({ config, scheduler: clock, network, storage: inMemory(), telemetry });
    const { rooms, channels, videoChannels, list, egresses, store } = life;
    const { recorded } = life;
    const own = { rooms, channels, recorded, store, egresses, clock: life.clock, telemetry };
    const recording = recorderOf({ ...own, config });
    const source = {
      featuring: new Featuring(store),
      list,
      history: new History(store, life.clock),
      recordings: new Recordings([], recording, new AbortController().signal),
      egresses,
    };
    const isBlanking = () => false;
    const served = { rooms, channels, videoChannels, telemetry, clock: life.clock, source, isBlanking };
    const app = await createServer(served, config.http);
    await app.ready();
    return new VirtualServer(app, clock, upstream);
  }

  private constructor(app: FastifyInstance, clock: Scheduler, upstream: InProcessSimulator) {
    this.app = app;
    this.clock = clock;
    this.upstream = upstream;
  }

  /** A client that sends this, and reads what it is answered. */
  connect(request: string): VirtualConnection {
    const connection = new VirtualConnection();
    this.app.server.emit("connection", connection);
    connection.push(request);
    return connection;
  }

  /** Advances virtual time until each of these has the beginning of its answer, or is closed. */
  async answered(connections: readonly VirtualConnection[]): Promise<void> {
    const wait = () => connections.some(({ isAnswered }) => !isAnswered);
    for (let ms = 0; wait(); ms += STEP_MS) {
      assert.ok(ms < LIMIT_MS, "a request is not answered");
      for (let turn = 0; turn < TURNS && wait(); turn++)
        await new Promise((resolve) => setImmediate(resolve));
      if (wait()) await this.clock.advance(STEP_MS);
    }
  }
}

/** The service's side of a connection, with what Node's server and the product use of a socket. */
class VirtualConnection extends Duplex {
  readonly remoteAddress = "127.0.0.1";
  /** What it has been answered, as text. */
  answer = "";

  /** Whether its answer has begun, or none can come any more. */
  get isAnswered(): boolean {
    return this.answer !== "" || this.destroyed;
  }

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: string, written: () => void): void {
    this.answer += bytes;
    written();
  }

  setTimeout(): this {
    return this;
  }

  destroySoon(): void {
    this.end(() => this.destroy());
  }

  resetAndDestroy(): this {
    return this.destroy();
  }
}

function connectionsTo(upstream: InProcessSimulator, clock: Scheduler): Connections {
  return {
    open: async () => {},
    request: async (request, signal) => {
      const { status, header, body } = await upstream.exchange({ ...request, from: "service" }, signal);
      await clock.sleep(LATENCY_MS, signal);
      return { status, header, body: async () => Buffer.concat(await Array.fromAsync(body)) };
    },
    close: async () => {},
  };
}
