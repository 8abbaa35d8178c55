/**
 * What the routes of streams share: their dependencies, what a request asks for, and the opening of a
 * connection that carries several chats.
 */
import type { Clock } from "../../base/clock.ts";
import { CHAT_EVENT_FORMS } from "../../multiplex/chat-events.ts";
import { type BodySink, Multiplex } from "../../multiplex/multiplex.ts";
import type { MultiplexParts } from "../../multiplex/multiplex-viewer.ts";
import { FACT_NAMES, type FactName } from "../../protocol/chat.ts";
import { invalidRequest } from "../../protocol/errors.ts";
import type { WatchedChannels } from "../../rooms/channels/channels.ts";
import type { VideoChannels } from "../../rooms/channels/video-channels.ts";
import type { Rooms } from "../../rooms/rooms.ts";
import { BACKFILL_MAX } from "../../serving/resume-or-backfill.ts";
import type { StreamRequest } from "../../serving/room.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { ViewerPlaces } from "../access/viewer-places.ts";
import { errorConverter } from "../error-answers.ts";
import { filterAsked } from "../filter-query.ts";
import { streamFormat } from "../negotiation.ts";
import { queriedTime } from "../query-time.ts";
import type { StreamHeaders, StreamQuery } from "../schemas/schemas.ts";
import type { OpenParts, StreamForm } from "./stream-head.ts";

/** The routes of connections that carry several chats. */
const MULTIPLEX_PATHS = { merged: "/v1/merged", channel: "/v1/stream" } as const;

/** The service behind a stream. */
export interface StreamService {
  rooms: Rooms;
  channels: WatchedChannels;
  videoChannels: VideoChannels;
  clock: Clock;
  telemetry: Telemetry;
  /** The interval of keepalives on connections that carry several chats. */
  keepaliveMs: number;
}

export interface StreamParts extends OpenParts, StreamService {
  viewerPlaces: ViewerPlaces;
}

/** What a stream's request asks for in its query, which is checked against the schema, and in its headers. */
export interface StreamInput<Query> {
  query: Query;
  headers: StreamHeaders & { accept?: string | undefined };
}

export function formAsked({ query, headers }: StreamInput<{ details?: string }>): StreamForm {
  return { format: streamFormat(headers.accept), isDetailed: query.details === "true" };
}

/** Opens a connection that carries several chats, with keepalives; `open` begins the answer. */
export function openMultiplex(
  kind: keyof typeof MULTIPLEX_PATHS,
  { format, isDetailed }: StreamForm,
  { rooms, clock, telemetry, keepaliveMs }: StreamService,
  open: () => BodySink,
): { multiplex: Multiplex; parts: MultiplexParts } {
  const multiplex = new Multiplex(open(), format);
  telemetry.viewers.multiplexed(kind, multiplex.gone);
  void multiplex.keepOpen({ clock, telemetry, keepaliveMs });
  const form = CHAT_EVENT_FORMS[format][isDetailed ? "detailed" : "plain"];
  return {
    multiplex,
    parts: { rooms, clock, form, toRelayError: errorConverter(MULTIPLEX_PATHS[kind], telemetry) },
  };
}

/** The part of a chat that a query asks for. Throws `RelayError` INVALID_REQUEST. */
export function partAsked(query: Omit<StreamQuery, "videoId">) {
  return {
    backfill: backfillAsked(query),
    from: queriedTime(query, "from"),
    isBounded: query.until === "now",
    filter: filterAsked(query),
    wantsVideo: query.details === "true",
    facts: factsAsked(query),
  } satisfies Partial<StreamRequest>;
}

/** Undefined if it asks for none. */
function factsAsked(query: { [Name in FactName]?: string }): readonly FactName[] | undefined {
  const names = FACT_NAMES.filter((name) => query[name] === "on");
  return names.length > 0 ? names : undefined;
}

/** Any text that JavaScript's `Number` reads counts as a number, except blank text. */
function backfillAsked({ backfill: text }: Pick<StreamQuery, "backfill">): number | undefined {
  if (text === undefined) return undefined;
  const count = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isNaN(count)) throw invalidRequest("backfill: must be a number.");
  // [spec] fractional | truncated toward zero; negative | 0; above the ceiling | 500
  return Math.min(BACKFILL_MAX, Math.max(0, Math.trunc(count)));
}
