/**
 * Checks the service's calls against its promises, from the upstream's side: the gate's spacing, concurrency
 * and cooldown; one poll of a room at a time; and an answer's messages stored before the next call of its
 * room.
 */

import { videoIdIn, viewIn } from "../../simulator/continuation-book.ts";
import { dig, isObject, parseObject } from "../../simulator/plain-json.ts";
import { CHATS } from "../../src/protocol/chat.ts";
import { type ChatKey, chatKey } from "../../src/protocol/chat-key.ts";
import type { IncomingAnswer, OutgoingRequest } from "../../src/upstream/egress/connections.ts";
import type { GateSettings } from "../../src/upstream/egress/gate.ts";
import { addressOf, type EgressAddress } from "./egress-address.ts";
import type { Journal } from "./journal.ts";
import type { Promised } from "./promises.ts";
import type { Scheduler } from "./scheduler.ts";

interface Call {
  at: number;
  name: string;
  videoId: string;
  /** A chat call; otherwise a page or a script. */
  isChat: boolean;
  /** The token of a chat call. */
  token: string;
  /** The answer in Top chat that it completes with a menu's token: only the two together are a batch. */
  inTop: Offer | undefined;
  /** The answer that has given its token. */
  follows: Offer | undefined;
  address: Address;
}

/** The messages in the last good answer of a room; its log must contain them at its next call. */
interface Offer {
  ids: string[];
  at: number;
  instance: string;
  /** The token to go on with. */
  next: unknown;
  /** The tokens of its view menu. Only first answers have one: the others in Top chat keep the last. */
  menu: readonly unknown[];
  /** Whether it shows Top chat, and the upstream has not answered the menu's token of all messages. */
  isLeft: boolean;
  /** The egress that it came by. */
  egress: string;
  /** Whether a page has given its token: it may complete a late answer, and nobody goes on from it. */
  isOfPage: boolean;
}

/** Sums of fractional milliseconds are inexact. */
const TOLERANCE_MS = 0.01;
/**
 * Maximum time between polls of a healthy live chat: intervals of nine seconds, plus the lateness that still
 * loses nothing.
 */
const MAX_RHYTHM_MS = 10_500;
const MAX_COOLDOWN_MS = 10 * 60_000;
const POPOUT = "/live_chat";
const LIVE = "/youtubei/v1/live_chat/get_live_chat";
const QUOTA_SIGNAL = /"status":"RESOURCE_EXHAUSTED"|captcha-form/;

/** A class of calls, and the pause that a quota signal imposes on it. */
class Pause {
  until = 0;
  #beganAt = 0;
  #count = 0;

