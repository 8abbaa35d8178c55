/** A chat that the caller polls itself, through `/v1/sessions` and `/v1/poll`. */
import type { MessageType } from "../src/protocol/kinds.ts";
import { loadedLoop } from "./loaded-loop.ts";
import { Service } from "./relay-service.ts";
import { type Clock, systemClock } from "./sdk-clock.ts";
import type { BareMessageOf, PollOptions, TypeOrGroup, TypesIn } from "./types.ts";

type BareMessage = BareMessageOf<MessageType>;

/**
 * Yields the messages of a chat and polls it while the caller iterates. Throws `TypeError` at once for an
 * unusable URL or a missing `videoId`. The loop throws `ChatError` for a refusal or the fifth failure in a
 * row, unless `retry` names a wait, and the signal's reason.
 */
export function poll<D extends boolean = false, T extends TypeOrGroup = MessageType>(
  url: string | URL,
  options: PollOptions<D, T>,
): AsyncGenerator<BareMessageOf<TypesIn<T> | "gap", D>, void, void>;
/**
 * With the clock of a test.
 * @internal
 */
export function poll(url: string | URL, options: PollOptions, clock: Clock): AsyncGenerator<BareMessage>;
export function poll(url: string | URL, options: PollOptions, clock = systemClock): AsyncGenerator<never> {
  return loadedLoop(() => import("./poll-loop.ts"), new Service(url, options, clock), options, clock);
}
