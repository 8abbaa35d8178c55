/**
 * Reads the raw actions of a chat answer or page into messages, in their order. Never throws for what the
 * upstream sends, and changes nothing of it: what gives no message is counted by its kind, and the rest goes on.
 */
import type { Message } from "../protocol/message.ts";
import type { DroppedActions } from "../telemetry/telemetry.ts";
import { asArray, asNumber, asObject, dig, type JsonObject } from "./json.ts";
import type { Moment } from "./readers/reader.ts";
import { READERS } from "./readers/table.ts";
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
}

export interface ReadActions {
  messages: Message[];
  /** By kind: the renderer's key of a chat item, else the action's. */
  dropped: Map<string, DroppedActions>;
}

export function readActions(actions: readonly unknown[], context: ActionContext): ReadActions {
  const reading = new Reading();
  const now: Moment = {
    receivedAt: context.receivedAt,
    timeOfDay: timeOfDay(context.timezone),
    offsetMs: undefined,
  };
  for (const action of actions) {
    const replayed = asObject(dig(action, "replayChatItemAction"));
    const inner = asArray(replayed?.actions);
    if (!inner) {
      reading.read(action, now);
      continue;
    }
    const then = { ...now, offsetMs: asNumber(replayed?.videoOffsetTimeMsec) };
    for (const one of inner) reading.read(one, then);
  }
  return { messages: reading.messages, dropped: reading.dropped };
}

class Reading {
  readonly messages: Message[] = [];
  readonly dropped = new Map<string, DroppedActions>();

  read(action: unknown, moment: Moment): void {
    const { kind, body } = contentOf(action);
    const outcome = messageOf(kind, body, moment);
    if (typeof outcome === "string") this.#drop(kind, outcome, action);
    else this.messages.push(outcome);
  }

  #drop(kind: string, reason: DroppedActions["reason"], action: unknown): void {
    const name = cut(kind, MAX_KIND_LENGTH);
    const key = this.dropped.has(name) || this.dropped.size < MAX_KINDS - 1 ? name : OTHER_KINDS;
    const counted = this.dropped.get(key);
    if (counted) counted.count++;
    else this.dropped.set(key, { reason, count: 1, sample: sampleOf(action) });
  }
}

/** The message, or why there is none. */
function messageOf(
  kind: string,
  body: JsonObject | undefined,
  moment: Moment,
): Message | DroppedActions["reason"] {
  const reader = READERS.get(kind);
  if (!body) return "broken";
  if (!reader) return "unknown";
  if (reader === "silent") return "silent";
  try {
    const message = reader(body, moment);
    if (!message) return "unknown";
    const offset = moment.offsetMs === undefined ? {} : { offsetMs: moment.offsetMs };
    return { ...message, details: { ...message.details, ...offset, upstreamKind: kind } };
  } catch {
    return "broken";
  }
}

interface Content {
  kind: string;
  body: JsonObject | undefined;
}

/** What an action is about: the renderer of the item that it adds, else the action itself. */
function contentOf(action: unknown): Content {
  const outer = namedIn(action);
  if (outer?.kind !== "addChatItemAction") return outer ?? { kind: "(no action)", body: undefined };
  return namedIn(outer.body?.item) ?? { kind: outer.kind, body: undefined };
}

/**
 * The one thing that the wire's objects hold under its name. Beside it can stand `clickTrackingParams` and the
 * like, in any order; so a known name comes first, then one that looks like a name, then any object.
 */
function namedIn(holder: unknown): Content | undefined {
  const object = asObject(holder);
  if (!object) return undefined;
  const keys = Object.keys(object);
  const kind =
    keys.find((key) => key === "addChatItemAction" || READERS.has(key)) ??
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
