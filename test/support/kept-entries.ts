/**
 * Counts the entries of all maps and sets of this process that are alive. Import it before the modules whose
 * collections count: it watches `Map` and `Set` themselves.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

type Collection = Map<unknown, unknown> | Set<unknown>;

const seen = new WeakSet<Collection>();
const references: WeakRef<Collection>[] = [];

/** Watches a method that adds an entry. */
function watched<T extends Collection, Args extends unknown[], Result>(
  add: (this: T, ...args: Args) => Result,
): (this: T, ...args: Args) => Result {
  return function (...args) {
    if (!seen.has(this)) {
      seen.add(this);
      references.push(new WeakRef<Collection>(this));
    }
    return add.apply(this, args);
  };
}

const maps = Map.prototype;
maps.set = watched(maps.set);
maps.getOrInsert = watched(maps.getOrInsert);
maps.getOrInsertComputed = watched(maps.getOrInsertComputed);
Set.prototype.add = watched(Set.prototype.add);

/** The number of entries, and the largest collections' first keys, for a failure's message. */
export async function keptEntries(): Promise<{ count: number; largest: string[] }> {
  await new Promise((resolve) => setImmediate(resolve)); // which ends the lives of references read before
  collectGarbage();
  const alive = references.flatMap((reference) => reference.deref() ?? []);
  const count = alive.reduce((sum, { size }) => sum + size, 0);
  const largest = alive
    .sort((one, other) => other.size - one.size)
    .slice(0, 5)
    .map((collection) => `${collection.size}: ${String([...collection.keys()].at(-1)).slice(0, 60)}`);
  return { count, largest };
}