  /** An answer to a call that began at `calledAt`. */
  throttled(calledAt: number, now: number, cooldownMs: number, namedMs: number): void {
    // Calls that were in flight together report the same throttling.
    const isSame = calledAt < this.#beganAt;
    // The previous throttling expires after as long as its pause lasted.
    if (now - this.until > this.until - this.#beganAt) this.#count = 0;
    const doubled = Math.min(MAX_COOLDOWN_MS, cooldownMs * 2 ** this.#count);
    if (namedMs > 0) this.until = Math.max(this.until, now + namedMs);
    else if (!isSame) this.until = Math.max(this.until, now + doubled);
    if (isSame) return;
    this.#count += 1;
    this.#beganAt = now;
  }

  succeeded(): void {
    this.#count = 0;
  }
}

/** The upstream's view of one address. */
class Address {
  readonly egress: string;
  readonly instance: string;
  readonly inFlight = new Set<Call>();
  readonly pauses = { chat: new Pause(), page: new Pause() };
  lastAt = Number.NEGATIVE_INFINITY;
  /** The time of the last answer of a working upstream. */
  answeredAt = Number.NEGATIVE_INFINITY;
  /** The time of the last call that got no connection, or no answer in time. */
  unreachedAt = Number.NEGATIVE_INFINITY;
  #fullMs = 0;
  #fullSince: number | undefined;

  constructor({ egress, instance }: EgressAddress) {
    this.egress = egress;
    this.instance = instance;
  }

  /** How long polls without an answer held slots while all slots were taken; no other call can start then. */
  fullMs(now: number): number {
    return this.#fullMs + (now - (this.#fullSince ?? now));
  }

  /** Call it at the beginning and the end of each call. */
  update(now: number, concurrency: number): void {
    this.#fullMs = this.fullMs(now);
    const isFull = this.inFlight.size >= concurrency && this.inFlight.values().some(({ isChat }) => isChat);
    this.#fullSince = isFull ? now : undefined;
  }
}

interface UpstreamJudgeHost {
  /** The next call of a chat begins: all messages offered to its room before must be stored. */
  chatCalled(key: ChatKey, instance: string): void;
  pageCame(videoId: string): void;
  /** A chat call, begun at `calledAt`, got a good answer. */
  answered(key: ChatKey, calledAt: number, view: "all" | "top"): void;
  /** Whether only rooms call its chat, one call at a time. */
  isRoom(videoId: string): boolean;
}

export class UpstreamJudge {
  /** The number of loads of each room's page, where every search for a chat begins. */
  readonly pageLoads = new Map<string, number>();
  /** The number of those that showed the chat. */
  readonly pagesWithChat = new Map<string, number>();
  /**
   * The time of each room's last poll, if it was answered well and nothing intervened: such a room keeps its
   * rhythm.
   */
  readonly #rhythm = new Map<string, { at: number; fullMs: number; address: Address }>();
  /** Whether everything that rooms share works, so that only a room's own trouble may break its rhythm. */
  isSharedWell = false;
  /** Whether rooms read all messages wherever a menu offers them. */
  wantsAll = false;
  /** By room. */
  readonly offered = new Map<ChatKey, Offer>();
  /** The last view menu of each chat: a room keeps its tokens over restarts. */
  readonly #menus = new Map<string, Offer["menu"]>();
  /**
   * By room, the text of its last page of each kind: a room may complete an answer from one while another is
   * loaded for somebody's rights.
   */
  readonly #pages = new Map<string, Map<string, string>>();
  readonly #gate: GateSettings;
  readonly #scheduler: Scheduler;
  readonly #journal: Journal;
  readonly #host: UpstreamJudgeHost;
  /**
   * If a room's call began at least this long before its owner's lease expired, it may overlap a call of the
   * next owner.
   */
  marginMs = Number.POSITIVE_INFINITY;
  readonly #addresses = new Map<string, Address>();

  constructor(gate: GateSettings, scheduler: Scheduler, journal: Journal, host: UpstreamJudgeHost) {
    this.#gate = gate;
    this.#scheduler = scheduler;
    this.#journal = journal;
    this.#host = host;
  }

  /** A process of the instance has ended, and its calls with it; the next process knows nothing of them. */
  lifeEnds(instance: string): void {
    for (const [name, address] of this.#addresses) {
      if (address.instance === instance) this.#addresses.delete(name);
    }
    for (const [videoId, { address }] of this.#rhythm) {
      if (address.instance === instance) this.#rhythm.delete(videoId);
    }
    for (const [key, offer] of this.offered) {
      if (offer.instance === instance) this.offered.delete(key);
    }
  }

  /** The time of the last answer of a working upstream to the instance, through any egress. */
  answeredAt(instance: string): number {
    const own = this.#addresses.values().filter((address) => address.instance === instance);
    return Math.max(...own.map(({ answeredAt }) => answeredAt));
  }

  began({ url, body }: OutgoingRequest, from: EgressAddress): Call {
    const { pathname, searchParams } = new URL(url);
    const asked = parseObject(body ?? "") ?? {};
    const token = asked.continuation;
    const isChat = typeof token === "string";
    const videoId = (isChat ? videoIdIn(token) : searchParams.get("v")) ?? String(asked.videoId ?? "");
    const name = pathname;
    const { instance } = from;
    const address = this.#addresses.getOrInsertComputed(addressOf(from), () => new Address(from));
    const key = keyOf(videoId, name);
    const last = this.offered.get(key);
    const inTop = isChat && last?.menu.includes(token) ? last : undefined;
    const text = isChat ? token : "";
    if (inTop) inTop.isLeft = false;
    const follows = isChat && last?.next === token ? last : undefined;
    if (this.wantsAll && follows?.isLeft && !this.#hasPaused(follows) && this.#host.isRoom(videoId))
      this.#journal.violate(
        "log",
        videoId,
        "its room goes on in Top chat, though a menu offers all messages",
      );
    const call: Call = {
      at: this.#scheduler.monotonic(),
      name,
      videoId,
      isChat,
      token: text,
      inTop,
      follows,
      address,
    };
    this.#journal.note(`call ${videoId} ${pathname}`);
    this.#judge(call);
    if (!isChat) {
      if (name === POPOUT) tally(this.pageLoads, videoId);
      for (const chat of CHATS) this.offered.delete(chatKey(videoId, chat)); // it may replace one given up
    }
    this.#judgeRhythm(call);
    address.lastAt = call.at;
    address.inFlight.add(call);
    address.update(call.at, this.#gate.concurrency);
    if (last?.isOfPage && last.next !== token) this.offered.delete(key);
    if (isChat && !inTop) this.#host.chatCalled(key, instance);
    return call;
  }

  /**
   * Whether a cooldown, or another call without a connection or an answer, came between the answer and the
   * call with its menu's token: that call is not made then. The room stores the answer alone and takes the
   * token behind the next one, because only beside an answer it sees that the token is silent.
   */
  #hasPaused({ egress, at }: Offer): boolean {
    const own = this.#addresses.values().filter((other) => other.egress === egress);
    return own.some(({ pauses, unreachedAt }) => pauses.chat.until > at || unreachedAt > at);
  }

  #judge(call: Call): void {
    const { at, videoId, name, isChat } = call;
    const { lastAt, inFlight, pauses } = call.address;
    const { spacingMs, concurrency } = this.#gate;
    const violate = (promise: Promised, what: string) =>
      this.#journal.violate(promise, videoId, `${name}: ${what}`);
    if (at - lastAt < spacingMs - TOLERANCE_MS) violate("gate", `${at - lastAt} ms after the last call`);
    if (inFlight.size >= concurrency) violate("gate", `${inFlight.size} calls are in flight already`);
    const until = isChat ? pauses.chat.until : Math.max(pauses.chat.until, pauses.page.until);
    if (at < until - TOLERANCE_MS) violate("gate", `${until - at} ms before the end of a cooldown`);
    if (isChat && this.#host.isRoom(videoId) && this.#isPolled(call))
      violate("poller", "the room is being polled already");
  }

  /**
   * Whether another call of its room is in progress, excluding another instance's call that its lease
   * excuses.
   */
  #isPolled({ videoId, at, address }: Call): boolean {
    const all = this.#addresses.values().flatMap(({ inFlight }) => inFlight);
    return all
      .filter((other) => other.isChat && other.videoId === videoId)
      .some((other) => other.address.instance === address.instance || at - other.at < this.marginMs);
  }

  #judgeRhythm({ videoId, at, name, isChat, address }: Call): void {
    const last = this.#rhythm.get(videoId);
    this.#rhythm.delete(videoId); // until it is answered well
    const apartMs = last ? at - last.at - (address.fullMs(at) - last.fullMs) : 0;
    if (!this.isSharedWell || !isChat || !this.#host.isRoom(videoId) || apartMs <= MAX_RHYTHM_MS) return;
    this.#journal.violate(
      "reading",
      videoId,
      `${name}: polls ${apartMs} ms apart, though nothing was wrong with the room`,
    );
  }

