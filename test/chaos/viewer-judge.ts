/**
 * Judges one viewer over all its connections: every connection begins where it must, cursors grow by one,
 * each message is that of its chat, and a terminal frame comes only if the room is over.
 */
import type { ChatObserver, ClientOptions } from "../harness/clients/observer.ts";
import { EVERYTHING, type Filter, passes } from "../harness/filters.ts";
import { Sequence } from "../harness/sequence.ts";
import type { AudienceJudge } from "./audience-judge.ts";
import { ConnectionTally } from "./connection-tally.ts";
import type { RoomTruth } from "./room-truth.ts";
import type { Verdict } from "./verdict.ts";

const DEFAULT_BACKFILL = 50;

export class ViewerJudge implements ChatObserver, AudienceJudge {
  readonly #name: string;
  readonly #room: RoomTruth;
  readonly #verdict: Verdict;
  readonly #backfill: number;
  readonly #detailed: boolean;
  /** What somebody had already seen when this viewer came: its backfill cannot begin before that. */
  readonly #seenAtFirst: number;
  readonly #filter: Filter;
  readonly #sequence: Sequence;
  /** Cursors that were skipped before any viewer had seen their messages. */
  readonly #skipped = new Set<number>();
  readonly #tally: ConnectionTally;
  #hasEnded = false;
  /** How many messages it was sent. */
  messages = 0;

  constructor(
    name: string,
    room: RoomTruth,
    { backfill = DEFAULT_BACKFILL, details = false }: Pick<ClientOptions, "backfill" | "details">,
    verdict: Verdict,
    filter = EVERYTHING,
    seenAtFirst = room.seenHead,
  ) {
    this.#filter = filter;
    this.#sequence = filter.passed ? new Sequence((cursor) => this.#isDue(cursor)) : new Sequence();
    this.#name = name;
    this.#room = room;
    this.#backfill = backfill;
    this.#detailed = details;
    this.#verdict = verdict;
    this.#seenAtFirst = seenAtFirst;
    this.#tally = new ConnectionTally(verdict);
  }

  get rooms(): readonly RoomTruth[] {
    return [this.#room];
  }

  get closeReason(): string {
    return this.#tally.closeReason;
  }

  get place(): string {
    return `${this.#room.videoId} at ${this.cursor}`;
  }

  lacks(due: (room: RoomTruth) => number): boolean {
    return !this.hasReached(due(this.#room));
  }

  /** The last cursor that it received; undefined before the first init. */
  get cursor(): number | undefined {
    return this.#sequence.cursor;
  }

  /** Whether it has everything up to the cursor that passes its filter. */
  hasReached(cursor: number): boolean {
    let reached = this.cursor ?? Number.NaN;
    while (reached < cursor && this.#isLeftOut(reached + 1)) reached += 1;
    return reached >= cursor;
  }

  #isLeftOut(cursor: number): boolean {
    const type = this.#room.typeAt(cursor);
    return type !== undefined && !passes(this.#filter, type);
  }

  /** What nobody has seen yet is judged later. */
  #isDue(cursor: number): boolean {
    if (this.#room.typeAt(cursor) !== undefined) return !this.#isLeftOut(cursor);
    this.#skipped.add(cursor);
    return false;
  }

  judgeSkipped(): void {
    for (const cursor of this.#skipped) {
      const type = this.#room.typeAt(cursor);
      if (type === undefined) continue;
      this.#skipped.delete(cursor);
      if (passes(this.#filter, type)) this.#violate(`is not sent ${cursor}, of type ${type}`);
    }
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  opened(init: { videoId: string; chatType: string; cursor: number }, lastEventId: number | undefined): void {
    const { videoId, chatType } = this.#room;
    this.#tally.opened();
    this.#hasEnded = false;
    if (init.videoId !== videoId || init.chatType !== chatType)
      this.#violate(`its init is of ${init.videoId}, ${init.chatType}`);
    const wrong =
      this.#sequence.begin(init.cursor, lastEventId) ??
      (lastEventId === 0 ? this.#room.begin(init.cursor) : undefined) ??
      this.#wrongStart(init.cursor, lastEventId);
    if (wrong) this.#violate(wrong);
  }

  #wrongStart(start: number, lastEventId: number | undefined): string | undefined {
    const { base, maxHead } = this.#room;
    if (base === undefined) return undefined; // its first viewer is still to come
    if (lastEventId === 0) return start === base ? undefined : `all was asked for; it begins after ${start}`;
    if (lastEventId !== undefined) return undefined; // judged by the sequence
    // A viewer that opens a replay receives all of it.
    if (start === base && this.#room.chatType === "liveChatReplayRenderer") return undefined;
    const backfilled = (end: number) => Math.max(base, end - this.#backfill);
    // With a filter, this depends on the types of all messages.
    const [from, to] = this.#filter.passed ? [base, maxHead] : [this.#seenAtFirst, maxHead].map(backfilled);
    const fits = start >= (from ?? 0) && start <= (to ?? 0);
    return fits
      ? undefined
      : `with a backfill of ${this.#backfill} it begins after ${start}, not ${from} to ${to}`;
  }

  message(cursor: number, data: string): void {
    this.messages += 1;
    const gap = this.#sequence.next(cursor);
    if (gap) this.#violate(gap);
    const fault = this.#room.fault(cursor, data, this.#detailed);
    if (fault) this.#violate(`cursor ${cursor}: ${fault}`);
    if (this.#isLeftOut(cursor)) this.#violate(`cursor ${cursor}: left out by ${this.#filter.types}`);
  }

  moved(cursor: number): void {
    const gap = this.#sequence.moved(cursor);
    if (gap) this.#violate(gap);
  }

  terminal(event: "end" | "error", reason: string): void {
    this.#verdict.count(`frames ${event}`);
    const wrong =
      event === "end" && reason === "no more continuations"
        ? this.#room.ended(this.#filter.passed ? undefined : this.cursor)
        : `sent ${event}, ${reason}`;
    if (wrong) this.#violate(wrong);
    else this.#hasEnded = true;
  }

  refused(status: number, code: string): void {
    this.#tally.refused(status, code);
  }

  closed(asked: boolean): void {
    this.#tally.closed(asked, this.#hasEnded);
  }

  malformed(what: string): void {
    this.#violate(`malformed: ${what}`);
  }

  #violate(what: string): void {
    this.#verdict.violate("stream", `viewer ${this.#name} of ${this.#room.videoId}: ${what}`);
  }
}
