/**
 * Adds the methods of maps that Node.js 24 lacks, and keeps maps that remember from growing beyond a bound.
 */

/**
 * `getOrInsert` and `getOrInsertComputed` of maps, for Node.js 24, the oldest version that runs the service:
 * Node.js 26 has its own. The command line, each worker and the store's thread call this when they start.
 */
export function completeMaps(): void {
  for (const maps of [Map.prototype, WeakMap.prototype]) {
    define(maps, "getOrInsert", function (this: WeakMap<WeakKey, unknown>, key: WeakKey, value: unknown) {
      if (!this.has(key)) this.set(key, value);
      return this.get(key);
    });
    define(maps, "getOrInsertComputed", function <
      Key extends WeakKey,
    >(this: WeakMap<Key, unknown>, key: Key, make: (key: Key) => unknown) {
      if (!this.has(key)) this.set(key, make(key));
      return this.get(key);
    });
  }
}

function define(maps: object, name: string, value: (...args: never[]) => unknown): void {
  if (!(name in maps)) Object.defineProperty(maps, name, { value, writable: true, configurable: true });
}

/** Drops the keys that were added first, until at most `maxSize` are left. */
export function dropOldest<Key>(
  kept: { keys(): Iterable<Key>; readonly size: number; delete(key: Key): boolean },
  maxSize: number,
): void {
  for (const oldest of kept.keys()) {
    if (kept.size <= maxSize) return;
    kept.delete(oldest);
  }
}
