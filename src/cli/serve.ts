/** `serve`: runs the relay until SIGTERM or SIGINT. */
import { collectDefaultMetrics } from "prom-client";
import { systemClock } from "../clock.ts";
import { createLog } from "../telemetry/log.ts";
import { Telemetry } from "../telemetry/telemetry.ts";
import { readSettings, toConfig } from "./config.ts";
import { lowerViewerLimit } from "./open-files.ts";
import { type Service, startService } from "./service.ts";

export async function serve(args: readonly string[]): Promise<void> {
  const config = toConfig(readSettings(args, process.env).texts);
  const log = createLog(config.logLevel);
  const telemetry = new Telemetry(log);
  collectDefaultMetrics({ register: telemetry.registry });
  config.rooms.maxViewers = lowerViewerLimit(config.rooms.maxViewers, log);
  const service = await startService(config, systemClock, telemetry);
  stopOnSignal(service, telemetry);
  telemetry.listening(service.url);
}

/** Stops the service at the first SIGTERM or SIGINT; a second one does not wait. */
export function stopOnSignal(service: Service, { log }: Telemetry): void {
  let stopping = false;
  const stop = async (signal: string) => {
    if (stopping) process.exit(1);
    stopping = true;
    log.info({ signal }, "stopping");
    await service.stop();
    log.info("stopped");
    process.exit(0);
  };
  void service.lost.then(async () => {
    await service.stop();
    process.exit(1);
  });
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => void stop(signal));
}
