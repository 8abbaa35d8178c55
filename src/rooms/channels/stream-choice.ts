/**
 * The streams of a channel in the order of interest: live ones, the newest first, then the scheduled one that
 * begins next. A stream that is scheduled far ahead is often a placeholder that never begins: many
 * channels schedule one for next year just for its open chat. Such streams come last.
 */
import type { ChannelSight, ScheduledStream } from "../../upstream/page/channel-page.ts";

const HOUR_MS = 3_600_000;
/**
 * A scheduled stream is far (`isFar`) if it begins more than `MAX_AHEAD_MS` from now, or is overdue by more
 * than `MAX_LATE_MS`.
 */
const MAX_AHEAD_MS = 48 * HOUR_MS;
const MAX_LATE_MS = 6 * HOUR_MS;

export interface ChannelStream extends Omit<ScheduledStream, "note"> {
  state: "live" | "upcoming";
  isFar: boolean;
}

/** `now`: wall time in milliseconds. A stream without a time comes after those that begin soon. */
export function streamsInOrder(
  { live, upcoming }: Pick<ChannelSight, "live" | "upcoming">,
  now: number,
): ChannelStream[] {
  const begins = ({ startsAt = now + MAX_AHEAD_MS }: ScheduledStream) => startsAt;
  const isFar = (stream: ScheduledStream) =>
    begins(stream) > now + MAX_AHEAD_MS || begins(stream) < now - MAX_LATE_MS;
  const scheduled = upcoming
    .map((stream) => ({ ...stream, state: "upcoming" as const, isFar: isFar(stream) }))
    .sort((one, other) => Number(one.isFar) - Number(other.isFar) || begins(one) - begins(other));
  return [...live.map((videoId) => ({ videoId, state: "live" as const, isFar: false })), ...scheduled];
}
