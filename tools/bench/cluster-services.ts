/**
 * Instances on one PostgreSQL, as the benches start and end them, and the pauses that an end causes.
 */
import { fileURLToPath } from "node:url";
import type { Simulator } from "../../simulator/index.ts";
import { type Postgres, run } from "../../test/chaos/cluster/postgres.ts";
import { freePorts, Service } from "../../test/chaos/service.ts";

const projectDir = fileURLToPath(new URL("../..", import.meta.url));

/** Creates a schema, and returns the URL by which an instance uses it alone. */
export async function ownSchema({ url }: Postgres, name: string): Promise<string> {
  await run(url, `create schema ${name}`);
  return `${url}?options=${encodeURIComponent(`-c search_path=${name}`)}`;
}

/** Instances that are not started yet; they end with the stack. */
export async function instances(
  count: number,
  store: string,
  { urls }: Simulator,
  stack: AsyncDisposableStack,
  own: Readonly<Record<string, string>>,
): Promise<Service[]> {
  const settings = {
    RELAY_STORE: store,
    RELAY_UPSTREAM_URL: urls.main,
    RELAY_UPSTREAM_MUSIC_URL: urls.music,
    RELAY_UPSTREAM_MOBILE_URL: urls.mobile,
    RELAY_GATE_SPACING_MS: "1",
    RELAY_DRAIN_MS: "500",
    ...own,
  };
  return (await freePorts(count)).map((port) => stack.use(new Service({ projectDir, port, settings })));
}

/** Resolves once its process has ended. */
export async function end(service: Service, how: "stopped" | "killed"): Promise<void> {
  if (how === "killed") return service.close();
  service.signal("SIGTERM");
  await service.exited;
}

/** The longest time between two of these moments, which are in order. */
export function longestPauseMs(moments: readonly number[]): number {
  return Math.max(...moments.slice(1).map((at, n) => at - (moments[n] ?? at)));
}
