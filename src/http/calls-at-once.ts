/** Bounds the requests that are served or wait, by number. */
import { atCapacity, type FullCause } from "../protocol/capacity.ts";

/** Runs work for a request. Throws `RelayError` CAPACITY while `most` requests are served. */
export function callsAtOnce(most: number, full: FullCause): <T>(work: () => Promise<T>) => Promise<T> {
  let served = 0;
  return async (work) => {
    if (served >= most) throw atCapacity(full);
    served += 1;
    try {
      return await work();
    } finally {
      served -= 1;
    }
  };
}
