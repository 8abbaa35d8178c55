/**
 * A worker: a process that serves viewers on the port of its service, as an edge of the first process. It
 * ends with the first process, and leaves signals to it.
 */
import { collectDefaultMetrics } from "prom-client";
import { systemClock } from "../../base/clock.ts";
import { messageOf } from "../../base/error-message.ts";
import { completeMaps } from "../../base/maps.ts";
import type { Subjects } from "../../http/access/viewer-places.ts";
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

/** The places of subjects are taken at the first process, which counts those of all. */
class FirstSubjects implements Subjects {
  readonly #asked = new Map<number, (isTaken: boolean) => void>();
  #lastId = 0;

  async take(subject: string, most: number): Promise<(() => void) | undefined> {
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#asked.set(id, resolve);
    send({ kind: "take", id, subject, most });
    return (await promise) ? () => send({ kind: "giveBack", id }) : undefined;
  }

  answered(id: number, isTaken: boolean): void {
    this.#asked.get(id)?.(isTaken);
    this.#asked.delete(id);
  }
}

const subjects = new FirstSubjects();

async function start(name: string, config: EdgeConfig): Promise<Started> {
  const log = createLogger(config.logLevel, process.stdout).child({ worker: name });
  const telemetry = new Telemetry(log);
  collectDefaultMetrics({ register: telemetry.registry });
  const service = await startEdge(config, { clock: systemClock, telemetry, subjects });
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
  const why = messageOf(error);
  return new Promise(() => send({ kind: "refused", why }, () => process.exit(1)));
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"] as const) process.on(signal, () => {});
process.on("disconnect", () => process.exit(1));

let started: Promise<Started> | undefined;
process.on("message", async (message: ToWorker) => {
  if (message.kind === "taken") return subjects.answered(message.id, message.isTaken);
  if (message.kind === "start") started = start(message.name, message.config).catch(refuse);
  const worker = await started;
  if (message.kind === "ask" && worker)
    send({ kind: "report", id: message.id, report: await worker.report() });
  if (message.kind === "stop") {
    await worker?.stop();
    process.exit(0);
  }
});
