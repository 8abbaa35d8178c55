/**
 * The loop of stored messages, page by page from `/v1/messages`. Loaded only when it is needed, it imports
 * nothing but types, so that it can be a module of its own.
 */
import type { ChatError } from "./chat-error.ts";
import type { Service } from "./relay-service.ts";
import type { Retries } from "./retries.ts";
import type { Clock } from "./sdk-clock.ts";
import type { HistoryOptions, Message } from "./types.ts";

interface Page {
  messages: Message[];
  /** The cursor after which the next page begins; null after the last one. */
  next: number | null;
}

/** What the loop takes from the modules that it must not import. */
export interface PageParts {
  service: Service;
  clock: Clock;
  retries: Retries;
  withQuery(path: string, values: Record<string, unknown>): string;
  foreignAnswer(status: number): ChatError;
}

/** Yields the stored messages. Throws what the last call threw, and the signal's reason. */
export async function* pageLoop(
  options: HistoryOptions,
  { service, clock, retries, withQuery, foreignAnswer }: PageParts,
): AsyncGenerator<Message, void, void> {
  const { chat, before, from, to, saidFrom, saidTo, types, q, text, author, details, signal } = options;
  const [videoId] = service.names;
  // Without `after`, `before` would ask for the last page before it.
  let after: number | null | undefined = options.after ?? (before === undefined ? undefined : 0);
  while (after !== null) {
    // The limit is the service's maximum.
    const said = { saidFrom, saidTo, text };
    const query = { videoId, chat, before, from, to, ...said, types, q, author, details, limit: 1000, after };
    const path = withQuery("v1/messages", query);
    const page = await service
      .ask<Page>(path, "messages")
      .catch((error) => clock.sleep(retries.fail(error), signal));
    if (!page) continue;
    retries.succeed();
    // A cache may answer with an earlier page. Stop then, or the loop would never end.
    if (page.next && page.next <= (after as number)) throw foreignAnswer(200);
    yield* page.messages;
    after = page.next ?? null;
  }
}
