/**
 * Reads the raw actions of a chat answer or page into messages, in their order. Never throws and never
 * modifies the input. An action without a message is counted by its kind, a reader that throws is reported as
 * a bug, and the other actions are read as usual.
 */

import {
  addDefined,
  asArray,
  asNumber,
  asObject,
  dig,
  type JsonObject,
  startOfJson,
} from "../../base/json.ts";
import type { Message } from "../../protocol/message.ts";
import { type DroppedActions, OTHER_KINDS, type ReaderBug } from "../../telemetry/action-events.ts";
import { BOUNDS } from "../bounds.ts";
import { readCounts } from "./counts.ts";
import { idsInElement } from "./element.ts";
import { NO_PANELS, type Panels } from "./panels.ts";
import {
  type ActionTime,
  BrokenItem,
  type Context,
  type HolderFields,
  type Item,
  type Outcome,
  type Reader,
} from "./reader.ts";
import { READERS } from "./reader-by-kind.ts";
import { cut } from "./text.ts";
import type { TimeOfDay } from "./timestamp.ts";

const MAX_KIND_LENGTH = 100;
const MAX_SAMPLE_LENGTH = 1000;
/** One call counts fewer kinds and reasons than this by name; the others count as `OTHER_KINDS`. */
const MAX_KINDS_OF_CALL = 50;
/** It holds another object, or only provides ids for its sibling. */
const ELEMENT = "elementRenderer";
const NOTHING: HolderFields = {};

export interface ActionContext {
  /** Wall time of the receipt, in milliseconds since 1970. */
  receivedAt: number;
  /** Formats the time of live messages. */
  timeOfDay: TimeOfDay;
  /** The panels after earlier answers; none by default. */
  panels?: Panels | undefined;
  /** The raw entity mutations of the same answer. */
  mutations?: readonly unknown[] | undefined;
  /** Whether the upstream was asked for English, as all calls of the service do; not known by default. */
  isEnglish?: boolean | undefined;
}

export type Reading = Omit<Collector, "take">;

