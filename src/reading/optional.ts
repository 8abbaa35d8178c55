/** What a room can do without. */
import type { Clock } from "../clock.ts";
import { Deadline } from "../deadline.ts";
import { RelayError } from "../protocol/errors.ts";
import type { CallOptions } from "../upstream/egress/flights.ts";
import { UpstreamError } from "../upstream/errors.ts";

/**
 * What the call gives; undefined where the upstream does not give it, throttles it, or takes longer than `limitMs`:
 * reading on is worth more. Rejects with the signal's reason, and as the call does for any other cause.
 */
export async function optional<T>(
  options: CallOptions,
  limitMs: number,
  clock: Clock,
  call: (options: CallOptions) => Promise<T>,
): Promise<T | undefined> {
  using limit = new Deadline(clock, limitMs);
  const signal = AbortSignal.any([options.signal, limit.signal]);
  try {
    return await call({ ...options, maxCooldownMs: 0, signal });
  } catch (error) {
    options.signal.throwIfAborted();
    if (limit.signal.aborted || error instanceof RelayError || error instanceof UpstreamError)
      return undefined;
    throw error;
  }
}
