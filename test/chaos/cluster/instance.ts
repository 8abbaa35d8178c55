/**
 * One instance of the service: its process, its clock, its line to the database, and its lines to the
 * upstream.
 */
import type { Simulator } from "../../../simulator/index.ts";
import { Line } from "../line.ts";
import { Service } from "../service.ts";
import { shiftedClock } from "./clocks.ts";
import type { Postgres } from "./postgres.ts";

/** Nobody listens there. */
const NOWHERE = 1;

interface InstanceOptions {
  projectDir: string;
  port: number;
  settings: Readonly<Record<string, string>>;
  /** Its clock's error; empty if the clock is right. */
  clock: string;
  /** The address by which the upstream distinguishes it from the others. */
  address: string;
}

export class Instance implements AsyncDisposable {
  readonly service: Service;
  readonly address: string;
  readonly database: Line;
  readonly #upstream: readonly Line[];
  readonly #ports: readonly number[];

  static async create(options: InstanceOptions, postgres: Postgres, upstream: Simulator): Promise<Instance> {
    const { main, music, mobile } = upstream.urls;
    const ports = [main, music, mobile].map((url) => Number(new URL(url).port));
    const lines = await Promise.all(ports.map((port) => Line.to(port, options.address)));
    return new Instance(options, postgres, await Line.to(postgres.port), lines);
  }

  private constructor(
    { projectDir, port, settings, clock, address }: InstanceOptions,
    postgres: Postgres,
    database: Line,
    upstream: readonly Line[],
  ) {
    this.address = address;
    this.database = database;
    this.#upstream = upstream;
    this.#ports = upstream.map(({ leadsTo }) => leadsTo);
    const [main, music, mobile] = upstream.map(({ url }) => url);
    this.service = new Service({
      projectDir,
      port,
      settings: {
        ...settings,
        ...shiftedClock(clock),
        RELAY_STORE: postgres.url.replace(`:${postgres.port}/`, `:${database.port}/`),
        RELAY_UPSTREAM_URL: main ?? "",
        RELAY_UPSTREAM_MUSIC_URL: music ?? "",
        RELAY_UPSTREAM_MOBILE_URL: mobile ?? "",
      },
    });
  }

  get isUp(): boolean {
    return this.service.pid !== undefined;
  }

  /** Its connection to the upstream goes silent or breaks, until it is restored. */
  loseUpstream(how: "silent" | "broken"): void {
    this.#upstream.forEach((line) => {
      if (how === "silent") line.silence();
      else line.leadsTo = NOWHERE;
      if (how === "broken") line.cut();
    });
  }

  findUpstream(): void {
    this.#upstream.forEach((line, n) => {
      line.leadsTo = this.#ports[n] ?? NOWHERE;
      line.speak();
    });
  }

  /** Redirects its line to another server. */
  leadTo({ port }: Postgres): void {
    this.database.leadsTo = port;
    this.database.cut();
  }

  /** Stops it as an operator does. Resolves to its exit code. */
  async stop(): Promise<number | null> {
    this.service.signal("SIGTERM");
    return (await this.service.exited).code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service.close();
    await Promise.all([this.database, ...this.#upstream].map((line) => line[Symbol.asyncDispose]()));
  }
}
