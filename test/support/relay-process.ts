/** The service as a process of its own, begun as `npm start` does, on a port of its own. */
import { fileURLToPath } from "node:url";
import type { Simulator } from "../../simulator/index.ts";
import type { SettingName } from "../../src/cli/setting-table.ts";
import { freePorts, Service } from "../chaos/service.ts";
import { testEnvironment } from "./relay.ts";

/** Resolves once it listens. */
export async function startProcess(
  upstream: Simulator,
  settings: Partial<Record<SettingName, string>>,
): Promise<Service> {
  const [port = 0] = await freePorts(1);
  const projectDir = fileURLToPath(new URL("../..", import.meta.url));
  const relay = new Service({ projectDir, port, settings: testEnvironment(upstream, settings) });
  await relay.start();
  return relay;
}
