/**
 * Watches one channel for everybody that waits for it: one look per interval, however many wait, and none
 * without watchers. Chooses the broadcast to read. Keeps to it until its watchers report its end or failure,
 * another one goes live, or, while it is only scheduled, it is cancelled or another one is due earlier. A
 * page that cannot be read, or lags behind, moves nobody away from a chat that continues.
 */
import { isDeepStrictEqual } from "node:util";
import { type Clock, nap } from "../../base/clock.ts";
import { messageOf, withoutStop } from "../../base/error-message.ts";
import { omitUndefined } from "../../base/json.ts";
import { dropOldest } from "../../base/maps.ts";
import { backoffMs } from "../../base/retry.ts";
import type { ChannelState } from "../../protocol/channel.ts";
import { isReplayChat } from "../../protocol/chat.ts";
import { type Absence, ChatAbsent, mayReturn, sentenceOf } from "../../protocol/chat-standing.ts";
import { isRefusal, RelayError } from "../../protocol/errors.ts";
import { keepVideo } from "../../reading/about-video.ts";
import { notHiddenAt } from "../../reading/batch/checkpoint.ts";
import { type HiddenSettings, notHiddenAfter, overIfLongHidden } from "../../reading/hidden-chat.ts";
import { LookWaits } from "../../reading/look-waits.ts";
import type { ObservedStore } from "../../store/observed.ts";
import { ifUnavailable } from "../../store/store-error.ts";
import { background } from "../../telemetry/background.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { type ChannelLook, ChannelMemory } from "../../upstream/channel-look.ts";
import type { Egress } from "../../upstream/egress/egress.ts";
import type { EgressPool } from "../../upstream/egress/pool.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import type { OpeningQueue, QueuedOpening } from "../opening/opening-queue.ts";
import { broadcastsInOrder, chosenBroadcast, type ListedBroadcast } from "./broadcast-choice.ts";
import { Broadcasts, type WatchedChannel } from "./broadcasts.ts";
import type { Watchers } from "./watchers.ts";

/** How long to ignore a listed video that does not exist or was never a broadcast. */
const NO_CHAT_MS = 600_000;
/** The longest wait between looks at a known channel that cannot be found. */
const MAX_ABSENT_MS = 600_000;
/** Ended broadcasts to remember, so that a page that lags behind does not bring them back. */
const MAX_OVER = 100;
/** A scheduled broadcast counts as cancelled if this many complete looks in a row do not show it. */
const MAX_MISSED = 2;

/** The same for all watches of an instance. */
interface ChannelWatchParts {
  store: Pick<ObservedStore, "getRoom" | "hasChannel" | "setVideo">;
  egresses: EgressPool;
  /** Where the first look at a channel waits for its turn, as videos do that nobody knows. */
  openings: OpeningQueue;
  clock: Clock;
  telemetry: Telemetry;
  settings: HiddenSettings & {
    /**
     * The minimum time between the starts of two looks at one channel, unless the first was cut short or
     * refused.
     */
    channelMs: number;
    /**
     * The interval of looks for a chat that is off or hidden, and the wait after a look at the channel that
     * was cut short.
     */
    lookMs: number;
  };
}

type ShownBroadcast = Pick<ChannelState, "state" | "videoId" | "startsAt" | "reason">;
type Names = Pick<ChannelState, "channelId" | "title">;

/** The broadcasts of a channel that can be read. */
export interface ChannelView {
  /** The most interesting broadcast comes first. */
  broadcasts: readonly ListedBroadcast[];
  /** Why its pages, or one of its other broadcasts, cannot be read. `isChatless`: that one has no chat. */
  trouble?: { why: string; isChatless: boolean };
}

/** A broadcast that cannot be read. Without `restsUntil`, it is tried again after the channel's next look. */
interface Trouble {
  /** Absent if it `hasEnded`. */
  why?: string;
  /** The broadcast may be chosen again after this time, if no other can be read but one that is far. */
  restsUntil?: number;
  /** Set if its chat may come back: when its pages are asked next. */
  nextLookAt?: number;
  waits?: LookWaits;
  /** When a page last showed that it is not hidden, as `notHiddenAfter` says. */
  notHiddenAt?: number;
}

/** Whether its room was read to the end, and its pages have not said yet whether the chat is over. */
const hasEnded = ({ why }: Trouble): boolean => why === undefined;