export function readActions(actions: readonly unknown[], context: ActionContext): Reading {
  const { receivedAt, timeOfDay, panels = NO_PANELS, mutations = [], isEnglish = false } = context;
  const reading = new Collector(panels);
  const counts = readCounts(mutations, actions);
  const now: AnswerState = { receivedAt, timeOfDay, offsetMs: undefined, counts, isEnglish };
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

/** What readers know of all actions of an answer; of a replay, of all in a wrapper. */
type AnswerState = ActionTime & Pick<Context, "counts" | "isEnglish">;

/** What readers know of an action, however deep they read. Copied at each level, so it is one flat object. */
type ActionState = AnswerState & Pick<Context, "panels">;

class Collector {
  readonly items: Item[] = [];
  /** The ids of the polls among the items: a poll whose content did not change is not repeated. */
  readonly #polls = new Set<string>();
  /** One for each kind (the renderer's key of a chat item, else the action's) and reason. */
  readonly dropped: DroppedActions[] = [];
  /** Actions for which a reader failed. */
  readonly bugs: ReaderBug[] = [];
  /** The panels after the actions taken until now. */
  panels: Panels;

  constructor(panels: Panels) {
    this.panels = panels;
  }

  take(action: unknown, answer: AnswerState): void {
    try {
      const state = { ...answer, panels: this.panels };
      const { kind, before, item, panels = this.panels } = readNamed(action, "(no action)", state, NOTHING);
      this.panels = panels;
      if (before && !this.#isRepeatedPoll(before)) this.items.push({ message: before });
      if (typeof item === "string") this.#drop(kind, item, action);
      else if (this.#isRepeatedPoll(item.message)) this.#drop(kind, "silent", action);
      else this.items.push(item);
    } catch (error) {
      const kind = cut(namedIn(action)?.kind ?? "(no action)", MAX_KIND_LENGTH);
      this.bugs.push({ kind, error, sample: sampleOf(action) });
    }
  }

  #isRepeatedPoll({ type, id }: Message): boolean {
    if (type !== "poll") return false;
    const isRepeated = this.#polls.has(id);
    this.#polls.add(id);
    return isRepeated;
  }

  #drop(kind: string, reason: DroppedActions["reason"], action: unknown): void {
    const named = (name: string) => this.dropped.find((one) => one.kind === name && one.reason === reason);
    const name = cut(kind, MAX_KIND_LENGTH);
    const isFull = this.dropped.length >= MAX_KINDS_OF_CALL - 1;
    const counted = named(name) ?? (isFull ? named(OTHER_KINDS) : undefined);
    if (counted) counted.count++;
    else this.dropped.push({ kind: isFull ? OTHER_KINDS : name, reason, count: 1, sample: sampleOf(action) });
  }
}

/** Reads the object under the holder's name. A holder without one is counted under its own kind. */
function readNamed(
  holder: unknown,
  holderKind: string,
  state: ActionState,
  outside: HolderFields,
  depth = 0,
): Outcome & { kind: string } {
  const { kind, body } = namedIn(holder) ?? { kind: holderKind };
  const reader = READERS.get(kind);
  if (!body || depth > BOUNDS.holders) return { kind, item: "broken" };
  if (!reader) return { kind, item: "unknown" };
  if (reader === "silent") return { kind, item: "silent" };
  const element = kind === ELEMENT ? undefined : dig(holder, ELEMENT);
  const around = element === undefined ? outside : within(outside, idsInElement(element));
  const read: Context["read"] = (inside, ids) =>
    readNamed(inside, kind, state, ids ? within(around, ids) : around, depth + 1);
  try {
    const outcome = toOutcome(reader(body, { ...state, around, read }));
    const { before, item } = outcome;
    // A reader that delegates to another kind returns that kind's complete outcome.
    if (outcome.kind !== undefined) return outcome as Outcome & { kind: string };
    if (before) addOrigin(before, kind, state);
    if (typeof item !== "string") addOrigin(item.message, kind, state);
    return { ...outcome, kind };
  } catch (error) {
    if (error instanceof BrokenItem) return { kind, item: "broken" };
    throw error;
  }
}

function toOutcome(result: ReturnType<Reader>): Outcome {
  if (typeof result === "string") return { item: result };
  return "item" in result ? result : { item: { message: result } };
}

/** Adds to the details of a message that was just created. */
function addOrigin({ details }: Message, upstreamKind: string, { offsetMs }: ActionTime): void {
  if (offsetMs !== undefined) details.offsetMs = offsetMs;
  details.upstreamKind = upstreamKind;
}

function within(outside: HolderFields, ids: HolderFields): HolderFields {
  return addDefined<HolderFields>({ ...outside }, ids);
}

/**
 * The one object that matters in a holder, with its name. Siblings can be `clickTrackingParams` and the like,
 * an element with its ids, or a mere picture, in any order. So readable names come first, then known names,
 * then any that looks like a renderer or an action, then any object.
 */
function namedIn(holder: unknown): { kind: string; body: JsonObject | undefined } | undefined {
  const object = asObject(holder);
  if (!object) return undefined;
  const keys = Object.keys(object);
  const readable = keys.find(isReadable);
  if (readable !== undefined) return { kind: readable, body: asObject(object[readable]) };
  const known = keys.filter((key) => READERS.has(key));
  const kind =
    known.find((key) => key !== ELEMENT) ??
    known[0] ??
    keys.find((key) => /(?:Action|Command|Renderer|Model)$/.test(key)) ??
    keys.find((key) => asObject(object[key]));
  return kind === undefined ? undefined : { kind, body: asObject(dig(object, kind)) };
}

function isReadable(key: string): boolean {
  const reader = READERS.get(key);
  return reader !== undefined && reader !== "silent" && key !== ELEMENT;
}

function sampleOf(action: unknown): string {
  return cut(startOfJson(action, MAX_SAMPLE_LENGTH + 1), MAX_SAMPLE_LENGTH);
}
