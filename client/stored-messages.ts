/** The stored messages of a chat, from `/v1/messages`. */
import type { MessageType } from "../src/protocol/kinds.ts";
import { foreignAnswer, Service, withQuery } from "./relay-service.ts";
import { MAX_FAILURES, Retries } from "./retries.ts";
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
  return pages(new Service(url, options, clock), options, clock) as AsyncGenerator<never, void, void>;
}

async function* pages(
  service: Service,
  options: HistoryOptions,
  clock: Clock,
): AsyncGenerator<Message, void, void> {
  const { pageLoop } = await import("./stored-pages.ts");
  const retries = new Retries(options, clock, MAX_FAILURES);
  yield* pageLoop(options, { service, clock, retries, withQuery, foreignAnswer });
}
