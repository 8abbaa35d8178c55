/**
 * Reads the raw actions of a chat answer or page into messages, in their order. Never throws, and changes nothing of
 * what the upstream sent: what gives no message is counted by its kind, a reader that fails is reported as a bug of
 * ours, and the rest goes on.
 */

import { asArray, asNumber, asObject, dig, type JsonObject, omitUndefined } from "../../json.ts";
import type { Message } from "../../protocol/message.ts";
import type { DroppedActions, ReaderBug } from "../../telemetry/telemetry.ts";
import { NO_PANELS, type OpenPanels } from "./panels.ts";
import { type ActionTime, BrokenItem, type Context, type Item, type Outcome, type Reader } from "./reader.ts";
import { READERS } from "./table.ts";
import { cut } from "./text.ts";
import { timeOfDay } from "./timestamp.ts";

const MAX_KIND_LENGTH = 100;
const MAX_SAMPLE_LENGTH = 1000;
/** Kinds counted by name in one call; what comes beyond is counted together. */
const MAX_KINDS = 50;
const OTHER_KINDS = "(other kinds)";

export interface ActionContext {
  /** Wall time of the receipt, in milliseconds since 1970. */
  receivedAt: number;
  /** IANA name of the zone in which live times are shown. */
  timezone: string;
  /** The polls that earlier answers left open; none by default. */
  panels?: OpenPanels | undefined;
}

export type Reading = Omit<Collector, "take">;

export function readActions(actions: readonly unknown[], context: ActionContext): Reading {
  const { receivedAt, timezone, panels = NO_PANELS } = context;
  const reading = new Collector(panels);
  const now: ActionTime = { receivedAt, timeOfDay: timeOfDay(timezone), offsetMs: undefined };
  for (const action of actions) {
    const replayed = asObject(dig(action, "replayChatItemAction"));
    const inner = asArray(replayed?.actions);
    if (!inner) {
      reading.take(action, now);
      continue;
    }
    const then = { ...now, offsetMs: asNumber(replayed?.videoOffsetTimeMsec) };
    for (const one of inner) reading.take(one, then);
  }
  return reading;
}

class Collector {
  readonly items: Item[] = [];
  /** By kind: the renderer's key of a chat item, else the action's. */
  readonly dropped = new Map<string, DroppedActions>();
  /** Actions on which a reader failed. */
  readonly bugs: ReaderBug[] = [];
  /** The polls that are open now. */
  panels: OpenPanels;

  constructor(panels: OpenPanels) {
    this.panels = panels;
  }

  take(action: unknown, moment: ActionTime): void {
    try {
      const place = { ...moment, around: {}, panels: this.panels };
      const { kind, item, panels = this.panels } = readNamed(action, "(no action)", place);
      this.panels = panels;
      if (typeof item === "string") this.#drop(kind, item, action);
      else this.items.push(item);
    } catch (error) {
      const kind = cut(namedIn(action)?.kind ?? "(no action)", MAX_KIND_LENGTH);
      this.bugs.push({ kind, error, sample: sampleOf(action) });
    }
  }

  #drop(kind: string, reason: DroppedActions["reason"], action: unknown): void {
    const name = cut(kind, MAX_KIND_LENGTH);
    const key = this.dropped.has(name) || this.dropped.size < MAX_KINDS - 1 ? name : OTHER_KINDS;
    const counted = this.dropped.get(key);
    if (counted) counted.count++;
    else this.dropped.set(key, { reason, count: 1, sample: sampleOf(action) });
  }
}

/** Reads what stands in the holder under its name; what holds nothing is counted as the holder itself. */
function readNamed(
  holder: unknown,
  holderKind: string,
  place: Omit<Context, "read">,
): Outcome & { kind: string } {
  const { kind, body } = namedIn(holder) ?? { kind: holderKind };
  const reader = READERS.get(kind);
  if (!body) return { kind, item: "broken" };
  if (!reader) return { kind, item: "unknown" };
  if (reader === "silent") return { kind, item: "silent" };
  const read: Context["read"] = (inside, around = {}) =>
    readNamed(inside, kind, { ...place, around: { ...place.around, ...omitUndefined(around) } });
  try {
    const outcome = toOutcome(reader(body, { ...place, read }));
    const { item } = outcome;
    // What only holds another kind gives that one's outcome, which is complete.
    if (outcome.kind !== undefined || typeof item === "string") return { kind, ...outcome };
    return { ...outcome, kind, item: { message: withOrigin(item.message, kind, place) } };
  } catch (error) {
    if (error instanceof BrokenItem) return { kind, item: "broken" };
    throw error;
  }
}

function toOutcome(result: ReturnType<Reader>): Outcome {
  if (typeof result === "string") return { item: result };
  return "item" in result ? result : { item: { message: result } };
}

function withOrigin<M extends Message>(message: M, upstreamKind: string, { offsetMs }: ActionTime): M {
  const offset = offsetMs === undefined ? {} : { offsetMs };
  return { ...message, details: { ...message.details, ...offset, upstreamKind } };
}

/**
 * The one thing that the wire's objects hold under its name. Beside it can stand `clickTrackingParams` and the
 * like, in any order; so a known name comes first, then one that looks like a name, then any object.
 */
function namedIn(holder: unknown): { kind: string; body: JsonObject | undefined } | undefined {
  const object = asObject(holder);
  if (!object) return undefined;
  const keys = Object.keys(object);
  const kind =
    keys.find((key) => READERS.has(key)) ??
    keys.find((key) => /(?:Action|Command|Renderer|Model)$/.test(key)) ??
    keys.find((key) => asObject(object[key]));
  return kind === undefined ? undefined : { kind, body: asObject(dig(object, kind)) };
}

function sampleOf(action: unknown): string {
  try {
    return cut(String(JSON.stringify(action)), MAX_SAMPLE_LENGTH);
  } catch {
    // Nested too deep to be written.
    return "";
  }
}
