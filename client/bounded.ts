/** Keeps what the SDK remembers bounded. */

/** More than the messages still in a chat, which a new session repeats, and than the videos of a channel. */
const MAX_ITEMS = 1000;

/** Deletes the oldest item of more than a thousand. */
export function keepNewest<T>(items: Map<T, unknown> | Set<T>): void {
  const [oldest] = items.keys();
  if (items.size > MAX_ITEMS) items.delete(oldest as T);
}
