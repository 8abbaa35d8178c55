/** `serve`: runs the relay. It shares `startConfigured` with `demo`, and `startLogged` with `edge`, too. */
import { totalmem } from "node:os";
import { collectDefaultMetrics } from "prom-client";
import { WATCH_FLAGS } from "../../terminal/reader/reader-flags.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { createLogger } from "../telemetry/logger.ts";
import { Telemetry } from "../telemetry/telemetry.ts";
import { type Config, toConfig } from "./config.ts";
import { changedIn, type Input, unknownVariables, variablesIn } from "./flags.ts";
import type { ProcessIo } from "./process-io.ts";
import { type Service, startService } from "./service.ts";
import { ALL_SETTINGS, OF_EDGE, type SETTINGS } from "./setting-table.ts";

type ServeInput = Input<typeof SETTINGS>;

/**
 * What a process keeps of its open files for the store, upstream connections, the log and the runtime: half
 * of them, within these bounds.
 */
const RESERVED_FILES = { least: 64, most: 200 };
/** The part of the connections that viewers leave to other requests. */
const OTHER_REQUESTS = 0.1;

/** Rejects like `startService`. */
export function serve(input: ServeInput, io: ProcessIo, stopped: AbortSignal): Promise<Service> {
  const warnings = variablesIn(OF_EDGE, io.env).map(
    (name) => `serve does not use ${name}: it is for livechat-relay edge`,
  );
  return startConfigured(toConfig(input.values), input, io, stopped, warnings);
}

/** As `startLogged`, for a service. */
export function startConfigured(
  config: Config,
  input: Pick<ServeInput, "settings">,
  io: ProcessIo,
  stopped: AbortSignal,
  warnings: readonly string[] = [],
): Promise<Service> {
  return startLogged(startService, config, input, io, stopped, warnings);
}

interface Logged {
  logLevel: Config["logLevel"];
  /** The number of processes, among which the viewers are divided. */
  workers: number;
  rooms: { maxViewers: number; maxRooms: number };
  http: { maxConnections: number };
}

/**
 * Starts a service or an edge, and logs its URL, what runs, and warnings about its settings, with those of
 * the command.
 * Rejects like `start`.
 */
export async function startLogged<C extends Logged>(
  start: (config: C, clock: Clock, telemetry: Telemetry, stopped: AbortSignal) => Promise<Service>,
  config: C,
  input: Pick<ServeInput, "settings">,
  { env, stdout }: ProcessIo,
  stopped: AbortSignal,
  warnings: readonly string[],
): Promise<Service> {
  const log = createLogger(config.logLevel, stdout);
  const telemetry = new Telemetry(log);
  collectDefaultMetrics({ register: telemetry.registry });
  const { workers } = config;
  const { files, connections, maxConnections, wanted, viewers } = openFilesFor(config);
  const lowered = {
    ...config,
    rooms: { ...config.rooms, maxViewers: Math.ceil(viewers / workers) },
    http: { ...config.http, maxConnections },
  };
  const limits = { files, connections, viewers };
  telemetry.service.limits(limits);
  const service = await start(lowered, systemClock, telemetry, stopped);
  telemetry.service.listening(service.url);
  const systemd = env.NOTIFY_SOCKET
    ? (await import("./systemd.ts")).systemdOf(env, (why) => telemetry.service.systemdDeaf(why))
    : undefined;
  systemd?.ready();
  const running = { store: service.store, workers, settings: changedIn(input) };
  const others = { rooms: config.rooms.maxRooms, memoryBytes: memoryBytes() };
  telemetry.service.started({ ...running, limits: { ...limits, ...others } }, viewers < wanted);
  // The variables of another command are not mistakes.
  const unknown = unknownVariables({ ...ALL_SETTINGS, ...WATCH_FLAGS }, env);
  for (const line of [...warnings, ...unknown]) log.warn(line);
  const stop = async () => {
    log.info({ signal: stopped.reason }, "stopping");
    systemd?.stopping();
    await service.stop();
    log.info("stopped");
    await new Promise<void>((resolve) => log.flush(() => resolve()));
  };
  return { ...service, stop };
}

/** What the limit of open files allows: `files` and `maxConnections` are those of each process. */
export function openFilesFor({ workers, rooms }: Pick<Logged, "workers" | "rooms">) {
  const files = openFileLimit();
  const maxConnections = connectionsWithin(files);
  const wanted = rooms.maxViewers;
  const viewers = Math.min(wanted, workers * Math.ceil(maxConnections * (1 - OTHER_REQUESTS)));
  return { files, maxConnections, connections: workers * maxConnections, wanted, viewers };
}

/** The number of connections that a process with this limit of open files may have. */
export function connectionsWithin(files: number): number {
  const { least, most } = RESERVED_FILES;
  return Math.max(1, files - Math.min(most, Math.max(least, Math.floor(files / 2))));
}

/** What the process may use: its control group's limit, or the machine's memory. */
function memoryBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** The limit of each process; Infinity if the system reports none. */
function openFileLimit(): number {
  if (!process.report) return Number.POSITIVE_INFINITY;
  Object.assign(process.report, { excludeNetwork: true }); // listing the network interfaces can take seconds
  const report: { userLimits?: { open_files?: { soft?: unknown } } } = process.report.getReport();
  const soft = Number(report.userLimits?.open_files?.soft);
  return Number.isFinite(soft) && soft > 0 ? soft : Number.POSITIVE_INFINITY;
}
