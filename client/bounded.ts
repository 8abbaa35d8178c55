/** Bounds the number of items that the SDK remembers. */

/**
 * More than the messages that a new session repeats (those still on the chat's page), and more than the
 * videos that a channel shows.
 */
const MAX_ITEMS = 1000;

/** Deletes the oldest item if there are more than `MAX_ITEMS`. Call it after each addition. */
export function keepNewest<T>(items: Map<T, unknown> | Set<T>): void {
  const [oldest] = items.keys();
  if (items.size > MAX_ITEMS) items.delete(oldest as T);
}
