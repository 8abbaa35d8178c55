/** Bounds the callers' calls of YouTube that are made or wait, by number. */
import { atCapacity } from "../protocol/capacity.ts";

/** Runs work for a caller. Throws `RelayError` CAPACITY while `most` callers are served. */
export function callsAtOnce(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  let served = 0;
  return async (work) => {
    if (served >= most) throw atCapacity("callers");
    served += 1;
    try {
      return await work();
    } finally {
      served -= 1;
    }
  };
}
