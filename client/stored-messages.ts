/** The stored messages of a chat, from `/v1/messages`. */
import type { MessageType } from "../src/protocol/kinds.ts";
import { loadedLoop } from "./loaded-loop.ts";
import { Service } from "./relay-service.ts";
import { type Clock, systemClock } from "./sdk-clock.ts";
import type { HistoryOptions, Message, MessageOf, TypeOrGroup, TypesIn } from "./types.ts";

/**
 * Yields the stored messages of a chat from the oldest to the newest, and reads each page when the caller
 * gets there. Throws `TypeError` at once for an unusable URL or a missing `videoId`. The loop throws
 * `ChatError` for a refusal or the fifth failure in a row, unless `retry` names a wait, and the signal's
 * reason.
 */
export function history<D extends boolean = false, T extends TypeOrGroup = MessageType>(
  url: string | URL,
  options: HistoryOptions<D, T>,
): AsyncGenerator<MessageOf<TypesIn<T> | "gap", D>, void, void>;
/**
 * With the clock of a test.
 * @internal
 */
export function history(
  url: string | URL,
  options: HistoryOptions,
  clock: Clock,
): AsyncGenerator<Message, void, void>;
export function history(
  url: string | URL,
  options: HistoryOptions,
  clock = systemClock,
): AsyncGenerator<never, void, void> {
  return loadedLoop(() => import("./stored-pages.ts"), new Service(url, options, clock), options, clock);
}
