/** A relay in this process against a simulated upstream, both on real sockets, with waits scaled down. */

import { type Simulator, type SimulatorOptions, startSimulator } from "../../simulator/index.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { type Config, toConfig } from "../../src/cli/config.ts";
import { readFlags } from "../../src/cli/flags.ts";
import { type Service, startService } from "../../src/cli/service.ts";
import { SETTINGS, type SettingName } from "../../src/cli/setting-table.ts";
import type { RequestTimeouts } from "../../src/http/connections/create-http-server.ts";
import type { AnswerLimits } from "../../src/http/connections/unread-responses.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import type { Deadlines } from "../../src/upstream/calls.ts";
import { metricOf } from "../harness/metric.ts";
import { eventually } from "./eventually.ts";

/** Fast enough for tests, in the product's own proportions. */
const FAST: Partial<Record<SettingName, string>> = {
  RELAY_PORT: "0",
  RELAY_STORE: "memory:",
  RELAY_GATE_SPACING_MS: "1",
  RELAY_POLL_MIN_MS: "5",
  RELAY_POLL_MAX_MS: "200",
  RELAY_GRACE_MS: "60000",
  RELAY_COOLDOWN_MS: "100",
  RELAY_FAILING_MS: "0",
  RELAY_NO_CHAT_MS: "0",
};

/** No call fails because the machine is busy; a test of a deadline sets its own. */
const DEADLINES: Deadlines = { chatMs: 60_000, pageMs: 60_000 };

export interface TestRelay extends AsyncDisposable {
  url: string;
  upstream: Simulator;
  telemetry: Telemetry;
  service: Service;
}

export interface TestRelayOptions {
  settings?: Partial<Record<SettingName, string>>;
  simulator?: SimulatorOptions;
  /** Goes on with an upstream that outlives this relay. */
  upstream?: Simulator;
  telemetry?: Telemetry;
  clock?: Clock;
  answers?: AnswerLimits;
  maxConnections?: number;
  windowMs?: number;
  deadlines?: Partial<Deadlines>;
  timeouts?: RequestTimeouts;
  /** Stands in front of the upstream's main host. */
  proxy?: { url: string };
}

export function testConfig(upstream: Simulator, settings: TestRelayOptions["settings"] = {}): Config {
  const config = toConfig(readFlags(SETTINGS, [], { ...FAST, ...settings }).values);
  return { ...config, upstream: { ...config.upstream, hosts: upstream.urls } };
}

/** The settings of `testConfig` as environment variables, for a relay in a process of its own. */
export function testEnvironment(upstream: Simulator, settings: TestRelayOptions["settings"] = {}) {
  return {
    ...FAST,
    RELAY_UPSTREAM_URL: upstream.urls.main,
    RELAY_UPSTREAM_MUSIC_URL: upstream.urls.music,
    RELAY_UPSTREAM_MOBILE_URL: upstream.urls.mobile,
    ...settings,
  } satisfies Partial<Record<keyof typeof SETTINGS, string>>;
}

export async function startRelay(options: TestRelayOptions = {}): Promise<TestRelay> {
  await using owned = new AsyncDisposableStack();
  const upstream = options.upstream ?? owned.use(await startSimulator(options.simulator));
  const telemetry = options.telemetry ?? new Telemetry(silentLog);
  const config = testConfig(upstream, options.settings);
  const { windowMs, answers } = { ...config.rooms, ...options };
  Object.assign(config.rooms, { windowMs });
  if (answers) config.http.answers = answers;
  config.http.maxConnections = options.maxConnections ?? config.http.maxConnections;
  config.http.timeouts = options.timeouts ?? config.http.timeouts;
  const { upstream: read } = config;
  const hosts = options.proxy ? { ...read.hosts, main: options.proxy.url } : read.hosts;
  config.upstream = { ...read, hosts, deadlines: { ...DEADLINES, ...options.deadlines } };
  const starting = startService(config, { clock: options.clock ?? systemClock, telemetry });
  const service = owned.adopt(await starting, (started) => started.stop());
  const running = owned.move();
  return {
    url: service.url,
    upstream,
    telemetry,
    service,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** The value of one metric by its name with labels; undefined if it has none yet. */
export function metric(
  { telemetry }: Pick<TestRelay, "telemetry">,
  name: string,
): Promise<number | undefined> {
  return metricOf(telemetry, name);
}

/** Resolves when the metrics show this many rooms in the state. */
export async function roomsIn(relay: TestRelay, state: string, expected = 1): Promise<void> {
  await eventually(expected, () => metric(relay, `relay_rooms{state="${state}"}`));
}
