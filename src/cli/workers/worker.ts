/**
 * A worker: a process that serves viewers on the port of its service, as an edge of the first process. It
 * ends with the first process, and leaves signals to it.
 */
import { collectDefaultMetrics } from "prom-client";
import { systemClock } from "../../base/clock.ts";
import { completeMaps } from "../../base/upsert.ts";
import { createLogger } from "../../telemetry/logger.ts";
import { Telemetry } from "../../telemetry/telemetry.ts";
import type { EdgeConfig } from "../config.ts";
import { startEdge } from "../edge-service.ts";
import type { FromWorker, ToWorker, WorkerReport } from "./worker-messages.ts";

completeMaps();

interface Started {
  report(): Promise<WorkerReport>;
  stop(): Promise<void>;
}

async function start(name: string, config: EdgeConfig): Promise<Started> {
  const log = createLogger(config.logLevel, process.stdout).child({ worker: name });
  const telemetry = new Telemetry(log);
  collectDefaultMetrics({ register: telemetry.registry });
  const service = await startEdge(config, systemClock, telemetry);
  send({ kind: "listening" });
  return {
    report: async () => ({
      reasons: await service.unreadiness(),
      metrics: await telemetry.registry.getMetricsAsJSON(),
    }),
    stop: () => service.stop(),
  };
}

function send(message: FromWorker, sent = () => {}): void {
  process.send?.(message, sent); // the first process may have ended
}

/** Ends this process. The first one logs why. */
function refuse(error: unknown): Promise<never> {
  const why = error instanceof Error ? error.message : String(error);
  return new Promise(() => send({ kind: "refused", why }, () => process.exit(1)));
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"] as const) process.on(signal, () => {});
process.on("disconnect", () => process.exit(1));

let started: Promise<Started> | undefined;
process.on("message", async (message: ToWorker) => {
  if (message.kind === "start") started = start(message.name, message.config).catch(refuse);
  const worker = await started;
  if (message.kind === "ask" && worker)
    send({ kind: "report", id: message.id, report: await worker.report() });
  if (message.kind === "stop") {
    await worker?.stop();
    process.exit(0);
  }
});
