/**
 * One video's chat as the upstream keeps it: its messages, its tokens, its pages and its answers. The
 * scenario can change at any time. A strict token is valid for one answer.
 */
import type { Clock } from "../src/base/clock.ts";
import type { Answer, EndShape } from "./answers.ts";
import * as answers from "./answers.ts";
import type { Spoken } from "./banners.ts";
import { type Capture, type CapturedPage, hasNext, type Moment, withTokens } from "./capture.ts";
import { ChatLog, type Entry, identify } from "./chat-log.ts";
import type { Grant, TokenBook } from "./continuation-book.ts";
import { Generator } from "./generator.ts";
import { writeId } from "./items.ts";
import type { PageContent } from "./pages.ts";
import { dig, type JsonObject } from "./plain-json.ts";
import { Random } from "./random.ts";
import { asReplay, bare } from "./replay.ts";
import type { Says } from "./says.ts";
import {
  type ChatCall,
  DEFAULT_SCENARIO,
  isAbsent,
  isShown,
  type Pair,
  type Place,
  pageLength,
  type Scenario,
  type StreamState,
  streamOf,
  tokenKind,
} from "./scenario.ts";
import { AboveChat } from "./shown-above.ts";
import { shownAgain } from "./shown-again.ts";
import { EndlessTalk, inBackground, speakAt } from "./speech.ts";
import { TickerBar } from "./ticker-bar.ts";

/** The parts of the simulator that a chat needs. */
interface ChatContext {
  clock: Clock;
  tokens: TokenBook;
  seed: number;
  /** Aborts when the simulator closes. */
  signal: AbortSignal;
}

/** The actions for the reader of a token. */
interface Due {
  actions: JsonObject[];
  /** Entities that accompany them. */
  mutations?: JsonObject[];
  /** The reader's position after these actions. */
  next: number;
  /** Nothing is left to read. */
  over: boolean;
  /** Video time from here to the chat's last action. */
  untilLastMs: number;
  /** The whole answer, if it was captured. */
  body?: JsonObject;
}

type Beginning = Pick<Grant, "position" | "reloads">;

export class Chat {
  readonly videoId: string;
  readonly #context: ChatContext;
  readonly #random: Random;
  readonly #generator: Generator;
  readonly #channelId: string;
  readonly #startedAt: number;
  readonly #log = new ChatLog();
  readonly #above = new AboveChat();
  readonly #tickers = new TickerBar();
  readonly #pages = new Map<string, CapturedPage>();
  #scenario: Scenario;
  #end: { shape: EndShape; lastWords: boolean } | undefined;
  /** The captured answers played so far, if any; positions then count answers. */
  #script: Moment[] | undefined;
  #speed = 1;

  constructor(videoId: string, scenario: Partial<Scenario>, context: ChatContext) {
    this.videoId = videoId;
    this.#context = context;
    this.#random = new Random(context.seed, videoId);
    this.#channelId = `UC${this.#random.text(17).slice(0, 22)}`;
    this.#startedAt = context.clock.monotonic();
    this.#scenario = { ...DEFAULT_SCENARIO, ...scenario };
    this.#generator = new Generator(new Random(context.seed, `${videoId} actions`), this.#channelId);
  }

  /** All actions in order, which a reader without gaps receives. A live view, not a copy. */
  get ledger(): readonly Readonly<Entry>[] {
    return this.#log.entries;
  }

  /** Appends this number of generated actions, or the given raw ones. Returns their ids in order. */
  say(what: number | readonly JsonObject[]): string[] {
    const { clock } = this.#context;
    const { kinds } = this.#scenario;
    return this.#add(
      typeof what === "number"
        ? Array.from({ length: what }, () => this.#generator.next(clock.now(), kinds))
        : what.map((action) => ({ action, says: undefined, mutations: [] })),
    );
  }

  /** Whether Top chat leaves the action out. */
  leavesOut(action: JsonObject): boolean {
    return this.#scenario.onlyInAll(action);
  }

