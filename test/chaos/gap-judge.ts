/**
 * Judges the gaps with no messages missing. Such a gap is right if the service could not know better, and
 * false in two cases:
 *
 * - there was no silence: the last good answer was made more recently than the upstream's window, and no page
 * was requested since it came;
 * - the service saw that nothing is missing: a complete page shows a message that the room held before.
 *
 * A page counts if the service could use it: in the same life, with the same owner of the room, and not for
 * the answer before the silence, which a page may complete. It shows Top chat, which leaves messages out. So
 * it proves nothing unless the answer with all messages comes soon after it.
 */
import type { RequestRecord } from "../../simulator/requests.ts";
import type { Gap, RoomTruth } from "./room-truth.ts";

/** What the upstream holds for a late reader. */
const WINDOW_MS = 10_000;
/** How long the service waits for a page that completes an answer, and for the answer behind it. */
const FOLLOWED_MS = 5000;
/** Two clocks are compared: the service's wall clock and the monotonic one of this process. */
const SLACK_MS = 100;

/** When a gap's details and its store row say that it happened, in milliseconds since 1970. */
interface GapTimes {
  since: number;
  storedAt: number;
}

export class GapJudge {
  /** Pages of chats that were asked for, whole or not. */
  readonly #pages: RequestRecord[] = [];
  /** When the service lost what it had in hand: of one room, or of all. */
  readonly #losses: { at: number; videoId: string | undefined }[] = [];
  /** Answers of chats: when they were asked for and so made, and when they were sent. */
  readonly #answers: { videoId: string | undefined; at: number; finishedAt: number }[] = [];
  #unanswered: RequestRecord[] = [];
  #observedUpTo = Number.NEGATIVE_INFINITY;

  /** To be called often enough for the simulator to have forgotten nothing in between. */
  observe(requests: readonly RequestRecord[]): void {
    for (const request of requests.slice(requests.findLastIndex(({ at }) => at <= this.#observedUpTo) + 1)) {
      this.#observedUpTo = request.at;
      if (request.kind === "popout" || request.kind === "watch") this.#pages.push(request);
      this.#unanswered.push(request);
    }
    this.#unanswered = this.#unanswered.filter(({ videoId, at, status, finishedAt }) => {
      if (status === 200 && finishedAt !== undefined) this.#answers.push({ videoId, at, finishedAt });
      return finishedAt === undefined;
    });
  }

  /** From now on the service knows only the stored rows. */
  lost(videoId?: string): void {
    this.#losses.push({ at: performance.now(), videoId });
  }

  /** Why the gap should not be there; undefined where it may be. */
  fault(room: RoomTruth, gap: Gap, times: GapTimes): string | undefined {
    if (gap.missing > 0) return undefined;
    const since = times.since - performance.timeOrigin;
    const storedAt = times.storedAt - performance.timeOrigin + SLACK_MS;
    const asked = this.#pages.filter(
      ({ videoId, at }) => videoId === room.videoId && at > since - SLACK_MS && at < storedAt,
    );
    // A page that was long in transit shows no messages said meanwhile.
    const last = this.#answers.findLast(
      ({ videoId, finishedAt }) => videoId === room.videoId && finishedAt <= since + SLACK_MS,
    );
    const silentMs = storedAt - Math.min(since, last?.at ?? since);
    if (silentMs < WINDOW_MS && asked.length === 0) return `a gap after no more than ${silentMs} ms`;
    const lostAt = this.#losses.findLast(
      ({ at, videoId }) => at < storedAt && at > since && (videoId ?? room.videoId) === room.videoId,
    )?.at;
    const usableFrom = lostAt ?? since + WINDOW_MS - SLACK_MS;
    const proof = asked.find(
      (page) =>
        page.at >= usableFrom &&
        isWhole(page, storedAt) &&
        shows(room, page, gap) &&
        this.#isFollowed(page, storedAt),
    );
    if (!proof) return undefined;
    const whole = proof.finishedAt ?? proof.at;
    const [afterMs, tookMs, beforeMs] = [proof.at - since, whole - proof.at, storedAt - whole].map(
      Math.round,
    );
    return `a gap although the page of ${Math.round(proof.at)} joins what the room held: asked for ${afterMs} ms after the last answer, whole after ${tookMs} ms, and ${beforeMs} ms before the gap was stored`;
  }

  /** Whether the answer behind the page came before that time, and soon. */
  #isFollowed(
    { videoId, at: askedAt, finishedAt: shownAt = askedAt }: RequestRecord,
    before: number,
  ): boolean {
    return this.#answers.some(
      ({ videoId: of, at, finishedAt }) =>
        of === videoId && at >= shownAt && finishedAt < Math.min(before, askedAt + FOLLOWED_MS),
    );
  }
}

function isWhole({ kind, faulted, status, finishedAt }: RequestRecord, before: number): boolean {
  return kind === "popout" && !faulted && status === 200 && finishedAt !== undefined && finishedAt < before;
}

/** Whether what the room held before the gap was on the page. */
function shows({ chat, pageLength }: RoomTruth, page: RequestRecord, gap: Gap): boolean {
  const said = chat.ledger.findLastIndex(({ at }) => at <= page.at) + 1;
  return gap.lastJoining >= said - pageLength;
}
