/**
 * Checks one room's log in the store against its chat: consecutive cursors, each id once, the chat's order,
 * no gap without a `gap` message, and no loss of messages that an answer contained.
 */

import { isDeepStrictEqual } from "node:util";
import { dig, parseObject } from "../../simulator/plain-json.ts";
import type { Says } from "../../simulator/says.ts";
import type { Chat } from "../../simulator/simulated-chat.ts";
import type { ChatView } from "../../src/protocol/chat.ts";
import { type ChatKey, chatKey } from "../../src/protocol/chat-key.ts";
import type { StoredMessage } from "../../src/store/stored-message.ts";
import type { Journal } from "../harness/journal.ts";
import type { Peek } from "../harness/peek.ts";
import type { Promised } from "../harness/promises.ts";

/** Types of messages that occur once; no ticker repeats them. */
const PLAIN = new Set(["chat", "donation"]);

/** In a shorter unread time before a page, a gap needs no message if less than one message was expected. */
const BRIEF_MS = 10_000;
const MINUTE_MS = 60_000;

/** The upstream still has all since a page, if the answer after it comes within this time. */
const PROMPT_MS = 9000;
/** The minimum number of messages with which a token of all messages begins. */
const BACKLOG = 20;

/** Messages in a row, and the cursor before them; undefined while there are none. */
interface Log {
  base: number | undefined;
  rows: readonly StoredMessage[];
}

export class RoomJudge {
  readonly chat: Chat;
  /** The time at which the upstream drops its last burst, on the simulation's clock. */
  burstHeldUntil = 0;
  /** Whether the chat is a replay: all of it can be read at any time. */
  isReplay = false;
  /** The judge of the video's replay, if its stream ends in the run; of a replay, that of its live chat. */
  replay: RoomJudge | undefined;
  live: RoomJudge | undefined;
  /** The time at which the chat ended; infinite while it is open. */
  overSince = Number.POSITIVE_INFINITY;
  /** The home instance of its viewers; undefined if they come to any. */
  home: string | undefined;
  /** The id of the message that the chat says at the end, in calm, and its cursor once it is stored. */
  finalMessageId: string | undefined;
  finalCursor: number | undefined;
  /**
   * Times in which the upstream withheld messages: no answer has them, and the service cannot know of the
   * gap. Virtual milliseconds.
   */
  readonly silences: { from: number; to: number }[] = [];
  readonly #journal: Journal;
  /** The cursor before the first row; undefined while there is none. */
  base: number | undefined;
  /** The same while there is no row, as the store last said: an edge may hold a log without rows. */
  #emptyBase: number | undefined;
  rows: StoredMessage[] = [];
  /** The logs of lost stores, which edges may still hold. */
  readonly #former: Log[] = [];
  readonly #ids = new Set<string>();
  /** The ledger's index of each plain message. */
  readonly #places = new Map<string, number>();
  #heard = 0;
  /**
   * Whether a page of the chat has arrived that may show older messages than the log: they follow in order,
   * once.
   */
  #hasNewPage = false;
  /** Whether all messages came after a page, and so those that it left out may follow, once. */
  #isRestDue = false;
  /** Whether the page's own messages were older than the log: it was stored alone, before the rest. */
  #hasTurned = false;
  /** Whether a good answer followed that page: at the next call, everything in the two must be stored. */
  #isPageFollowed = false;
  #isPageStored = false;
  /** The begin of the last call with a good answer. */
  #readAt = Number.NEGATIVE_INFINITY;
  /** The longest unread time before the pages that came since the log last grew from an answer. */
  #unread = { from: 0, to: 0 };
  /** The ledger's indexes of the first plain message that the log got, and of its last one. */
  #firstPlace: number | undefined;
  #lastPlace: number | undefined;
  #hasGapSince = false;
  /** Whether the store has the replay, so that this log, of the live chat, must not grow. */
  #isClosed = false;
  /** The ledger's index up to which a `gap` message accounts for missing messages. */
  #toldUpTo = -1;
  /**
   * The ledger's indexes between which a `gap` message accounts for all that is missing: also for the rest,
   * when a later answer in Top chat has brought a part.
   */
  readonly #told: { from: number; to: number }[] = [];
  /**
   * Whether all messages since a `gap` are ones that Top chat shows: they may be older than the answer with
   * all messages, and then the gap accounts for those that Top chat leaves out among them.
   */
  #isInTopBehindGap = false;
  /**
   * Whether the log has no gap yet, and only messages that Top chat shows: its page may reach further back
   * than all messages.
   */
  #isBeginning = true;

