/**
 * The properties of a chat that a caller can choose, each with a default. Pure data; a scenario can change
 * while its chat runs.
 */
import type { Caller, EndShape, LiveForm } from "./answers.ts";
import { identify } from "./chat-log.ts";
import type { Grant } from "./continuation-book.ts";
import type { Species } from "./generator.ts";
import type { JsonObject } from "./plain-json.ts";
import type { HostName } from "./requests.ts";

export type ChatKind = "live" | "upcoming" | "replay" | AbsentKind;

/** Why there is no chat; each reason has its own page and its own refusal of old tokens. */
export const ABSENT_KINDS = [
  "none",
  "disabled",
  "off",
  "members-only",
  "age-limit",
  "age-check",
  "content-check",
  "private",
  "unavailable",
] as const;
export type AbsentKind = (typeof ABSENT_KINDS)[number];

/** What the watch page says of the stream: `never` is a video that was none. */
export type StreamState = "upcoming" | "live" | "ended" | "never";

export type Endpoint = "get_live_chat" | "get_live_chat_replay";

/** A call to one of the chat endpoints. */
export interface ChatCall extends Caller {
  host: HostName;
  endpoint: Endpoint;
  token: string;
  /** The player's position in the video, if the call names one. */
  playerOffsetMs?: number;
}

/** The places that show a chat: two pages, and `POST /youtubei/v1/next`. */
export const PLACES = ["popout", "watch", "next"] as const;
export type Place = (typeof PLACES)[number];

/** The calls that a chat answers; an omitted field matches all. `client` is the body's `clientName`. */
export interface Pair {
  client?: string;
  host?: HostName;
  endpoint?: Endpoint;
}

export interface Scenario {
  kind: ChatKind;
  /** The state of a stream whose chat is off or hidden; by default that of the chat before, or live. */
  stream: StreamState | undefined;
  /**
   * The number of actions on the popout page: the last ones of a live chat (50), the first ones of a replay
   * (0).
   */
  page: number | undefined;
  /** The first answer repeats this many actions: the last ones before the page was made. */
  overlap: number;
  /** The wait that answers ask for in milliseconds; null asks for none. */
  timeoutMs: number | null;
  /** The key of a live continuation; `none`: only pages have one, although the chat goes on. */
  continuation: LiveForm;
  /** The maximum age, and number, of the actions that a late reader of a live chat can still get. */
  holdsMs: number;
  holdsMessages: number;
  /** Whether a token is valid more than once. */
  tokens: "strict" | "reusable";
  /** The calls that work; by default those of every client to the chat's own endpoint. */
  works: readonly Pair[] | undefined;
  /**
   * Where the chat is shown; `both` means the popout and the watch page, but not the answer of `next`. The
   * popout page of a replay says that the chat is disabled, unless it is the only place.
   */
  foundOn: "everywhere" | "both" | Place;
  /** Whether pages give out tokens that never bring actions. */
  mute: boolean;
  /** The form of a page's initial data: an object, or the mobile site's quoted and escaped string. */
  initialData: "plain" | "escaped";
  /** The renderer on a replay's page: its own, or a live one that is marked as a replay. */
  replayRenderer: "liveChatReplayRenderer" | "liveChatRenderer";
  /** Actions in an answer of a replay. */
  pageSize: number;
  /** Generated actions of a replay at one place in the video, which share a wrapper. */
  perWrapper: number;
  /** How a replay ends. */
  end: EndShape;
  /** Video time between two generated wrappers of a replay. */
  spacingMs: number;
  /** The kinds that `say` generates; all of them in their usual proportions by default. */
  kinds: readonly Species[] | undefined;
  /** Selects the actions that Top chat leaves out; a part of the plain messages by default. */
  onlyInAll: (action: JsonObject) => boolean;
  /** Whether a page in Top chat shows as many messages as one of all, so that it reaches further back. */
  isTopLonger: boolean;
  /**
   * Which backlog the token of a live chat's menu brings: that of when it was made, with all that was said
   * since if it is still held; or that of the call.
   */
  backlogOf: "token" | "call";
  /** Drops actions that no reader can get any more, also from the ledger: for chats that run for days. */
  forget: boolean;
}

/** About a third of the plain messages, by their ids: the same ones at each reading. */
function isLeftOut(action: JsonObject): boolean {
  const { id, kind } = identify(action);
  const sum = [...id].reduce((total, character) => total + character.charCodeAt(0), 0);
  return kind === "liveChatTextMessageRenderer" && sum % 3 === 0;
}

export const DEFAULT_SCENARIO: Scenario = {
  kind: "live",
  stream: undefined,
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
  perWrapper: 1,
  end: "seek-only",
  spacingMs: 1000,
  kinds: undefined,
  onlyInAll: isLeftOut,
  isTopLonger: false,
  backlogOf: "token",
  forget: false,
};

/** About as much as the real upstream holds for a late reader. */
export const realisticHold = { holdsMs: 10_000, holdsMessages: 200 } as const;

/** The number of actions on the popout page. */
export function pageLength({ kind, page }: Scenario): number {
  return page ?? (kind === "replay" ? 0 : 50);
}

export function tokenKind(kind: ChatKind): Grant["kind"] {
  return kind === "replay" ? "replay" : "live";
}

export function isShown(on: Place, { foundOn, kind }: Scenario): boolean {
  if (on === "popout" && kind === "replay") return foundOn === "popout";
  return foundOn === "everywhere" || foundOn === on || (foundOn === "both" && on !== "next");
}

/** The state of the stream that this kind of chat belongs to; undefined if the kind does not decide it. */
export function streamOf(kind: ChatKind): StreamState | undefined {
  switch (kind) {
    case "live":
    case "upcoming":
      return kind;
    case "replay":
    case "disabled":
      return "ended";
    case "none":
    case "unavailable":
      return "never";
    default:
      return undefined;
  }
}

export function isAbsent(kind: ChatKind): kind is AbsentKind {
  return kind !== "live" && kind !== "upcoming" && kind !== "replay";
}
