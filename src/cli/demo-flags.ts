/** The flags of `demo`: its own, and the settings of `serve` that it does not replace. */

import { storeKind } from "../store/port.ts";
import type { Flag } from "./flags.ts";
import { duration, durationIn } from "./setting-readers.ts";
import { SETTINGS } from "./setting-table.ts";

const MAX_RATE = 1000;

/** The settings for which the demo has its own values. */
const { RELAY_STORE, RELAY_UPSTREAM_URL, RELAY_UPSTREAM_MUSIC_URL, RELAY_UPSTREAM_MOBILE_URL, ...SHARED } =
  SETTINGS;
export const REPLACED = {
  RELAY_STORE,
  RELAY_UPSTREAM_URL,
  RELAY_UPSTREAM_MUSIC_URL,
  RELAY_UPSTREAM_MOBILE_URL,
};

/** What a script can do to the demo's stream. */
const ACTS = ["start", "off", "on", "gap", "end", "next"] as const;
export type Act = (typeof ACTS)[number];

/** A step of a script. */
export interface Step {
  /** Milliseconds since the demo's start. */
  afterMs: number;
  act: Act;
}

/** Reads a script such as `10s:start,60s:end`. */
function readScript(text: string): Step[] {
  const steps = text.split(",").filter(Boolean);
  return steps.map((step) => {
    const [time = "", name = ""] = step.trim().split(":");
    const afterMs = durationIn(time);
    const act = ACTS.find((act) => act === name);
    if (afterMs === undefined || !act)
      throw new Error(`steps such as 30s:off,50s:on, each one of ${ACTS.join(", ")}`);
    return { afterMs, act };
  });
}

/** Not `RELAY_STORE`, which in most shells names the store of the real service. */
const store: Flag<string> = {
  default: "memory:",
  meaning: "`sqlite:<path>` keeps the demo's messages, so that it can be killed and started again",
  read: (text) => {
    if (["memory", "file"].includes(storeKind(text) ?? "")) return text;
    throw new Error("`sqlite:<path>` or `memory:`");
  },
};

const capture: Flag<string> = {
  default: "",
  unset: "a generated chat",
  meaning: "file or folder of a captured chat to play",
  read: (path) => path,
};

const rate: Flag<number> = {
  default: "5",
  meaning: "generated messages per second",
  read: (text) => {
    const number = Number(text);
    if (text.trim() !== "" && number > 0 && number <= MAX_RATE) return number;
    throw new Error(`messages per second, above 0 and up to ${MAX_RATE}`);
  },
};

const script: Flag<Step[]> = {
  default: "",
  unset: "the stream is live from the start, and does not end",
  meaning:
    "what happens to the stream, as `time:step`: `start` (it is scheduled until then), `off` and `on` (its chat), `gap` (YouTube's chat fails for 15 s), `end`, `next` (the channel's next stream begins). For example `10s:start,60s:gap,90s:end,100s:next`",
  isList: true,
  read: readScript,
};

const endsAfter: Flag<Step[]> = {
  default: "",
  unset: "it does not end",
  meaning: "the stream ends after this time, such as 60s",
  option: "ends-after",
  read: (text) => (text ? [{ afterMs: duration(text), act: "end" }] : []),
};

export const DEMO_FLAGS = { rate, capture, store, script, endsAfter, ...SHARED };
