/**
 * Which broadcasts of a channel are read: one for its viewers, those that matter for its recording. In the
 * order of interest live ones come first, the newest at the front, then the scheduled one that begins next. A
 * broadcast that is scheduled far ahead is often a placeholder that never begins: many channels schedule one
 * for next year just for its open chat. Such broadcasts come last.
 */
import type { ChannelSight, ScheduledStream } from "../../upstream/page/channel-page.ts";

const HOUR_MS = 3_600_000;
/**
 * A scheduled broadcast is far (`isFar`) if it begins more than `MAX_AHEAD_MS` from now, or is overdue by
 * more than `MAX_LATE_MS`.
 */
const MAX_AHEAD_MS = 48 * HOUR_MS;
const MAX_LATE_MS = 6 * HOUR_MS;
/**
 * Broadcasts that begin within this time are recorded too, not only the next one, because the next one may
 * start late.
 */
const EARLY_MS = HOUR_MS;

export interface ListedBroadcast extends Omit<ScheduledStream, "note"> {
  state: "live" | "upcoming";
  isFar: boolean;
}

/** `now`: the upstream's time in milliseconds. One without a time comes after those that begin soon. */
export function broadcastsInOrder(
  { live, upcoming }: Pick<ChannelSight, "live" | "upcoming">,
  now: number,
): ListedBroadcast[] {
  const begins = ({ startsAt = now + MAX_AHEAD_MS }: ScheduledStream) => startsAt;
  const isFar = (each: ScheduledStream) =>
    begins(each) > now + MAX_AHEAD_MS || begins(each) < now - MAX_LATE_MS;
  const scheduled = upcoming
    .map((each) => ({ ...each, state: "upcoming" as const, isFar: isFar(each) }))
    .sort((one, other) => Number(one.isFar) - Number(other.isFar) || begins(one) - begins(other));
  return [...live.map((videoId) => ({ videoId, state: "live" as const, isFar: false })), ...scheduled];
}

/**
 * The broadcast that the channel's viewers read: the first, without those that rest because they have no
 * chat. One that has rested long enough is preferred to one that is far (`isFar`). `restsUntil`: until when a
 * broadcast rests, by the monotonic clock like `now`, in milliseconds; undefined if it does not.
 */
export function chosenBroadcast(
  broadcasts: readonly ListedBroadcast[],
  restsUntil: (videoId: string) => number | undefined,
  now: number,
): ListedBroadcast | undefined {
  const first = broadcasts.find(({ videoId }) => restsUntil(videoId) === undefined);
  if (first && !first.isFar) return first;
  const rested = broadcasts.find(({ videoId }) => (restsUntil(videoId) ?? Number.POSITIVE_INFINITY) <= now);
  return rested ?? first;
}

/**
 * The videos that a channel's recording reads. A broadcast that is far (`isFar`) is read only if there is no
 * other. `now`: the upstream's wall time in milliseconds.
 */
export function recordedBroadcasts(broadcasts: readonly ListedBroadcast[], now: number): Set<string> {
  const next = broadcasts.find(({ state, isFar }) => state === "upcoming" && !isFar);
  const isWanted = (each: ListedBroadcast) => {
    const { state, isFar, startsAt = Number.POSITIVE_INFINITY } = each;
    return (
      each === broadcasts[0] || each === next || state === "live" || (!isFar && startsAt <= now + EARLY_MS)
    );
  };
  return new Set(broadcasts.filter(isWanted).map(({ videoId }) => videoId));
}
