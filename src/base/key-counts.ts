/** Counts by key. A key takes memory only while its count is above 0. */
export class Counts<Key> {
  readonly #counts = new Map<Key, number>();

  /** Whether the count of a key is above 0. */
  has(key: Key): boolean {
    return this.#counts.has(key);
  }

  /** Those whose count is above 0. */
  keys(): Iterable<Key> {
    return this.#counts.keys();
  }

  /** The count of a key; 0 if nothing of it is taken. */
  of(key: Key): number {
    return this.#counts.get(key) ?? 0;
  }

  /** Adds to the count of a key. The returned function takes it back, at most once. */
  take(key: Key, count = 1): () => void {
    if (count === 0) return () => {};
    this.#counts.set(key, this.of(key) + count);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      const left = this.of(key) - count;
      if (left > 0) this.#counts.set(key, left);
      else this.#counts.delete(key);
    };
  }
}
