/**
 * What a chat is like: all that a caller can decide about one, with a default for each. Pure data; a scenario can be
 * changed while its chat runs.
 */
import type { EndShape } from "./answers.ts";
import type { Species } from "./generator.ts";
import type { JsonObject } from "./json.ts";
import type { HostName } from "./requests.ts";
import type { Grant } from "./tokens.ts";

export type ChatKind = "live" | "upcoming" | "replay" | AbsentKind;

/** Why there is no chat; each has its own page and its own refusal of old tokens. */
export type AbsentKind = "none" | "disabled" | "members-only" | "private" | "unavailable";

export type Endpoint = "get_live_chat" | "get_live_chat_replay";

/** What shows where a chat is: two pages, and `POST /youtubei/v1/next`. */
export type Place = "popout" | "watch" | "next";

/** Which calls a chat answers; what is left out matches all. `client` is the body's `clientName`. */
export interface Pair {
  client?: string;
  host?: HostName;
  endpoint?: Endpoint;
}

export interface Scenario {
  kind: ChatKind;
  /** How many actions the popout page holds: the last ones of a live chat (50), the first ones of a replay (0). */
  page: number | undefined;
  /** How many actions from before the page the first answer repeats. */
  overlap: number;
  /** The wait that answers ask for; null asks for none. */
  timeoutMs: number | null;
  /** The key of a live continuation. */
  continuation: "invalidation" | "timed";
  /** Age, and number, of the actions that a late reader of a live chat is still given. */
  holdsMs: number;
  holdsMessages: number;
  /** Whether a token can be used again. */
  tokens: "strict" | "reusable";
  /** The calls that work; by default those of every client to the chat's own endpoint. */
  works: readonly Pair[] | undefined;
  /** Where the chat is shown; `both` is popout and watch page, but not what `next` answers. */
  foundOn: "everywhere" | "both" | Place;
  /** Whether pages hand out tokens that bring nothing, however often they are used. */
  mute: boolean;
  /** How a page writes its initial data: as an object, or as the mobile site's quoted and escaped string. */
  initialData: "plain" | "escaped";
  /** What a replay's page calls it: by its own renderer, or a live one that is marked as a replay. */
  replayRenderer: "liveChatReplayRenderer" | "liveChatRenderer";
  /** Actions in an answer of a replay. */
  pageSize: number;
  /** How a replay ends. */
  end: EndShape;
  /** Time in the video between two generated actions of a replay. */
  spacingMs: number;
  /** The kinds that `say` generates, all in their usual proportions by default. */
  kinds: readonly Species[] | undefined;
  /** What only the all-messages view shows. */
  onlyInAll: (action: JsonObject) => boolean;
  /** Drops, from the ledger too, what nobody can be given any more: for chats that go on for days. */
  forget: boolean;
}

export const DEFAULT_SCENARIO: Scenario = {
  kind: "live",
  page: undefined,
  overlap: 0,
  timeoutMs: 1000,
  continuation: "invalidation",
  holdsMs: Number.POSITIVE_INFINITY,
  holdsMessages: Number.POSITIVE_INFINITY,
  tokens: "strict",
  works: undefined,
  foundOn: "everywhere",
  mute: false,
  initialData: "plain",
  replayRenderer: "liveChatReplayRenderer",
  pageSize: 50,
  end: "seek-only",
  spacingMs: 1000,
  kinds: undefined,
  onlyInAll: () => false,
  forget: false,
};

/** What the real upstream holds for a late reader, near enough. */
export const realisticHold = { holdsMs: 10_000, holdsMessages: 200 } as const;

/** How many actions the popout page holds. */
export function pageLength({ kind, page }: Scenario): number {
  return page ?? (kind === "replay" ? 0 : 50);
}

export function tokenKind(kind: ChatKind): Grant["kind"] {
  return kind === "replay" ? "replay" : "live";
}

export function isShown(on: Place, { foundOn }: Scenario): boolean {
  return foundOn === "everywhere" || foundOn === on || (foundOn === "both" && on !== "next");
}

export function isAbsent(kind: ChatKind): kind is AbsentKind {
  return kind !== "live" && kind !== "upcoming" && kind !== "replay";
}