  failed(call: Call, error: unknown): void {
    this.#journal.note(
      `failed ${call.videoId} ${call.name} ${error instanceof Error ? error.message : error}`,
    );
    const isUnreached = error instanceof Error && /^connect |^not done within /.test(error.message);
    if (isUnreached) call.address.unreachedAt = this.#scheduler.monotonic();
    this.#landed(call);
  }

  #landed(call: Call): void {
    call.address.inFlight.delete(call);
    call.address.update(this.#scheduler.monotonic(), this.#gate.concurrency);
  }

  delivered(call: Call, { status, header }: Omit<IncomingAnswer, "body">, text: string): void {
    const { address } = call;
    this.#landed(call);
    const now = this.#scheduler.monotonic();
    if (status < 500) address.answeredAt = now;
    this.#journal.note(`answer ${call.videoId} ${call.name} ${status} ${text.length}`);
    if (status === 429 || (!text.includes("ytInitialData") && QUOTA_SIGNAL.test(text))) {
      const namedMs = 1000 * Number(header("retry-after") ?? 0);
      const pause = call.isChat ? address.pauses.chat : address.pauses.page;
      pause.throttled(call.at, now, this.#gate.cooldownMs, namedMs);
      if (call.inTop) call.inTop.isLeft = true;
      return;
    }
    if (status !== 200) return;
    for (const pause of Object.values(address.pauses)) pause.succeeded();
    if (call.name === POPOUT && text.includes("liveChatRenderer")) tally(this.pagesWithChat, call.videoId);
    if (!call.isChat) {
      this.#pages.getOrInsertComputed(call.videoId, () => new Map()).set(call.name, text);
      this.#host.pageCame(call.videoId);
    }
    if (!call.isChat || !text.includes('"continuationContents"')) return;
    const ids = [...text.matchAll(/"id":"([^"]+)"/g)].map(([, id = ""]) => id);
    // A replay's answer to the offered token begins again, and may not reach as far as the one before.
    const before = call.name === LIVE ? (call.inTop?.ids ?? []) : [];
    const { egress, instance } = address;
    const view = viewIn(call.token) ?? "all";
    const tokens = tokensIn(text);
    const hasMenu = tokens.menu.length > 0;
    if (hasMenu) this.#menus.set(call.videoId, tokens.menu);
    const isLeft = view === "top" && (hasMenu || call.follows?.isLeft === true);
    const menu = view === "top" ? (this.#menus.get(call.videoId) ?? []) : tokens.menu;
    const pages = this.#pages.get(call.videoId)?.values() ?? [];
    const isOfPage = pages.some((page) => page.includes(call.token));
    const key = keyOf(call.videoId, call.name);
    this.offered.set(key, {
      ids: [...before, ...ids],
      at: now,
      instance,
      isOfPage,
      isLeft,
      egress,
      next: tokens.next,
      menu,
    });
    if (call.name === LIVE)
      this.#rhythm.set(call.videoId, { at: call.at, fullMs: address.fullMs(call.at), address });
    this.#host.answered(key, call.at, view);
  }
}

function tokensIn(text: string): Pick<Offer, "next" | "menu"> {
  const chat = dig(parseObject(text), "continuationContents", "liveChatContinuation");
  const continuation = (holder: unknown) => Object.values(isObject(holder) ? holder : {}).map(tokenOf)[0];
  const view = dig(chat, "header", "liveChatHeaderRenderer", "viewSelector", "sortFilterSubMenuRenderer");
  const entries = dig(view, "subMenuItems");
  return {
    next: continuation(dig(chat, "continuations", 0)),
    menu: Array.isArray(entries) ? entries.map((entry) => continuation(dig(entry, "continuation"))) : [],
  };
}

/** The chat that a call reads. */
function keyOf(videoId: string, path: string): ChatKey {
  return chatKey(videoId, path === LIVE ? "live" : "replay");
}

function tokenOf(data: unknown): unknown {
  return dig(data, "continuation");
}

function tally(counts: Map<string, number>, videoId: string): void {
  counts.set(videoId, (counts.get(videoId) ?? 0) + 1);
}
