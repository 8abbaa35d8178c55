/**
 * One instance of the service: its process, its clock, its line to the database, and its lines to the
 * upstream.
 */
import type { Simulator } from "../../../simulator/index.ts";
import { Line } from "../line.ts";
import { Service } from "../service.ts";
import { UpstreamLines } from "../upstream-lines.ts";
import { shiftedClock } from "./clocks.ts";
import type { Postgres } from "./postgres.ts";

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
  readonly upstream: UpstreamLines;

  static async create(options: InstanceOptions, postgres: Postgres, upstream: Simulator): Promise<Instance> {
    const lines = await UpstreamLines.to(upstream, options.address);
    return new Instance(options, postgres, await Line.to(postgres.port), lines);
  }

  private constructor(
    { projectDir, port, settings, clock, address }: InstanceOptions,
    postgres: Postgres,
    database: Line,
    upstream: UpstreamLines,
  ) {
    this.address = address;
    this.database = database;
    this.upstream = upstream;
    const store = postgres.url.replace(`:${postgres.port}/`, `:${database.port}/`);
    this.service = new Service({
      projectDir,
      port,
      settings: { ...settings, ...shiftedClock(clock), RELAY_STORE: store, ...upstream.settings },
    });
  }

  get isUp(): boolean {
    return this.service.pid !== undefined;
  }

  /** Redirects its line to another server. */
  leadTo({ port }: Postgres): void {
    this.database.leadsTo = port;
    this.database.cut();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service.close();
    await this.database[Symbol.asyncDispose]();
    await this.upstream[Symbol.asyncDispose]();
  }
}