export class ChannelWatch implements WatchedChannel {
  readonly channel: string;
  readonly broadcasts = new Broadcasts();
  readonly watchers: Watchers;
  readonly #parts: ChannelWatchParts;
  readonly #memory = new ChannelMemory();
  readonly #wasKnown: boolean;
  #names: Names = {};
  /** The latest successful look, with the chosen broadcast even if a page does not show it. */
  #look: ChannelLook | undefined;
  /** Why the last look failed; undefined if it did not. */
  #failure: string | undefined;
  /** The number of complete looks (`isComplete`) in a row that did not show the chosen broadcast. */
  #missed = 0;
  readonly #over = new Set<string>();
  readonly #troubles = new Map<string, Trouble>();
  /** The chosen broadcast whose chat goes on after its end. */
  #reopened: string | undefined;
  /**
   * By video, when its pages last showed that its chat goes on after an end. A later answer may end it again.
   */
  readonly #reopenedAt = new Map<string, number>();
  /** The address of the first watcher, who may have left. */
  #address = "";
  /** The look that waits for its turn. */
  #queued: QueuedOpening<unknown> | undefined;
  /** How many watchers are recordings. */
  #recorders = 0;
  /** How often in a row the channel, which is known, was not found. */
  #absences = 0;
  /** Wakes the loop of looks. */
  #wake = () => {};
  /** When the next look may begin, on the monotonic clock. */
  #dueAt = Number.NEGATIVE_INFINITY;

  /** `wasKnown`: whether this instance has seen pages of the channel before. */
  constructor(channel: string, parts: ChannelWatchParts, watchers: Watchers, wasKnown = false) {
    this.channel = channel;
    this.watchers = watchers;
    this.#wasKnown = wasKnown;
    this.#parts = parts;
  }

  /** Whether nobody watches it, and the next look is due. */
  get isIdle(): boolean {
    return this.watchers.count === 0 && this.#parts.clock.monotonic() >= this.#dueAt;
  }

  get isKnown(): boolean {
    return this.#look !== undefined;
  }

