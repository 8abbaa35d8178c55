/**
 * `/healthz`, `/readyz` and `/metrics`, for an operator's monitoring, outside the versioned API. Edges read
 * `/healthz`, too: whether their origin answers, and whether it blanks deleted messages.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { FastifyInstance } from "fastify";
import { SharedWork } from "../base/shared-work.ts";
import type { Rooms } from "../rooms/rooms.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { clientGone } from "./connections/client-gone.ts";

/** If the event loop is this late, viewers wait, and another instance should serve the new ones. */
const UNSOUND_LAG_MS = 1000;
/** The lateness is that of the current window or of the one before, however often somebody asks. */
const LAG_WINDOW_MS = 5000;

/** The other processes of this service, which share its port. */
export interface ProcessGroup {
  /** The reasons why the other processes should get no new viewers. */
  unreadiness(): Promise<string[]>;
  /** The metrics of all processes, this one included, as text. */
  metrics(): Promise<string>;
}

interface Health {
  rooms: Rooms;
  telemetry: Telemetry;
  /** Undefined if this process shares its port with no other. */
  group: ProcessGroup | undefined;
  /** Whether deleted messages are blanked, which edges must know. */
  isBlanking(): boolean;
  /** Whether the metrics are served, too. */
  hasMetrics: boolean;
}

export function healthRoutes(
  app: FastifyInstance,
  { rooms, telemetry, group, isBlanking, hasMetrics }: Health,
): void {
  const lag = monitorEventLoopDelay({ resolution: 20 });
  const lateMs = () => lag.percentile(99) / 1e6;
  lag.enable();
  let lastLateMs = 0;
  const windows = setInterval(() => {
    lastLateMs = lateMs();
    lag.reset();
  }, LAG_WINDOW_MS).unref();
  app.addHook("onClose", async () => {
    clearInterval(windows);
    lag.disable();
  });

  app.get("/healthz", async () => ({ status: "alive", ...(isBlanking() && { deleted: "blank" }) }));

  const readiness = new SharedWork<string[]>();
  const check = async () => [...(await rooms.unreadiness()), ...((await group?.unreadiness()) ?? [])];
  app.get("/readyz", async (_request, reply) => {
    const lagMs = Math.max(lateMs(), lastLateMs);
    const reasons = [...(await readiness.run("", check, clientGone(reply.raw)))];
    if (lagMs > UNSOUND_LAG_MS) reasons.push(`the event loop is ${Math.round(lagMs)} ms late`);
    return reply.code(reasons.length > 0 ? 503 : 200).send({ ready: reasons.length === 0, reasons });
  });

  if (!hasMetrics) return;
  const texts = new SharedWork<Buffer>();
  const write = async () => Buffer.from(await (group?.metrics() ?? telemetry.registry.metrics()));
  app.get("/metrics", async (_request, reply) => {
    reply.type(telemetry.registry.contentType);
    return await texts.run("", write, clientGone(reply.raw));
  });
}
