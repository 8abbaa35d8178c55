/** A chat that the caller polls itself, through `/v1/sessions` and `/v1/poll`. */
import type { MessageType } from "../src/protocol/kinds.ts";
import { keepNewest } from "./bounded.ts";
import type { ChatError } from "./chat-error.ts";
import { Service } from "./relay-service.ts";
import { MAX_FAILURES, Retries } from "./retries.ts";
import { type Clock, systemClock } from "./sdk-clock.ts";
import { selectTypes } from "./selection.ts";
import type { BareMessageOf, PollOptions, TypeOrGroup, TypesIn } from "./types.ts";

type BareMessage = BareMessageOf<MessageType>;

interface PollResult {
  token: string | null;
  timeoutMs: number;
  messages: BareMessage[];
}

/**
 * Yields the messages of a chat and polls it while the caller iterates. Throws `TypeError` at once for an
 * unusable URL or a missing `videoId`. The loop throws `ChatError` for a refusal or the fifth failure in a
 * row, unless `retry` names a wait, and the signal's reason.
 */
export function poll<D extends boolean = false, T extends TypeOrGroup = MessageType>(
  url: string | URL,
  options: PollOptions<D, T>,
): AsyncGenerator<BareMessageOf<TypesIn<T> | "gap", D>, void, void>;
/** With the clock of a test. */
export function poll(url: string | URL, options: PollOptions, clock: Clock): AsyncGenerator<BareMessage>;
export function poll(url: string | URL, options: PollOptions, clock = systemClock): AsyncGenerator<never> {
  return messages(new Service(url, options, clock), options, clock) as AsyncGenerator<never>;
}

async function* messages(
  service: Service,
  options: PollOptions,
  clock: Clock,
): AsyncGenerator<BareMessage, void, void> {
  const { includeInitial = true, details, minDelayMs = 500, maxDelayMs = 15_000, signal } = options;
  const [videoId] = service.names;
  const isWanted = selectTypes(options.types);
  const retries = new Retries(options, clock, MAX_FAILURES);
  const known = new Set<string>();
  let expiries = 0;
  let isInitialWanted = includeInitial;
  let session: PollResult | undefined;
  let token: string | null = "";
  for (let delayMs = 0; token !== null; ) {
    await clock.sleep(delayMs, signal);
    let batch: PollResult;
    try {
      if (session) {
        // The service wants the session's other fields back.
        const body = { ...session, token, details, messages: undefined };
        batch = await service.ask<PollResult>("v1/poll", "messages", body);
        expiries = 0;
      } else {
        const body = { videoId, includeInitial: isInitialWanted, details };
        batch = session = await service.ask<PollResult>("v1/sessions", "messages", body);
      }
      retries.succeed();
    } catch (error) {
      const isExpired = (error as Partial<ChatError>).code === "TOKEN_EXPIRED";
      delayMs = isExpired && ++expiries < MAX_FAILURES ? 0 : retries.fail(error);
      if (isExpired) session = undefined;
      continue;
    }
    token = batch.token;
    delayMs = Math.min(maxDelayMs, Math.max(minDelayMs, batch.timeoutMs || 0));
    // A session that replaces one with an expired token repeats earlier messages: without `includeInitial`,
    // skip those from before the first session as well. If it has no known one, all of them are newer; but if
    // no message is known yet, they may be older.
    let from = 0;
    if (batch === session && isInitialWanted !== includeInitial)
      from = known.size ? batch.messages.findLastIndex(({ id }) => known.has(id)) + 1 : 1 / 0;
    isInitialWanted = true;
    for (const message of batch.messages.slice(from)) {
      if (known.has(message.id)) continue;
      known.add(message.id);
      keepNewest(known);
      if (isWanted(message.type)) yield message;
    }
  }
}
