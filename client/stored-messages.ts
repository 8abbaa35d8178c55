/** The stored messages of a chat, from `/v1/messages`. */
import type { MessageType } from "../src/protocol/kinds.ts";
import { ChatError } from "./chat-error.ts";
import { Service, withQuery } from "./relay-service.ts";
import { MAX_FAILURES, Retries } from "./retries.ts";
import { type Clock, systemClock } from "./sdk-clock.ts";
import type { HistoryOptions, Message, MessageOf, TypeOrGroup, TypesIn } from "./types.ts";

interface Page {
  messages: Message[];
  /** The cursor after which the next page begins; null after the last one. */
  next: number | null;
}

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
  const { chat, before, from, to, types, q, author, details, signal } = options;
  const [videoId] = service.names;
  const retries = new Retries(options, clock, MAX_FAILURES);
  // Without `after`, `before` would ask for the last page before it.
  let after: number | null | undefined = options.after ?? (before === undefined ? undefined : 0);
  while (after !== null) {
    // The limit is the service's maximum.
    const query = { videoId, chat, before, from, to, types, q, author, details, limit: 1000, after };
    const path = withQuery("v1/messages", query);
    const page = await service
      .ask<Page>(path, "messages")
      .catch((error) => clock.sleep(retries.fail(error), signal));
    if (!page) continue;
    retries.succeed();
    // A cache may answer with an earlier page. Stop then, or the loop would never end.
    if (page.next && page.next <= (after as number))
      throw new ChatError("HTTP", "The answer is not the service's.");
    yield* page.messages;
    after = page.next ?? null;
  }
}