  /** The time of a raw action that is appended next, in microseconds: no earlier action has a later one. */
  nextUsec(): string {
    return this.#generator.nextUsec(this.#context.clock.now());
  }

  /** Appends generated actions at this rate until stopped or the simulator closes; none once it is over. */
  speak(perSecond: number): { stop(): void } {
    const { clock, signal } = this.#context;
    const stop = new AbortController();
    const from = clock.monotonic();
    let said = 0;
    inBackground(AbortSignal.any([signal, stop.signal]), (stopped) =>
      speakAt(perSecond, clock, stopped, () => {
        const due = Math.floor(((clock.monotonic() - from) * perSecond) / 1000) - said;
        said += due;
        if (!this.#end) this.say(due);
      }),
    );
    return { stop: () => stop.abort() };
  }

  /**
   * Appends generated actions at this rate, as if the chat had always been going on, until it is over or the
   * simulator closes. The last `before` actions are there at once; a later simulator of the same seed
   * continues.
   */
  speakEndlessly(perSecond: number, before: number): void {
    const { clock, seed, signal } = this.#context;
    const talk = new EndlessTalk(perSecond, (block) => {
      const random = new Random(seed, `${this.videoId} at ${perSecond}, block ${block}`);
      return new Generator(random, this.#channelId);
    });
    const say = () => {
      if (!this.#end) this.#add(talk.until(clock.now(), before, this.#scenario.kinds));
    };
    say();
    inBackground(signal, (stopped) => speakAt(perSecond, clock, stopped, say));
  }

  /**
   * Plays a capture: a replay is complete at once, a live chat keeps the captured rhythm, `speed` times as
   * fast. Captured answers are served unchanged except for their tokens, unless the chat is of the other
   * kind.
   */
  play(capture: Capture, speed: number): void {
    const asCaptured = capture.kind === tokenKind(this.#scenario.kind);
    this.#speed = speed;
    for (const page of capture.pages) {
      this.#pages.set(page.on, page);
      for (const action of page.actions) this.#append(action);
    }
    if (asCaptured && capture.moments.some(({ body }) => body)) this.#script = [];
    const play = (moment: Moment): void => {
      for (const action of moment.actions) this.#append(action, moment.atMs);
      this.#script?.push(moment);
    };
    if (this.#scenario.kind === "replay") {
      capture.moments.forEach(play);
      return;
    }
    const { clock, signal } = this.#context;
    inBackground(signal, async () => {
      const from = clock.monotonic();
      for (const moment of capture.moments) {
        const waitMs = moment.atMs / speed - (clock.monotonic() - from);
        if (waitMs > 0) await clock.sleep(waitMs, signal);
        play(moment);
      }
    });
  }

  /**
   * Ends a live chat. Unread messages come first, in their own answers, or with `lastWords` in the last one.
   */
  end(shape: EndShape, { lastWords = false } = {}): void {
    this.#end = { shape, lastWords };
  }

  /** Refuses every token given out so far. A fresh page gives valid ones. */
  expireTokens(): void {
    this.#context.tokens.revoke(this.videoId);
  }

  /**
   * Changes the scenario. A new kind reopens an ended chat. A change to or from a replay expires tokens. The
   * stream of a chat that is switched off or hidden stays as it was.
   */
  change(scenario: Partial<Scenario>): void {
    const before = tokenKind(this.#scenario.kind);
    this.#scenario = { ...this.#scenario, stream: this.#stream, ...scenario };
    if (scenario.kind === undefined) return;
    this.#end = undefined;
    if (before !== tokenKind(scenario.kind)) this.expireTokens();
  }

  get #stream(): StreamState {
    const { kind, stream = "live" } = this.#scenario;
    return this.#end ? "ended" : (streamOf(kind) ?? stream);
  }

  /** The content of a page of this chat, with fresh tokens. */
  page(on: Place): PageContent {
    const { kind, overlap, initialData, replayRenderer, onlyInAll, isTopLonger, mute } = this.#scenario;
    const frame = { videoId: this.videoId, initialData, kind, stream: this.#stream, random: this.#random };
    if (isAbsent(kind)) return { ...frame, absent: kind };
    if (this.#end) return { ...frame, kind: "disabled", absent: "disabled" };
    const captured = this.#pages.get(on);
    if (captured) return { ...frame, captured: this.#admit(captured) };
    // If the popout page does not show a chat, it claims that the chat is disabled.
    const unshown = on === "popout" ? "disabled" : "none";
    if (this.#pages.size > 0 || !isShown(on, this.#scenario)) return { ...frame, absent: unshown };
    const replay = kind === "replay";
    const length = on !== "popout" || this.#script ? 0 : pageLength(this.#scenario);
    const inTop = ({ action }: Entry) => !onlyInAll(action);
    const shown = replay
      ? this.#log.from(0, length)
      : this.#log.latest(length, isTopLonger ? inTop : undefined);
    // The popout page's own token continues after the page's actions; the others of a page begin again.
    const after = { position: replay ? shown.length : Math.max(0, this.#log.head - overlap) };
    const again = this.#beginning;
    const shownBy = { isMute: mute, shownAt: this.#now };
    const first = on === "popout" && !this.#script ? after : again;
    const inMenu = (view: Grant["view"]): string => this.#mint({ ...again, ...shownBy, view });
    return {
      ...frame,
      chat: {
        token: this.#mint({ ...first, ...shownBy, view: "top", isOfPage: true }),
        views: { top: inMenu("top"), all: inMenu("all") },
        renderer: replay ? replayRenderer : "liveChatRenderer",
        actions: [
          ...(on === "popout" && !replay ? this.#above.actionsBeside(shown) : []),
          ...(!replay && length > 0 ? this.#tickers.actionsBeside(shown, this.#now) : []),
          ...this.#written(shown.filter(inTop), this.#now),
        ],
        timeoutMs: this.#scenario.timeoutMs,
        continuation: this.#scenario.continuation,
        untilLastMs: this.#untilLastMs(shown),
      },
    };
  }

  /** Where a token to reload the chat begins: at a replay's beginning, or with a live chat's backlog. */
  get #beginning(): Beginning {
    if (this.#scenario.kind === "replay" || this.#script) return { position: 0 };
    const reloads = Math.min(this.#log.head, this.#backlogLength);
    return { position: this.#log.head - reloads, reloads };
  }

  get #backlogLength(): number {
    return Math.max(pageLength(this.#scenario), this.#scenario.overlap);
  }

  /**
   * Takes a valid token and returns the function that makes its answer. Meanwhile nobody else can use a
   * strict token.
   */
  accept(call: ChatCall, grant: Grant): () => Answer {
    const refusal = this.#refusal(call, grant);
    if (refusal) return () => refusal;
    const { tokens } = this.#context;
    const strict = this.#scenario.tokens === "strict";
    if (strict) tokens.spend(call.token);
    return () => {
      const { body, ended } = this.#answer(call, grant);
      // An end has no next token: a caller that lost the answer may ask again.
      if (strict && ended) tokens.admit(call.token, grant);
      return answers.json(200, body);
    };
  }

  #refusal(call: ChatCall, grant: Grant): Answer | undefined {
    const { kind, works } = this.#scenario;
    if (kind === "private") return answers.json(403, answers.errorObject(403));
    if (kind === "unavailable") return answers.json(404, answers.errorObject(404));
    if (isAbsent(kind)) return this.#silence(call);
    const own: Pair[] = [{ endpoint: kind === "replay" ? "get_live_chat_replay" : "get_live_chat" }];
    const fits = ({ client, host, endpoint }: Pair): boolean =>
      (client ?? call.client) === call.client &&
      (host ?? call.host) === call.host &&
      (endpoint ?? call.endpoint) === call.endpoint;
    if (!(works ?? own).some(fits)) return answers.json(400, answers.errorObject(400));
    return grant.position === Number.POSITIVE_INFINITY ? this.#silence(call) : undefined;
  }

  /** The answer to a poll when the chat is gone: a message instead of continuation contents. */
  #silence(call: ChatCall): Answer {
    const contents = answers.noChatMessage("Chat is disabled for this live stream.", this.#random);
    return answers.json(200, { responseContext: answers.responseContext(call, this.#random), contents });
  }

  #answer(call: ChatCall, asked: Grant): { body: JsonObject; ended: boolean } {
    const { kind, timeoutMs, continuation, end: replayEnd } = this.#scenario;
    const random = this.#random;
    const { isOfPage, reloads, ...grant } = asked;
    const due = this.#script ? this.#nextMoment(this.#script, asked) : this.#nextActions(call, asked);
    if (due.body) {
      const mint = (seeks: boolean): string =>
        this.#mint({ ...grant, position: seeks ? 0 : due.next, seeks });
      return { body: withTokens(due.body, mint, this.#speed), ended: !hasNext(due.body) };
    }
    const header = isOfPage && this.#header(grant);
    const end = kind === "replay" ? { shape: replayEnd, lastWords: false } : this.#end;
    if (end && (due.over || end.lastWords)) {
      const seeks = end.shape === "seek-only";
      const token = this.#mint({ ...grant, position: seeks ? 0 : Number.POSITIVE_INFINITY, seeks });
      return { body: answers.ending(end.shape, call, random, token, { ...due, header }), ended: true };
    }
    if (continuation === "none")
      return { body: answers.batch(call, random, [], { ...due, header }), ended: true };
    const next = this.#mint({ ...grant, position: due.next, seeks: false });
    const continuations =
      kind === "replay"
        ? answers.replayContinuations(
            next,
            this.#mint({ ...grant, position: 0, seeks: true }),
            due.untilLastMs,
          )
        : [answers.liveContinuation(continuation, this.videoId, next, timeoutMs, random)];
    return { body: answers.batch(call, random, continuations, { ...due, header }), ended: false };
  }

  /** The view menu of a page's first answer. Its tokens begin as those of a page do. */
  #header({ kind, view, isMute = false }: Grant): JsonObject {
    const shownAt = this.#now;
    const token = (of: Grant["view"]): string =>
      this.#mint({ ...this.#beginning, view: of, isMute, shownAt });
    return answers.header(kind, { top: token("top"), all: token("all") }, view, this.#random);
  }

  #nextActions(call: ChatCall, grant: Grant): Due {
    const { kind, pageSize, onlyInAll } = this.#scenario;
    const replay = kind === "replay";
    const offsetMs = call.playerOffsetMs ?? (grant.seeks ? 0 : undefined);
    const position = replay && offsetMs !== undefined ? this.#log.positionAt(offsetMs) : grant.position;
    const read = replay ? this.#log.from(position, pageSize) : this.#heldFor(grant);
    const seen = grant.isMute ? [] : read.filter(({ action }) => grant.view === "all" || !onlyInAll(action));
    return {
      actions: [
        // A token that begins with the backlog also shows the tickers above it.
        ...(grant.reloads && !grant.isMute ? this.#tickers.actionsBeside(read, this.#now) : []),
        ...this.#written(seen, grant.shownAt),
      ],
      mutations: seen.flatMap(({ mutations }) => mutations),
      next: replay ? position + read.length : this.#log.head,
      over: read.length === 0,
      untilLastMs: this.#untilLastMs(read),
    };
  }

  /**
   * What a reader of a live chat can still get. By default, a token to reload it gives the backlog that was
   * there when it was made, if everything since is still held, else the backlog of now.
   */
  #heldFor({ position, reloads }: Grant): Entry[] {
    const held = (from: number) => this.#log.held(from, this.#context.clock.monotonic(), this.#scenario);
    if (reloads === undefined) return held(position);
    const backlog = this.#log.latest(this.#backlogLength);
    if (this.#scenario.backlogOf === "call") return backlog;
    const later = held(position + reloads);
    if (later.length === this.#log.head - position - reloads) return this.#log.from(position);
    return later.length > backlog.length ? later : backlog;
  }

  #nextMoment(script: readonly Moment[], { position }: Grant): Due {
    const moment = script[position];
    const due = { actions: moment?.actions ?? [], over: !moment, untilLastMs: 0 };
    return { ...due, next: moment ? position + 1 : position, ...(moment?.body && { body: moment.body }) };
  }

  #add(spoken: readonly Spoken[]): string[] {
    this.#script?.push({ atMs: 0, actions: spoken.map(({ action }) => action) });
    return spoken.flatMap(({ action, says, mutations }) => this.#append(action, undefined, says, mutations));
  }

  /** Adds an action, or each action of a replay's wrapper. Returns their ids. */
  #append(
    action: JsonObject,
    capturedMs?: number,
    says?: Says,
    mutations: readonly JsonObject[] = [],
  ): string[] {
    const { kind, spacingMs, perWrapper, forget } = this.#scenario;
    const now = this.#context.clock.monotonic();
    const last = this.#log.entries.at(-1);
    const due =
      kind === "replay"
        ? (last?.offsetMs ?? -spacingMs) + (this.#log.head % perWrapper === 0 ? spacingMs : 0)
        : Math.round(now - this.#startedAt);
    const offsetMs = Number(dig(action, "replayChatItemAction", "videoOffsetTimeMsec") ?? capturedMs ?? due);
    const entries = bare(action).map((inner) => {
      return { id: identify(inner).id, action: inner, says, mutations, at: now, offsetMs };
    });
    for (const entry of entries) {
      this.#log.append(entry);
      this.#above.hear(entry.action);
      this.#tickers.hear(entry.action, now);
    }
    if (forget) this.#log.forget(now, this.#scenario, this.#backlogLength);
    return entries.map(({ id }) => id);
  }

  /** Serves a captured page and makes its tokens valid. */
  #admit({ content, tokens, actions }: CapturedPage): string | JsonObject {
    const kind = tokenKind(this.#scenario.kind);
    const position = this.#script ? 0 : actions.length;
    const grant = { videoId: this.videoId, kind, view: "all", position } as const;
    for (const token of tokens) this.#context.tokens.admit(token, grant);
    return content;
  }

  get #now(): number {
    return this.#context.clock.monotonic();
  }

  /**
   * `shownAt`: when a page showed the backlog, whose notices have other ids each time. In a replay, only
   * those at its beginning have.
   */
  #written(entries: readonly Entry[], shownAt = Number.NEGATIVE_INFINITY): JsonObject[] {
    const isReplay = this.#scenario.kind === "replay";
    const usec = this.#context.clock.now() * 1000;
    const written = entries.map(({ action, offsetMs, at }) => {
      const isBacklog = isReplay ? offsetMs <= 0 : at <= shownAt;
      const shown = isBacklog ? shownAgain(action, () => writeId(this.#random), usec) : action;
      return { action: shown, offsetMs };
    });
    return isReplay ? asReplay(written) : written.map(({ action }) => action);
  }

  #untilLastMs(page: readonly Entry[]): number {
    return (this.#log.entries.at(-1)?.offsetMs ?? 0) - (page.at(-1)?.offsetMs ?? 0);
  }

  #mint(wanted: Omit<Grant, "videoId" | "kind">): string {
    const grant = { ...wanted, videoId: this.videoId, kind: tokenKind(this.#scenario.kind) };
    return this.#context.tokens.mint(grant, this.#channelId, this.#context.clock.now());
  }
}