  /** Adds a watcher of this address, or network; empty if it is a recording. Disposing removes one. */
  join(address: string): this {
    this.#queued?.add(address);
    if (this.watchers.add()) {
      this.#address = address;
      const { signal } = this.watchers;
      void background(`watch of ${this.channel}`, this.#parts, signal, () => this.#watch(signal));
    }
    return this;
  }

  [Symbol.dispose](): void {
    this.watchers.remove();
    if (this.watchers.count > 0) return;
    // The end of the watch has ended the first look.
    if (!this.broadcasts.state && !this.broadcasts.refusal) this.#dueAt = Number.NEGATIVE_INFINITY;
  }

  /**
   * For a recording: yields after the first look, and after each further look and each report. Rejects as
   * `Broadcasts.changedSince` does.
   */
  async *views(signal: AbortSignal): AsyncGenerator<ChannelView, never, void> {
    this.#recorders += 1;
    try {
      for (;;) {
        const { changes } = this.broadcasts;
        if (this.broadcasts.refusal) throw this.broadcasts.refusal;
        if (this.broadcasts.state) yield this.#view();
        await this.broadcasts.changedSince(changes, signal);
      }
    } finally {
      this.#recorders -= 1;
    }
  }

  #view(): ChannelView {
    const all = this.#listed();
    const broadcasts = all.filter(({ videoId }) => !this.#troubles.has(videoId));
    if (this.#failure !== undefined)
      return { broadcasts, trouble: { why: this.#failure, isChatless: false } };
    const troubles = all.flatMap(({ videoId }) => this.#troubles.get(videoId) ?? []);
    const found = troubles.find(({ restsUntil }) => restsUntil === undefined) ?? troubles[0];
    if (found?.why === undefined) return { broadcasts };
    return { broadcasts, trouble: { why: found.why, isChatless: found.restsUntil !== undefined } };
  }

  get names(): readonly string[] {
    const { channelId, handle } = this.#look ?? {};
    return [this.channel, channelId, handle].filter((name) => name !== undefined);
  }

  /** As the last look found it, finished broadcasts included. */
  shows(videoId: string): boolean {
    const { live = [], upcoming = [], others = [] } = this.#look ?? {};
    return [...live, ...others, ...upcoming.map((each) => each.videoId)].includes(videoId);
  }

  /** A watcher has read a broadcast's chat to the end of its room. Its pages say whether it is over. */
  ended(videoId: string): void {
    if (this.#over.has(videoId) || this.#troubles.get(videoId)?.nextLookAt !== undefined) return;
    const { clock, settings } = this.#parts;
    const reopenedAt = this.#reopenedAt.get(videoId) ?? Number.NEGATIVE_INFINITY;
    this.#awaitChat(videoId, undefined, Math.max(clock.monotonic(), reopenedAt + settings.lookMs));
    this.#choose();
  }

  /**
   * The room of a broadcast failed, or its chat is not there. A chat that may come back is looked for while
   * others are preferred; a broadcast whose room failed is tried again after the next look. Errors that
   * concern one viewer alone, such as CAPACITY, must not be reported here.
   */
  failed(videoId: string, error: Error): void {
    const absence = error instanceof ChatAbsent ? error.absence : undefined;
    if (!absence || absence.is === "unknown") {
      const why = withoutStop(error.message);
      if (!this.#troubles.has(videoId)) this.#troubles.set(videoId, { why });
    } else this.#takeStanding(videoId, absence);
    this.#choose();
  }

  /** A recording knows that the chat of a broadcast is over: it is never chosen again. */
  over(videoId: string): void {
    this.#markOver(videoId);
    this.#choose();
  }

  /** The chat of a broadcast is not there. */
  #takeStanding(videoId: string, absence: Absence): void {
    const { clock, egresses } = this.#parts;
    if (absence.is === "over") this.#markOver(videoId);
    else if (mayReturn(absence)) {
      this.#awaitChat(videoId, sentenceOf(absence));
      const trouble = this.#troubles.get(videoId);
      if (trouble && absence.is === "off") trouble.notHiddenAt = egresses.witness.now;
    } else
      this.#troubles.set(videoId, { why: sentenceOf(absence), restsUntil: clock.monotonic() + NO_CHAT_MS });
  }

  /** A page says that the chat is hidden: as in its room, it is over once it has been for too long. */
  async #staysHidden(videoId: string, absence: Absence): Promise<void> {
    const room = await this.#parts.store.getRoom(videoId).catch(ifUnavailable(undefined));
    const known = this.#troubles.get(videoId)?.notHiddenAt ?? (room && notHiddenAt(room));
    const at = notHiddenAfter(absence, known, this.#parts);
    this.#takeStanding(videoId, overIfLongHidden(absence, at, this.#parts));
    const trouble = this.#troubles.get(videoId);
    if (trouble) trouble.notHiddenAt = at;
  }

  /** The broadcast is never chosen again. */
  #markOver(videoId: string): void {
    this.#troubles.delete(videoId);
    this.#over.add(videoId);
    dropOldest(this.#over, MAX_OVER);
  }

  /**
   * The broadcast's pages are asked for its chat, at intervals until they have it. `why` and `at`, if they
   * are not given: as before, and after the usual wait.
   */
  #awaitChat(videoId: string, why?: string, at?: number): void {
    const { clock, settings } = this.#parts;
    const now = clock.monotonic();
    const known = this.#troubles.get(videoId) ?? {};
    const { waits = new LookWaits(settings, clock) } = known;
    const nextAt = () => now + waits.next(this.watchers.count > this.#recorders);
    const nextLookAt =
      at ?? (known.nextLookAt === undefined || known.nextLookAt <= now ? nextAt() : known.nextLookAt);
    const trouble = { ...known, restsUntil: Number.POSITIVE_INFINITY, nextLookAt, waits };
    this.#troubles.set(videoId, why === undefined ? trouble : { ...trouble, why });
    this.#wake();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { clock, settings } = this.#parts;
    while (!signal.aborted && !this.broadcasts.refusal) {
      const { promise: woken, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const now = clock.monotonic();
      const [videoId, { nextLookAt = Number.POSITIVE_INFINITY } = {}] = this.#nextAwaited();
      if (this.#dueAt <= now) {
        const dueAt = now + settings.channelMs;
        this.#dueAt = dueAt;
        const isMade = await this.#lookOnce(signal);
        if (!isMade && this.#dueAt === dueAt) {
          this.#dueAt = Math.min(dueAt, now + settings.lookMs);
          this.#wake();
        }
      } else if (videoId !== undefined && nextLookAt <= now) await this.#lookForChat(videoId, signal);
      else await nap(clock, Math.min(this.#dueAt, nextLookAt) - now, woken, signal);
    }
  }

  /** The broadcast whose pages are asked next for its chat. */
  #nextAwaited(): [videoId?: string, trouble?: Trouble] {
    const at = ({ nextLookAt = Number.POSITIVE_INFINITY }: Trouble) => nextLookAt;
    return [...this.#troubles].sort(([, one], [, other]) => at(one) - at(other))[0] ?? [];
  }

  async #lookForChat(videoId: string, signal: AbortSignal): Promise<void> {
    const standing = await this.#parts.egresses
      .call(signal, (egress) => egress.standingOf(videoId, signal))
      .catch((error: unknown): Absence => {
        if (signal.aborted || error instanceof UpstreamError || error instanceof RelayError)
          return { is: "unknown", why: withoutStop(messageOf(error)) };
        throw error;
      });
    if (signal.aborted) return;
    if (standing.is === "there") {
      const trouble = this.#troubles.get(videoId);
      if (isReplayChat(standing.chatType)) this.#markOver(videoId);
      else {
        this.#troubles.delete(videoId);
        if (trouble && hasEnded(trouble)) {
          this.#reopened = videoId;
          this.#reopenedAt.set(videoId, this.#parts.clock.monotonic());
          dropOldest(this.#reopenedAt, MAX_OVER);
        }
      }
    } else if (standing.is === "unknown") this.#awaitChat(videoId);
    else if (standing.is === "none") this.#markOver(videoId);
    else if (standing.is === "hidden") await this.#staysHidden(videoId, standing);
    else this.#takeStanding(videoId, standing);
    this.#choose();
    await keepVideo(videoId, standing.video, this.#parts.store);
  }

  /** Resolves to false if its last watcher has left during the look, which may then be repeated early. */
  async #lookOnce(signal: AbortSignal): Promise<boolean> {
    try {
      this.#saw(this.isKnown ? await this.#lookNow(signal) : await this.#lookInTurn(signal));
    } catch (error) {
      if (signal.aborted) return false;
      await this.#sawNothing(error, signal);
    }
    return true;
  }

  #lookNow(signal: AbortSignal, preferred?: Egress): Promise<ChannelLook> {
    const lookAt = (egress: Egress) => egress.lookAt(this.channel, this.#memory, signal);
    return this.#parts.egresses.call(signal, lookAt, preferred);
  }

  /** A made-up channel costs a look as well, so it waits for its turn. */
  async #lookInTurn(signal: AbortSignal): Promise<ChannelLook> {
    using queued = this.#parts.openings.join(this.#address, "channels");
    this.#queued = queued;
    const rank = this.#address === "" ? "open" : "unknown";
    const turn = queued.turn(rank, AbortSignal.any([signal, queued.displaced]));
    using opening = await turn.finally(() => {
      if (this.#queued === queued) this.#queued = undefined;
    });
    return await this.#lookNow(signal, opening.egress);
  }

  #saw(look: ChannelLook): void {
    const { live, upcoming, channelId, title } = look;
    this.#parts.telemetry.channels.looked(
      live.length > 0 ? "live" : upcoming.length > 0 ? "upcoming" : "nothing",
    );
    // Pages name a channel in several languages.
    this.#names = { ...omitUndefined<Names>({ channelId, title }), ...this.#names };
    this.#failure = undefined;
    this.#absences = 0;
    // The chat of a scheduled broadcast is often switched on only as it begins.
    for (const videoId of live) if (!this.#look?.live.includes(videoId)) this.#troubles.delete(videoId);
    this.#look = this.#withChosen(look);
    this.#tryAgain();
  }

  /** Whether pages have shown the channel before; also if the store does not say. */
  async #wasSeen(): Promise<boolean> {
    if (this.#look || this.#wasKnown) return true;
    return await this.#parts.store.hasChannel(this.channel).catch(ifUnavailable(true));
  }

  async #sawNothing(error: unknown, signal: AbortSignal): Promise<void> {
    const { clock, settings, telemetry } = this.#parts;
    const isAbsent = isRefusal(error, "NO_LIVE_CHAT");
    const throttled = error instanceof UpstreamError && error.fault === "throttled" ? error : undefined;
    telemetry.channels.looked(isAbsent ? "absent" : throttled ? "throttled" : "unreadable");
    const isRefused = isRefusal(error, "CAPACITY");
    if (isRefused && !this.broadcasts.state) {
      this.#dueAt = Number.NEGATIVE_INFINITY; // the next viewer's watch looks at once
      return this.broadcasts.refuse(error);
    }
    const isUnknown = isAbsent && !(await this.#wasSeen());
    if (signal.aborted) return;
    if (isUnknown) return this.broadcasts.refuse(error);
    // A channel that is known may only be out of reach for a while.
    const absentWaits = { firstMs: settings.channelMs, maxMs: MAX_ABSENT_MS };
    const absentMs = isAbsent ? backoffMs(absentWaits, this.#absences++) : 0;
    const waitMs = Math.max(throttled?.retryAfterMs ?? 0, absentMs);
    this.#dueAt = Math.max(this.#dueAt, clock.monotonic() + waitMs);
    this.#failure = withoutStop(messageOf(error));
    this.#tryAgain();
  }

  /** The look, with the chosen broadcast kept in it, unless that was replaced or cancelled. */
  #withChosen(look: ChannelLook): ChannelLook {
    const { state, videoId } = this.broadcasts.state ?? {};
    if (videoId === undefined || state === "waiting") return look;
    const upcoming = look.upcoming.filter((each) => each.videoId !== videoId);
    if (state === "live") {
      // The order on the page does not decide: one is newer only if the last look did not show it live.
      const newer = look.live.filter((id) => id !== videoId && !this.#look?.live.includes(id));
      return { ...look, live: [...new Set([...newer, videoId, ...look.live])], upcoming };
    }
    const isShown = look.live.includes(videoId) || upcoming.length < look.upcoming.length;
    if (isShown || look.isComplete) this.#missed = isShown ? 0 : this.#missed + 1;
    if (isShown || this.#missed >= MAX_MISSED) return look;
    const known = this.#look?.upcoming.filter((each) => each.videoId === videoId) ?? [];
    return { ...look, upcoming: [...upcoming, ...known] };
  }

  /** A look is over: broadcasts that failed are tried again. */
  #tryAgain(): void {
    const listed = new Set(this.#listed().map(({ videoId }) => videoId));
    for (const [videoId, { restsUntil, nextLookAt }] of this.#troubles) {
      const isForgotten = nextLookAt === undefined && !listed.has(videoId);
      if (restsUntil === undefined || isForgotten) this.#troubles.delete(videoId);
    }
    this.#choose();
  }

  #listed(): ListedBroadcast[] {
    if (!this.#look) return [];
    const broadcasts = broadcastsInOrder(this.#look, this.#parts.egresses.witness.now);
    return broadcasts.filter(({ videoId }) => !this.#over.has(videoId));
  }

  #choose(): void {
    const broadcasts = this.#listed();
    const restsUntil = (videoId: string) => this.#troubles.get(videoId)?.restsUntil;
    const chosen = chosenBroadcast(broadcasts, restsUntil, this.#parts.clock.monotonic());
    if (chosen && restsUntil(chosen.videoId) !== undefined) this.#troubles.delete(chosen.videoId);
    const isReadable = chosen && !this.#troubles.has(chosen.videoId);
    const facts = isReadable ? factsOf(chosen) : this.#wait(chosen, broadcasts);
    const readable = broadcasts.filter((each) => each.state === "live" && !this.#troubles.has(each.videoId));
    const live = readable.map((each) => each.videoId).sort();
    const state = { channel: this.channel, ...this.#names, ...facts };
    const shown = this.broadcasts.state;
    if (shown && isDeepStrictEqual(state, shown)) return void this.broadcasts.show(shown, false, live);
    const isReopened = this.#reopened !== undefined && this.#reopened === facts.videoId;
    this.#reopened = undefined;
    this.#parts.telemetry.channels.changed(state);
    this.broadcasts.show(state, isReopened, live);
  }

  /** What viewers are shown while no broadcast can be read. `chosen`: the one that they wait for, if any. */
  #wait(chosen: ListedBroadcast | undefined, broadcasts: readonly ListedBroadcast[]): ShownBroadcast {
    const isBlocked = ({ videoId }: ListedBroadcast) => {
      const trouble = this.#troubles.get(videoId);
      return trouble !== undefined && !hasEnded(trouble);
    };
    const blocked = chosen ?? broadcasts.find(isBlocked);
    const { why, nextLookAt } = (blocked && this.#troubles.get(blocked.videoId)) ?? {};
    const reason = chosen ? why : (this.#failure ?? why);
    const videoId = why !== undefined && nextLookAt !== undefined ? blocked?.videoId : undefined;
    return {
      state: "waiting",
      ...omitUndefined<Pick<ShownBroadcast, "videoId" | "reason">>({ videoId, reason }),
    };
  }
}

function factsOf({ videoId, state, startsAt }: ListedBroadcast): ShownBroadcast {
  if (state === "live" || startsAt === undefined) return { state, videoId };
  return { state, videoId, startsAt: new Date(startsAt).toISOString() };
}
