/** Calls that a room can do without. */
import type { Clock } from "../base/clock.ts";
import { Deadline } from "../base/deadline.ts";
import { RelayError } from "../protocol/errors.ts";
import type { CallOptions } from "../upstream/egress/flights.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";

/**
 * The result of the call; undefined if the upstream fails, throttles, or takes longer than `limitMs`, because
 * polling is more important. Rejects with the signal's reason, and with any other error of the call.
 */
export async function ignoringUpstreamErrors<T>(
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
