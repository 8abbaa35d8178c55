/** The flags of `edge`: the origin, and the settings of `serve` that concern viewers. */
import { OF_EDGE, SETTINGS, type SettingName } from "./config.ts";

const SHARED = [
  "RELAY_HOST",
  "RELAY_PORT",
  "RELAY_GRACE_MS",
  "RELAY_DELETED",
  "RELAY_TRUST_PROXY",
  "RELAY_LOG_LEVEL",
  "RELAY_MAX_VIEWERS",
  "RELAY_MAX_VIEWERS_PER_ADDRESS",
  "RELAY_MAX_ROOMS",
  "RELAY_FRAME_ANCESTORS",
  "RELAY_ROOMS",
  "RELAY_COMPRESSION",
  "RELAY_KEEPALIVE_MS",
  "RELAY_WORKERS",
  "RELAY_REUSE_PORT",
] as const satisfies SettingName[];

const shared = Object.fromEntries(SHARED.map((name) => [name, SETTINGS[name]])) as Pick<
  typeof SETTINGS,
  (typeof SHARED)[number]
>;

export const EDGE_FLAGS = { ...OF_EDGE, ...shared };
