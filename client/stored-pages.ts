/**
 * The loop of stored messages, page by page from `/v1/messages`. Loaded only when it is needed, it imports
 * nothing but types, so that it can be a module of its own.
 */
import type { LoadedLoopParts } from "./loaded-loop.ts";
import type { HistoryOptions, Message } from "./types.ts";

interface Page {
  messages: Message[];
  /** The cursor after which the next page begins; null after the last one. */
  next: number | null;
}

/** Yields the stored messages. Throws what the last call threw, and the signal's reason. */
export async function* loop(
  options: HistoryOptions,
  { service, clock, retries, path, error, types }: LoadedLoopParts,
): AsyncGenerator<Message, void, void> {
  const { chat, before, from, to, saidFrom, saidTo, q, text, author, details, signal } = options;
  const [videoId] = service.names;
  // Without `after`, `before` would ask for the last page before it.
  let after: number | null | undefined = options.after ?? (before === undefined ? undefined : 0);
  while (after !== null) {
    // The limit is the service's maximum.
    const said = { saidFrom, saidTo, text };
    const query: Record<string, unknown> = {
      videoId,
      chat,
      before,
      from,
      to,
      ...said,
      types,
      q,
      author,
      details,
      limit: 1000,
      after,
    };
    const page = await service
      .ask<Page>(path("v1/messages", query), "messages")
      .catch((failure) => clock.sleep(retries.fail(failure), signal));
    if (!page) continue;
    retries.succeed();
    // A cache may answer with an earlier page. Stop then, or the loop would never end.
    if (page.next && page.next <= (after as number)) throw error(200);
    for (const message of page.messages) {
      yield message;
      signal?.throwIfAborted();
    }
    after = page.next ?? null;
  }
}
