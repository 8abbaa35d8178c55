/**
 * Judges the service from the upstream's side: one poller per room, calls as far apart and as few at once as
 * configured, silence during a cooldown, no poll for a room that nobody has watched for long.
 */
import { madeAt, viewIn } from "../../simulator/continuation-book.ts";
import type { Simulator } from "../../simulator/index.ts";
import type { RequestRecord } from "../../simulator/requests.ts";
import type { Promised } from "../harness/promises.ts";
import type { Verdict } from "./verdict.ts";

/** What the service under test was set to. */
export interface Limits {
  spacingMs: number;
  concurrency: number;
  cooldownMs: number;
  pollMinMs: number;
}

/**
 * A busy machine can bunch arrivals, and a judge that then reports false violations is useless. So this much
 * is tolerated, plus the time by which the judge itself runs late.
 */
const SLACK_MS = 60;
const TICK_MS = 10;
/** Long, so that arrivals in a bunch do not weigh much. */
const WINDOW_MS = 3000;
/** How far back an earlier request can matter: beyond the longest deadline of one. */
const LOOK_BACK_MS = 20_000;
const CHAT_KINDS: readonly string[] = ["get_live_chat", "get_live_chat_replay"];

export class UpstreamJudge {
  readonly #upstream: Pick<Simulator, "requests">;
  readonly #limits: Limits;
  readonly #verdict: Verdict;
  #lifeBeganAt = Number.POSITIVE_INFINITY;
  #judgedUpTo = Number.NEGATIVE_INFINITY;
  /** When a stopped process continued: the calls that it still had to send may be bunched. */
  #frozenUntil = Number.NEGATIVE_INFINITY;

  /** When this very process, and with it the upstream, ran late, and by how much. */
  readonly #lateness: { at: number; ms: number }[] = [];
  readonly #ticking: NodeJS.Timeout;

  constructor(upstream: Pick<Simulator, "requests">, limits: Limits, verdict: Verdict) {
    this.#upstream = upstream;
    this.#limits = limits;
    this.#verdict = verdict;
    let last = performance.now();
    this.#ticking = setInterval(() => {
      const at = performance.now();
      if (at - last > 2 * TICK_MS) this.#lateness.push({ at, ms: at - last });
      last = at;
      if (this.#lateness.length > 1000) this.#lateness.shift();
    }, TICK_MS);
  }

  close(): void {
    clearInterval(this.#ticking);
  }

  /** How much earlier than it was noted something may have happened at that time. */
  #slackMs(noted: number, until: number): number {
    const late = this.#lateness.filter(({ at, ms }) => at >= noted && at - ms <= until);
    return late.reduce((sum, { ms }) => sum + ms, SLACK_MS);
  }

  /** The service was started: requests of the previous process are no longer judged. */
  lifeBegins(): void {
    this.#lifeBeganAt = performance.now();
  }

  /** The service was stopped for a while, and continues from now on. */
  thawed(): void {
    this.#frozenUntil = performance.now() + WINDOW_MS;
  }

  /** Looks at all requests of the present life that came since the last look. */
  judge(): void {
    const from = Math.max(this.#lifeBeganAt, this.#frozenUntil, this.#judgedUpTo - LOOK_BACK_MS);
    const life = this.#upstream.requests.filter(({ at }) => at >= from);
    const fresh = life.filter(({ at }) => at > this.#judgedUpTo);
    this.#judgedUpTo = fresh.at(-1)?.at ?? this.#judgedUpTo;
    for (const request of fresh) this.#judgeOne(request, life);
  }

  #judgeOne(request: RequestRecord, life: readonly RequestRecord[]): void {
    const { at, kind, videoId, client } = request;
    const before = life.filter((other) => other !== request && other.at <= at);
    const inFlight = before.filter(({ finishedAt = Number.POSITIVE_INFINITY }) => finishedAt > at + 1);
    this.#expect(
      "gate",
      inFlight.length < this.#limits.concurrency + 1,
      request,
      `${inFlight.length} others in flight`,
    );
    const inWindow = before.filter((other) => other.at > at - WINDOW_MS).length;
    const most = (WINDOW_MS + this.#slackMs(at - WINDOW_MS, at)) / this.#limits.spacingMs + 1;
    this.#expect("gate", inWindow <= most, request, `${inWindow} calls within ${WINDOW_MS} ms`);
    // A page that was throttled is a reason for other pages alone to wait.
    const isPage = !CHAT_KINDS.includes(kind);
    const throttled = before.findLast(
      (other) => other.status === 429 && (isPage || CHAT_KINDS.includes(other.kind)),
    );
    const throttling = throttled?.finishedAt ?? Number.NEGATIVE_INFINITY;
    const quietMs = at - throttling;
    const slackMs = this.#slackMs(throttling - WINDOW_MS, at);
    // A call that was in flight when the answer came is not a violation.
    const isKnown = quietMs > slackMs;
    this.#expect(
      "gate",
      !isKnown || quietMs > this.#limits.cooldownMs - slackMs,
      request,
      `${quietMs} ms into a cooldown`,
    );
    if (!CHAT_KINDS.includes(kind) || videoId === undefined) return;
    const isOfChat = (other: RequestRecord) => CHAT_KINDS.includes(other.kind);
    const ofRoom = before.filter((other) => other.videoId === videoId && isOfChat(other));
    const overlaps = ofRoom.some(({ finishedAt = Number.POSITIVE_INFINITY }) => finishedAt > at + 1);
    this.#expect("poller", !overlaps, request, "a second poll of one room at once");
    // A bootstrap tries one pair of client and endpoint right after the other. After an answer that was
    // spoilt, a room may poll again as soon as another room is answered.
    const last = ofRoom.findLast(
      (other) => other.status === 200 && !other.faulted && other.kind === kind && other.client === client,
    );
    const beforeLast = ofRoom.findLast((other) => last !== undefined && other.at < last.at);
    // The answer to a page's token completes the late answer before it, which goes on with its own token.
    const isBehindLate = last !== undefined && (madeOf(request) ?? 0) < (madeOf(last) ?? 0);
    const previous = isBehindLate ? beforeLast : last;
    // An interval runs from start to start: after a slow answer the next poll may go out at once.
    const intervalMs = at - (previous?.at ?? Number.NEGATIVE_INFINITY);
    const minMs = this.#limits.pollMinMs - this.#slackMs((last?.at ?? at) - WINDOW_MS, at);
    const isPageBetween = (from: number, to: number) =>
      before.some(
        (other) => other.videoId === videoId && from < other.at && other.at < to && !isOfChat(other),
      );
    const isOpening = isPageBetween(last?.at ?? 0, at);
    // The first answer to a page's token of Top chat offers that of all messages, which is called at once.
    const isOfPage = last !== undefined && isPageBetween(beforeLast?.at ?? 0, last.at);
    const isOfMenu = isOfPage && viewOf(last) === "top" && viewOf(request) === "all";
    this.#expect(
      "gate",
      isOpening || isOfMenu || intervalMs > minMs,
      request,
      `polled again after ${intervalMs} ms`,
    );
  }

  #expect(
    promise: Promised,
    holds: boolean,
    { kind, videoId = "no video", at }: RequestRecord,
    what: string,
  ): void {
    if (!holds) this.#verdict.violate(promise, `${kind} of ${videoId} at ${Math.round(at)}: ${what}`);
  }
}

/** The view that a chat call reads. */
function viewOf({ continuation = "" }: RequestRecord) {
  return viewIn(continuation);
}

/** When the token of a chat call was made. */
function madeOf({ continuation = "" }: RequestRecord) {
  return madeAt(continuation);
}
