/** `serve`: runs the relay. It shares `startConfigured` with `demo`, and `startLogged` with `edge`, too. */
import { totalmem } from "node:os";
import { collectDefaultMetrics } from "prom-client";
import { WATCH_FLAGS } from "../../terminal/reader/reader-flags.ts";
import { systemClock } from "../base/clock.ts";
import { createLogger } from "../telemetry/logger.ts";
import { Telemetry } from "../telemetry/telemetry.ts";
import { type Config, toConfig } from "./config.ts";
import { changedIn, type Input, unknownVariables, variablesIn } from "./flags.ts";
import { openFilesFor } from "./open-files.ts";
import type { ProcessIo } from "./process-io.ts";
import { type Service, type StartParts, startService } from "./service.ts";
import { ALL_SETTINGS, OF_EDGE, type SETTINGS } from "./setting-table.ts";

type ServeInput = Input<typeof SETTINGS>;

/** Throws like `toConfig`, and rejects like `startService`. */
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
 * the command. Rejects like `start`.
 */
export async function startLogged<C extends Logged>(
  start: (config: C, parts: StartParts) => Promise<Service>,
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
  const service = await start(lowered, { clock: systemClock, telemetry, stopped });
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

/** What the process may use: its control group's limit, or the machine's memory. */
function memoryBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
