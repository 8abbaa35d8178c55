/**
 * The loop of a chat that the caller polls itself, through `/v1/sessions` and `/v1/poll`. Loaded only when it
 * is needed, it imports nothing but types, so that it can be a module of its own.
 */
import type { MessageType } from "../src/protocol/kinds.ts";
import type { ChatError } from "./chat-error.ts";
import type { LoadedLoopParts } from "./loaded-loop.ts";
import type { BareMessageOf, PollOptions } from "./types.ts";

/** This many expired tokens in a row are a failure. */
const MAX_EXPIRIES = 5;
/** More than the messages that a new session repeats: those still on the chat's page. */
const MAX_KNOWN = 1000;

type BareMessage = BareMessageOf<MessageType>;

interface PollResult {
  token: string | null;
  timeoutMs: number;
  messages: BareMessage[];
}

/** What a session says about the chat, and each of its polls says again. */
interface Session extends PollResult {
  client: string;
  endpoint: string;
  apiKey: string;
  webVersion: string;
}

/** Yields the messages of the chat. Throws what the last call threw, and the signal's reason. */
export async function* loop(
  options: PollOptions,
  { service, clock, retries, types, isWanted }: LoadedLoopParts,
): AsyncGenerator<BareMessage, void, void> {
  const { includeInitial = true, details, minDelayMs = 500, maxDelayMs = 15_000, signal } = options;
  const [videoId] = service.names;
  const known = new Set<string>();
  let expiries = 0;
  let isInitialWanted = includeInitial;
  let session: Session | undefined;
  let token: string | null = "";
  for (let delayMs = 0; token !== null; ) {
    await clock.sleep(delayMs, signal);
    let batch: PollResult;
    try {
      if (session) {
        const { client, endpoint, apiKey, webVersion } = session;
        const body = { token, client, endpoint, apiKey, webVersion, details };
        batch = await service.ask<PollResult>("v1/poll", "messages", body);
        expiries = 0;
      } else {
        const body = { videoId, includeInitial: isInitialWanted, details };
        batch = session = await service.ask<Session>("v1/sessions", "messages", body);
      }
      retries.succeed();
    } catch (error) {
      const isExpired = (error as Partial<ChatError>).code === "TOKEN_EXPIRED";
      delayMs = isExpired && ++expiries < MAX_EXPIRIES ? 0 : retries.fail(error);
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
      from = known.size ? batch.messages.findLastIndex(({ id }) => known.has(id)) + 1 : Infinity;
    isInitialWanted = true;
    for (const message of batch.messages.slice(from)) {
      if (known.has(message.id)) continue;
      known.add(message.id);
      const [oldest = ""] = known;
      if (known.size > MAX_KNOWN) known.delete(oldest);
      if (isWanted(message.type, types)) yield message;
      signal?.throwIfAborted();
    }
  }
}