  /** The view that its room must read. */
  readonly #view: ChatView;
  /** Times in which only Top chat was read: it leaves messages out. */
  readonly #inTop: { from: number; to: number }[] = [];
  /** The begin of such a time that goes on: of the call before a page, or before an answer in Top chat. */
  #inTopSince: number | undefined;
  #pageAt = Number.NEGATIVE_INFINITY;

  constructor(chat: Chat, { view, journal }: { view: ChatView; journal: Journal }) {
    this.chat = chat;
    this.#view = view;
    this.#journal = journal;
  }

  get videoId(): string {
    return this.chat.videoId;
  }

  /** Its log in the store. */
  get key(): ChatKey {
    return chatKey(this.videoId, this.isReplay ? "replay" : "live");
  }

  get head(): number | undefined {
    return this.base === undefined ? undefined : this.base + this.rows.length;
  }

  /** The store is lost, and the room's log with it. */
  forget(): void {
    this.#former.push({ base: this.base ?? this.#emptyBase, rows: this.rows });
    this.base = undefined;
    this.#emptyBase = undefined;
    this.rows = [];
    this.#ids.clear();
    this.#firstPlace = undefined;
    this.#lastPlace = undefined;
    this.#isClosed = false;
    this.#isBeginning = true;
  }

  at(cursor: number): StoredMessage | undefined {
    const { base = 0, rows }: Log = [this, ...this.#former].find((log) => isIn(log, cursor - 1)) ?? this;
    return rows[cursor - base - 1];
  }

  /** Whether a connection may begin after the cursor: after any, while nothing is stored. */
  holds(cursor: number): boolean {
    return this.base === undefined || [this, ...this.#former].some((log) => isIn(log, cursor));
  }

  /** Whether the store holds messages of this room, and the cursor is among theirs. */
  isStored(cursor: number): boolean {
    return this.rows.length > 0 && isIn(this, cursor);
  }

  /** Whether a viewer at the cursor has everything: also of a log that only an edge still holds. */
  endsAt(cursor: number | undefined): boolean {
    const isEnd = ({ base = Number.NaN, rows }: Log) => cursor === base + rows.length;
    return this.base === undefined || [this, ...this.#former].some(isEnd);
  }

  /** The first message of the chat that the log lacks. */
  get lacking(): string | undefined {
    this.#listen();
    return this.#places.keys().find((id) => !this.#ids.has(id));
  }

  pageCame(at: number): void {
    if (this.#inTopSince !== undefined) this.#inTop.push({ from: this.#inTopSince, to: at });
    this.#inTopSince ??= this.#knownUntil;
    this.#pageAt = at;
    const { from, to } = this.#unread;
    if (!this.#hasNewPage || at - this.#readAt > to - from) this.#unread = { from: this.#readAt, to: at };
    this.#hasNewPage = true;
    this.#hasTurned = false;
    this.#isPageFollowed = false;
    this.#isPageStored = false;
  }

  /** A call of its chat, begun at `calledAt`, got a good answer of this view. */
  answered(calledAt: number, view: ChatView): void {
    if (view === "top") this.#inTopSince ??= this.#knownUntil;
    else this.#allCame(calledAt);
    this.#readAt = calledAt;
    this.#isPageFollowed = true;
  }

  /** All that was said until then is in the log, or a gap may still come for it. */
  get #knownUntil(): number {
    return Math.min(this.#readAt, this.chat.ledger[this.#lastPlace ?? -1]?.at ?? Number.NEGATIVE_INFINITY);
  }

  /** An answer with all messages has what a page shortly before it leaves out. */
  #allCame(calledAt: number): void {
    if (this.#inTopSince === undefined) return;
    const reachesPage = (this.chat.ledger.at(-BACKLOG)?.at ?? 0) <= this.#pageAt;
    const isWhole = reachesPage && calledAt - this.#pageAt < PROMPT_MS;
    if (!isWhole) this.#inTop.push({ from: this.#inTopSince, to: calledAt });
    this.#inTopSince = undefined;
    // The messages that were left out follow, once; those of the last page may have been stored long ago.
    this.#hasNewPage = true;
    this.#isRestDue = true;
    this.#isPageStored = false;
  }

  #isWanted({ action }: Chat["ledger"][number]): boolean {
    return this.#view === "all" || !this.chat.leavesOut(action);
  }

  /** Whether the upstream may have shown the message in no answer to the room. */
  #isLeftOut({ action, at }: Chat["ledger"][number]): boolean {
    const since = this.#inTopSince ?? Number.POSITIVE_INFINITY;
    const wasInTop = at >= since || this.#inTop.some(({ from, to }) => at >= from && at <= to);
    return (wasInTop || this.#isInTopBehindGap || this.#isBeginning) && this.chat.leavesOut(action);
  }

  /** A call of its chat begins. */
  called(): void {
    this.#isPageStored = this.#isPageFollowed;
  }

  /** Reads the rows that the store has added since the last inspection. */
  async inspect(peek: Peek): Promise<void> {
    if (this.base === undefined) {
      const record = await peek.room(this.key);
      if (!record) return; // a store in memory is lost before `forget` is called
      this.#emptyBase = record.base;
      if (this.live) await this.live.#close(record.base, peek);
      if (record.head === record.base) return;
      this.base = record.base;
    }
    const added = await peek.after(this.key, this.head ?? 0);
    for (const row of added) this.#take(row);
    this.#listen();
    for (const row of added) this.#place(row);
    if (this.#isPageStored) {
      this.#hasNewPage = false;
      this.#isRestDue = false;
    }
  }

  /** The store has the replay, whose log begins after `base`. */
  async #close(base: number, peek: Peek): Promise<void> {
    await this.inspect(peek);
    this.#isClosed = true;
    const { head = 0 } = this;
    if (base < head) this.#violate(`it goes on to ${head}, and its replay begins after ${base}`);
  }

  #take(row: StoredMessage): void {
    const expected = (this.head ?? 0) + 1;
    this.#judgeKind(row);
    if (this.#isClosed) this.#violate(`${row.id} is stored at ${row.cursor}, behind the replay`);
    if (isGap(row) && isGap(this.rows.at(-1))) this.#violate(`${row.id} is stored behind a gap`);
    if (row.cursor !== expected)
      this.#violate(`cursor ${row.cursor} is stored where ${expected} was to come`);
    if ((row.storedAt ?? -1) < (this.rows.at(-1)?.storedAt ?? 0))
      this.#violate(`${row.id} at ${row.cursor} is stored at a time before the message before it`);
    if (this.#ids.has(row.id)) this.#violate(`id ${row.id} is stored twice`);
    this.#ids.add(row.id);
    if (row.id === this.finalMessageId) this.finalCursor = row.cursor;
    this.rows.push(row);
  }

  /** Only in a replay, messages have a time in the video, and each has. */
  #judgeKind({ id, cursor, details }: StoredMessage): void {
    const isOfReplay = parseObject(details)?.offsetMs !== undefined;
    if (isOfReplay !== this.isReplay)
      this.#violate(`${id} at ${cursor} is of the ${isOfReplay ? "replay" : "live chat"}`);
  }

  #place(row: StoredMessage): void {
    if (isGap(row)) {
      this.#hasGapSince = true;
      this.#isInTopBehindGap = true;
      this.#isBeginning = false;
    }
    this.#judgeTakenDown(row);
    const place = this.#places.get(row.id);
    if (place === undefined) return;
    const last = this.#lastPlace ?? place;
    const said = this.chat.ledger[place];
    const isOnlyInAll = said !== undefined && this.chat.leavesOut(said.action);
    if (isOnlyInAll) this.#isInTopBehindGap = false;
    if (place >= last) this.#judgeGap(last, place);
    else if (this.#hasNewPage) {
      this.#hasNewPage = false;
      this.#hasTurned = !isOnlyInAll;
    } else if (this.#isRestDue && this.#hasTurned && isOnlyInAll) this.#isRestDue = false;
    else this.#violate(`${row.id} at ${row.cursor} was said before what stands before it`);
    this.#firstPlace ??= place;
    this.#lastPlace = place;
    this.#hasGapSince = false;
    if (isOnlyInAll) this.#isBeginning = false;
  }

  /** A banner or a poll that the room takes down must have been taken down in the chat. */
  #judgeTakenDown({ id, details }: StoredMessage): void {
    const [, bannerId, pollId] = /^(?:banner_removed:(.+)|poll:(.+):[\w-]{12})$/.exec(id) ?? [];
    const isClosed = pollId !== undefined && dig(parseObject(details), "poll", "state") === "closed";
    const taken = bannerId ?? (isClosed ? pollId : undefined);
    if (taken === undefined) return;
    const isDown = this.chat.ledger.some(({ action }) =>
      [
        dig(action, "removeBannerForLiveChatCommand", "targetActionId"),
        dig(action, "closeLiveChatActionPanelAction", "targetPanelId"),
      ].includes(taken),
    );
    if (!isDown) this.#violate(`${id} is taken down, but the chat still shows it`);
    else if (this.#hasGapSince) this.#journal.count("banners and polls taken down behind a gap");
  }

  /**
   * Judges the messages of the chat that are missing between two messages of the log. Those from before it
   * began may be: a later page in Top chat brings some of them.
   */
  #judgeGap(from: number, to: number): void {
    const begin = Math.max(from + 1, this.#firstPlace ?? 0);
    if (this.#hasGapSince) this.#told.push({ from, to });
    const isTold = (place: number) => this.#told.some((told) => place > told.from && place < told.to);
    const missing = this.chat.ledger
      .slice(begin, Math.max(begin, to))
      .filter((_, index) => this.#hasGapSince || !isTold(begin + index))
      .filter(({ says, at }) => isPlain(says) && !this.#ids.has(says.id) && !this.#isSilent(at))
      .filter((entry) => this.#isWanted(entry) && !this.#isLeftOut(entry));
    const [first] = missing;
    if (!first) return;
    const what = `a gap of ${missing.length} messages, from ${first.id} on, said at ${Math.round(first.at)}`;
    this.#journal.note(`${this.videoId} ${what}`);
    if (this.#hasGapSince) {
      this.#journal.count("gaps reported");
      this.#toldUpTo = to;
    } else if (this.#isBrief(first.at)) this.#journal.count("gaps too brief to report");
    else this.#violate(`${what}, which no gap reports`);
  }

  /**
   * Whether a message said at that time may be missing without a `gap`: the unread time before a new page was
   * brief, and at the chat's rate of the last minute less than one message was expected in it.
   */
  #isBrief(saidAt: number): boolean {
    const { from, to } = this.#unread;
    const recent = this.chat.ledger.filter(
      ({ says, at }) => at >= to - MINUTE_MS && at <= from && says && this.#ids.has(says.id),
    );
    const expected = (recent.length * (to - from)) / MINUTE_MS;
    return saidAt >= from && to - from < BRIEF_MS && expected < 1;
  }

  #isSilent(at: number): boolean {
    return this.silences.some(({ from, to }) => at >= from && at <= to);
  }

  /** Each stored message must count once in the totals, up to their cursor. */
  async judgeTotals(peek: Peek): Promise<void> {
    await this.inspect(peek);
    const account = await peek.account(this.key);
    if (!account || this.base === undefined) return;
    const counted = this.rows.slice(0, this.rows.length - account.uncounted);
    this.#journal.count("messages in totals", counted.length);
    const types = Map.groupBy(counted, ({ body }) => JSON.parse(body).type);
    const stored = Object.fromEntries([...types].map(([type, rows]) => [type, rows.length]));
    if (!isDeepStrictEqual(account.totals.types, stored))
      this.#violate(
        `it counts ${JSON.stringify(account.totals.types)}, stored: ${JSON.stringify(stored)}`,
        "totals",
      );
  }

  /** The messages of an answer must be stored when the room's next call begins. */
  judgeOffered(ids: readonly string[]): void {
    this.#listen();
    const lost = ids.find((id) => this.#places.has(id) && !this.#ids.has(id));
    if (lost !== undefined) this.#violate(`${lost} was in an answer, and is not stored at the next call`);
  }

  /**
   * True also if a gap accounts for the message: it came before the room was opened again, and its page does
   * not reach back.
   */
  get hasFinalMessage(): boolean {
    if (this.finalMessageId === undefined || this.#ids.has(this.finalMessageId)) return true;
    return (this.#places.get(this.finalMessageId) ?? Number.POSITIVE_INFINITY) < this.#toldUpTo;
  }

  #listen(): void {
    const { ledger } = this.chat;
    for (; this.#heard < ledger.length; this.#heard++) {
      const entry = ledger[this.#heard];
      if (!entry) continue;
      const { says, action, id } = entry;
      if (action.replaceChatItemAction) this.#places.delete(id); // the replacement may come later, or never
      if (isPlain(says) && this.#isWanted(entry) && !this.#places.has(says.id))
        this.#places.set(says.id, this.#heard);
    }
  }

  #violate(what: string, promise: Promised = "log"): void {
    this.#journal.violate(promise, this.videoId, what);
  }
}

function isIn({ base = Number.NaN, rows }: Log, cursor: number): boolean {
  return cursor >= base && cursor <= base + rows.length;
}

function isGap(row: StoredMessage | undefined): boolean {
  return row?.id.startsWith("gap:") === true;
}

function isPlain(says: Says | undefined): says is Says {
  return says !== undefined && PLAIN.has(says.type) && says.replaces === undefined;
}
