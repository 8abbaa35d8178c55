/**
 * The memory that a server's process keeps once its garbage is collected: what its readers really cost. Until
 * then, memory depends on the engine's last collection. Node's inspector makes the collections.
 */
import { setTimeout as pause } from "node:timers/promises";
import { freePorts } from "../../test/chaos/service.ts";
import { residentBytes } from "./rounds.ts";
import type { Served } from "./servers.ts";

const COLLECTIONS = 3;
/** Time in which the engine gives free pages back to the system. */
const GIVEN_BACK_MS = 3000;

export interface Inspected<Server extends Served> {
  server: Server;
  /** The resident memory in bytes after full collections. Takes some seconds. */
  keptBytes(): Promise<number>;
}

/** Starts a server that runs on Node.js with its inspector. */
export async function inspected<Server extends Served>(
  start: () => Promise<Server>,
): Promise<Inspected<Server>> {
  const [port = 0] = await freePorts(1);
  const { NODE_OPTIONS: own = "" } = process.env;
  process.env.NODE_OPTIONS = `${own} --inspect=127.0.0.1:${port} --inspect-publish-uid=http`;
  try {
    const server = await start();
    return { server, keptBytes: () => keptBytes(server.pid, port) };
  } finally {
    process.env.NODE_OPTIONS = own;
  }
}

async function keptBytes(pid: number, port: number): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/json`);
  const [target] = (await answer.json()) as { webSocketDebuggerUrl: string }[];
  const inspector = new WebSocket(`${target?.webSocketDebuggerUrl}`);
  const heard = (event: "open" | "message") =>
    new Promise((resolve) => inspector.addEventListener(event, resolve, { once: true }));
  await heard("open");
  for (let id = 1; id <= COLLECTIONS; id++) {
    inspector.send(JSON.stringify({ id, method: "HeapProfiler.collectGarbage" }));
    await heard("message");
  }
  inspector.close();
  await pause(GIVEN_BACK_MS);
  return residentBytes(pid);
}
