/** What the routes of streams share: their surroundings, and the part of a chat that a query asks for. */
import type { Clock } from "../../clock.ts";
import { RelayError } from "../../protocol/errors.ts";
import type { WatchedChannels } from "../../rooms/channels/channels.ts";
import type { Rooms } from "../../rooms/rooms.ts";
import { parseBackfill } from "../../serving/cursor.ts";
import type { StreamRequest } from "../../serving/room.ts";
import { parseTypes } from "../../serving/type-filter.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { timeIn } from "../query-time.ts";
import type { StreamQuery } from "../schemas/schemas.ts";
import type { AddressLimit } from "./address-limit.ts";
import type { OpenParts } from "./open-sink.ts";

export interface StreamParts extends OpenParts {
  rooms: Rooms;
  channels: WatchedChannels;
  addresses: Pick<AddressLimit, "take">;
  clock: Clock;
  telemetry: Telemetry;
  /** The interval of keepalives on connections that carry several chats. */
  keepaliveMs: number;
}

/** The part of a chat that a query asks for. Throws `RelayError` INVALID_REQUEST. */
export function partAsked(query: Omit<StreamQuery, "videoId">) {
  return {
    backfill: backfillOf(query),
    from: timeIn(query, "from"),
    isBounded: query.until === "now",
    filter: parseTypes(query.types ?? ""),
  } satisfies Partial<StreamRequest>;
}

function backfillOf({ backfill: text }: Pick<StreamQuery, "backfill">): number | undefined {
  if (text === undefined) return undefined;
  const backfill = parseBackfill(text);
  if (backfill === undefined) throw new RelayError("INVALID_REQUEST", "backfill: must be a number.");
  return backfill;
}
