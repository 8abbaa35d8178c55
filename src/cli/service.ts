/** The service put together: store, upstream, rooms and HTTP, started in this order and stopped in the reverse. */
import { isIPv6 } from "node:net";
import type { Clock } from "../clock.ts";
import { createServer } from "../http/server.ts";
import { recordChat } from "../rooms/recorder.ts";
import { openStore, StoreOpenError } from "../store/open.ts";
import { runRetention } from "../store/retention.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { directEgress } from "../upstream/egress/egress.ts";
import type { Config } from "./config.ts";
import { assembleRelay } from "./relay.ts";

/** Connections that wait to be taken when all viewers come back at once; the system may allow fewer. */
const LISTEN_BACKLOG = 4096;

export interface Service {
  /** Where it listens, without a trailing slash. */
  url: string;
  /** Ends it gracefully: no new viewers, everything durable, every stream ended cleanly. */
  stop(): Promise<void>;
  /** Resolves if the store is lost for good, which was logged: the service has to be stopped, and the process to fail. */
  lost: Promise<Error>;
}

/**
 * Rejects with an error whose message is one clear line where the store cannot be opened or the port is taken, and
 * with the reason of `stopped` where that aborts before the service listens.
 */
export async function startService(
  config: Config,
  clock: Clock,
  telemetry: Telemetry,
  stopped?: AbortSignal,
): Promise<Service> {
  const egress = directEgress(config.gate, clock, telemetry); // first: what it refuses must leave nothing open
  const store = await openStore(config.storeUrl, clock, telemetry, config.shared).catch((error) => {
    throw error instanceof StoreOpenError
      ? new Error(`RELAY_STORE: ${error.message}`, { cause: error })
      : error;
  });
  const { calls, liveChat, rooms } = assembleRelay({ config, store, egress, clock, telemetry });
  const app = await createServer({ rooms, liveChat, telemetry, clock }, config.http);
  const background = new AbortController();

  const stop = async () => {
    background.abort();
    if (store.peers) await rooms.leave(config.drainMs);
    // Readiness goes off first; it can be asked for until the last stream has ended.
    await rooms.stop();
    await calls.close();
    await app.close();
    await store.close();
  };
  try {
    if (config.restored) telemetry.cursorsMoved(await store.moveCursors());
    await rooms.resume();
    stopped?.throwIfAborted();
    const { host, port, reusePort } = config;
    const listening = { host, port, reusePort, backlog: LISTEN_BACKLOG }; // passed on to Node as it is
    await app.listen(listening);
  } catch (error) {
    await stop();
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === undefined) throw error;
    throw new Error(
      `cannot listen on ${config.host} port ${config.port} (${code}): choose others by RELAY_HOST and RELAY_PORT, or --host and --port`,
    );
  }
  void runRetention(store, config.retentionDays, clock, telemetry, background.signal);
  const recording = { rooms, store, clock, telemetry };
  for (const videoId of config.record) void recordChat(videoId, recording, background.signal);
  const address = app.server.address();
  const port = typeof address === "object" && address ? address.port : config.port;
  return {
    url: `http://${isIPv6(config.host) ? `[${config.host}]` : config.host}:${port}`,
    stop,
    lost: store.lost,
  };
}
