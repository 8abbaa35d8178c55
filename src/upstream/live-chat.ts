/**
 * A video's live chat for the rest of the service: bootstrapped in the specification's steps, reopened when
 * its token has expired, polled from batch to batch. It returns parsed messages and knows nothing of rooms or
 * viewers.
 */
import type { CallTimes, Clock } from "../base/clock.ts";
import { withoutStop } from "../base/error-message.ts";
import { type ChatType, type ChatView, isReplayChat } from "../protocol/chat.ts";
import type { Standing, WallOf } from "../protocol/chat-standing.ts";
import { RelayError } from "../protocol/errors.ts";
import type { VideoFacts } from "../protocol/video-facts.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { NoChatAnswer } from "./answer.ts";
import { BOUNDS } from "./bounds.ts";
import type { UpstreamCalls } from "./calls.ts";
import { popoutPath, searchChat } from "./chat-search.ts";
import { BOOTSTRAP_PAIRS, type ClientLabel } from "./clients.ts";
import { KeptCredentials, scriptCredentials } from "./credential-sources.ts";
import type { CallOptions } from "./egress/flights.ts";
import type { Lane } from "./egress/lanes.ts";
import type { WallCount } from "./egress/wall-count.ts";
import { completeInOrder, inTopChat, mergeInOrder } from "./order.ts";
import { readChatPage } from "./page/chat-page.ts";
import type { Credentials } from "./page/credentials.ts";
import { toldVideo } from "./page/told-video.ts";
import { PageLoads } from "./page-loads.ts";
import type { Position } from "./position.ts";
import { type AboveChat, aboveAfter } from "./readers/above-chat.ts";
import { type Reading, readActions } from "./readers/actions.ts";
import { knownByText } from "./readers/notice.ts";
import { NO_PANELS, type Panels } from "./readers/panels.ts";
import type { Item } from "./readers/reader.ts";
import { READERS } from "./readers/reader-by-kind.ts";
import type { TimeOfDay } from "./readers/timestamp.ts";
import { UpstreamError } from "./upstream-error.ts";
import { tokenOfView } from "./view-menu.ts";

/** Maximum time of a call on which nothing depends: meanwhile it holds a place for which others wait. */
const ABOUT_MS = 5000;

export interface ReadingSettings {
  chatView: ChatView;
  /** Formats the time of live messages. */
  timeOfDay: TimeOfDay;
}

/** The chat's page: its backlog, and the position from which to continue reading. */
export interface Page extends CallTimes {
  items: readonly Item[];
  /** The banners and open polls. Only the popout page shows them; undefined if it is very long, too. */
  above: AboveChat | undefined;
  position: Position;
  /** What pages have said of the video on the way to it. */
  video?: VideoFacts | undefined;
}

/** One answer to a poll. */
export interface PollAnswer extends CallTimes {
  kind: "batch";
  items: readonly Item[];
  /** The position of the next poll. Its continuation is null when the chat is over. */
  position: Position;
  /** The wait that the upstream asks for, in milliseconds; undefined if it asks for none. */
  timeoutMs: number | undefined;
  /** Number of raw actions in the answer. */
  actionCount: number;
  /** See `ChatAnswer`. */
  sentAt: number;
  /** The token that it answers. */
  token: string;
  /** Why Top chat is read although all messages are wanted; undefined if it is not so. */
  inTopBecause?: string;
  /** The two answers of a live chat that it is made of, if a menu's token completed one in Top chat. */
  parts?: readonly [inTop: PollAnswer, all: PollAnswer];
}

/** The answer to one call: its raw `header` may hold the view menu. */
interface RawAnswer extends PollAnswer {
  header: unknown;
}

/** A chat for which no working client and endpoint are known yet. */
interface FoundChat extends Omit<Page, "position"> {
  start: Omit<Position, "pair">;
}

/** A chat with the pair that reads it, and the answer that proved the pair. */
export interface BootstrappedChat {
  page: Page;
  first: PollAnswer;
}

export class LiveChat {
  readonly #calls: UpstreamCalls;
  readonly #settings: ReadingSettings;
  readonly #wallCount: WallCount;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  readonly #credentials: KeptCredentials;

  constructor(
    calls: UpstreamCalls,
    settings: ReadingSettings,
    wallCount: WallCount,
    { clock, telemetry }: { clock: Clock; telemetry: Telemetry },
  ) {
    this.#calls = calls;
    this.#settings = settings;
    this.#wallCount = wallCount;
    this.#clock = clock;
    this.#telemetry = telemetry;
    this.#credentials = new KeptCredentials(clock);
    telemetry.actions.known(READERS.keys());
  }

  /**
   * Finds a video's chat and a pair that can read it. Calls `found` between the two; an error of `found` ends
   * the bootstrap. `panels`: those of the live chat if it was read before. Rejects with `RelayError`
   * SW_JS_FAILED or NO_WORKING_CLIENT, and with `UpstreamError` "throttled", or "unusable" if no page could
   * be loaded.
   */
  bootstrap(
    videoId: string,
    options: CallOptions,
    found?: (chatType: ChatType) => void,
    panels: Panels = NO_PANELS,
  ): Promise<Standing<BootstrappedChat>> {
    return this.#wallCount.observe(videoId, this.#findAndRead(videoId, options, found, panels));
  }

  /**
   * Loads the page of a chat again and keeps its pair. It loads the scripts with credentials only if the
   * known ones were refused or are old. A live chat is over once a replay is found; a replay, whose end was
   * not read, only if its video does not exist. Rejects as `findChat` does, and with `UpstreamError`
   * "unusable" if the standing is unknown, or if the page of a replay has no replay.
   */
  async reopen(videoId: string, known: Position, options: CallOptions): Promise<Standing<{ page: Page }>> {
    const standing = await this.findChat(videoId, options, known);
    const isReplay = isReplayChat(known.chatType);
    if (standing.is === "unknown" || (isReplay && standing.is !== "there" && standing.is !== "none")) {
      throw new UpstreamError("unusable", standing.why, { wallOf: standing.wallOf ?? "video" });
    }
    if (standing.is !== "there") return isReplay ? { ...standing, is: "over" } : standing;
    const { is, start, ...page } = standing;
    if (start.chatType !== known.chatType) {
      if (isReplay) throw new UpstreamError("unusable", "its page shows a live chat", { wallOf: "video" });
      return { is: "over", why: "the stream has ended", video: page.video };
    }
    const { playerOffsetMs: _, ...position } = { ...start, pair: known.pair };
    return { is, page: { ...page, position } };
  }

  /**
   * Finds a video's chat, but tries no pair: the first half of a bootstrap. `known`: the position of a chat
   * that was read before. Rejects like `bootstrap`; with `known`, also with `UpstreamError` "unusable" if the
   * last page got no answer.
   */
  findChat(videoId: string, options: CallOptions, known?: Position): Promise<Standing<FoundChat>> {
    return this.#wallCount.observe(videoId, this.#search(videoId, options, known));
  }

  async #findAndRead(
    videoId: string,
    options: CallOptions,
    found: ((chatType: ChatType) => void) | undefined,
    panels: Panels,
  ): Promise<Standing<BootstrappedChat>> {
    const standing = await this.#search(videoId, options, undefined, panels);
    if (standing.is !== "there") return standing;
    const { is, start, ...page } = standing;
    found?.(start.chatType);
    const { position, first } = await this.#firstAnswer(videoId, start, options);
    return { is, page: { ...page, position }, first };
  }

  /** Tries the pairs in turn. Rejects as `bootstrap` does. */
  async #firstAnswer(
    videoId: string,
    start: FoundChat["start"],
    options: CallOptions,
  ): Promise<{ position: Position; first: PollAnswer }> {
    const failures: string[] = [];
    let wallOf: WallOf = "address";
    for (const pair of BOOTSTRAP_PAIRS) {
      const position = { ...start, pair };
      try {
        const first = await this.nextAnswer(videoId, position, options);
        // [spec] Stop at the first combination returning a parseable response
        if (first.kind === "batch") return { position, first };
        failures.push(`${pair.client} ${pair.endpoint}: an answer without chat`);
        wallOf = "video";
      } catch (error) {
        if (!(error instanceof UpstreamError) || error.fault === "throttled") throw error;
        // The other pairs talk to the same host.
        if (error.unreachable === "no connection") {
          throw new RelayError("NO_WORKING_CLIENT", `${error.message}.`, { cause: error });
        }
        failures.push(`${pair.client} ${pair.endpoint}: ${withoutStop(error.message)}`);
        if (error.fault !== "denied") wallOf = "video";
      }
    }
    const why = `No client could read this chat (${failures.join("; ")})`;
    const cause = new UpstreamError("unusable", why, { wallOf });
    throw new RelayError("NO_WORKING_CLIENT", `${why}.`, { cause });
  }

  async #search(
    videoId: string,
    options: CallOptions,
    known?: Position,
    livePanels = NO_PANELS,
  ): Promise<Standing<FoundChat>> {
    const loads = new PageLoads(this.#calls, options);
    const kept = known && this.#credentials.get();
    const better = kept ?? (await scriptCredentials(loads));
    const { credentials, standing } = await searchChat({
      videoId,
      view: this.#settings.chatView,
      loads,
      credentials: { older: known?.credentials, better },
    });
    if (!kept) this.#credentials.keep(credentials);
    // A wall before a load without an answer does not show that the upstream is reached now.
    if (known && standing.is === "unknown" && loads.silence) throw loads.silence;
    if (standing.is !== "there") return standing;
    const { chatType, continuation, view, shown, actions } = standing.chat;
    if (known && chatType !== known.chatType && !standing.isCertain) {
      const why = "a chat of another kind was found, which may not be this one's";
      return { is: "unknown", why, wallOf: "video" };
    }
    const earlier = isReplayChat(chatType) ? NO_PANELS : livePanels;
    const { items, panels } = this.#read(actions, known?.panels ?? earlier);
    const start = { chatType, continuation, view, credentials, panels, ...beginningOf(chatType) };
    return {
      is: "there",
      items: asShown(shown, view, items),
      above: standing.isPopout ? this.#aboveOn(actions) : undefined,
      video: standing.video,
      ...loads.times,
      start: { ...start, isOfPage: true },
    };
  }

  /**
   * The messages that the popout page shows now, none if it shows no chat. No other page shows messages. The
   * position changes only by the polls on the page. `all`: the position that leads to all messages, of which
   * the page leaves some out; undefined if the room reads Top chat, or if the page has no token of them.
   * Rejects with `UpstreamError` if the page does not load or is a wall.
   */
  async backlog(
    videoId: string,
    position: Position,
    options: CallOptions,
  ): Promise<Pick<Page, "items" | "above" | "position"> & { all: Position | undefined }> {
    const { value: html } = await this.#calls.page(popoutPath(videoId), options);
    const page = readChatPage(html, videoId, this.#settings.chatView);
    if (!page.chat && page.is === "unknown") {
      throw new UpstreamError("unusable", page.why, { wallOf: page.wallOf ?? "video" });
    }
    const { actions = [], shown = position.view, ...chat } = page.chat ?? {};
    const { items, panels } = this.#read(actions, position.panels);
    const behind = { ...position, panels };
    const leadsToAll = position.view === "all" && "view" in chat && chat.view === "all";
    return {
      items: asShown(shown, position.view, items),
      above: page.chat && this.#aboveOn(actions),
      position: behind,
      all: leadsToAll ? { ...behind, ...chat, isOfPage: true } : undefined,
    };
  }

  /**
   * What an answer of `next` says of a video; undefined if it says nothing. Rejects with `UpstreamError`
   * "throttled" or "unusable".
   */
  async about(
    videoId: string,
    credentials: Credentials,
    options: CallOptions,
  ): Promise<VideoFacts | undefined> {
    const { value } = await this.#calls.next(videoId, credentials, options, ABOUT_MS);
    return toldVideo(value, () => undefined, videoId);
  }

  /** The base URL of the host that a client talks to. */
  hostOf(client: ClientLabel): string {
    return this.#calls.hostOf(client);
  }

  /**
   * The next answer of a chat that is not over, for a reader of `chatView`. If all messages are wanted, the
   * token reads Top chat and the answer's menu offers another, that one is taken at once: both answers
   * become one. If it is refused or silent, the chat is read on as it was. If it fails otherwise, the next
   * poll tries it again, once; after a throttling or without a connection, each poll does. Rejects with
   * `UpstreamError` of any fault.
   */
  async nextAnswer(
    videoId: string,
    asked: Position,
    options: CallOptions,
  ): Promise<PollAnswer | NoChatAnswer> {
    const first = await this.poll(asked, options);
    if (first.kind === "no chat" || asked.view === "all" || this.#settings.chatView === "top") return first;
    const inMenu = tokenOfView(first.header, videoId, "all");
    const offered = inMenu ?? asked.offered;
    if (offered === undefined) return { ...first, inTopBecause: "YouTube offers no token of all messages" };
    const isReplay = isReplayChat(asked.chatType);
    // A live chat's second answer overlaps with the first; a replay's begins again, and shows the same polls.
    const from = {
      ...(isReplay ? asked : first.position),
      continuation: offered,
      isOfPage: true,
      ...beginningOf(asked.chatType),
    };
    const second = await this.#offered(from, first, { ...options, lane: laneAfterAnswer(options.lane) });
    if (second.kind === "none") {
      const position = { ...first.position, offered: second.mayFollow ? offered : undefined };
      return { ...first, position, inTopBecause: second.why };
    }
    const position: Position = { ...second.position, view: "all", offered: undefined };
    if (isReplay) {
      return { ...second, items: completeInOrder(second.items, first.items, "").items, position };
    }
    const inTop = { ...first, items: inTopChat(first.items) };
    return { ...second, items: mergeInOrder(inTop.items, second.items), parts: [inTop, second], position };
  }

  /**
   * The answer to the token of all messages that a menu has offered; or why there is none, and whether one
   * may follow. A call that is unusable is made once more, unless its host could not be reached.
   */
  async #offered(
    asked: Position,
    inTop: PollAnswer,
    options: CallOptions,
    isLast = false,
  ): Promise<PollAnswer | { kind: "none"; why: string; mayFollow: boolean }> {
    try {
      const answer = await this.poll(asked, options);
      return answer.kind === "no chat" || isSilent(answer, inTop)
        ? { kind: "none", why: "the token of all messages is silent", mayFollow: false }
        : answer;
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      const { fault, unreachable, message } = error;
      if (fault === "unusable" && unreachable === undefined && !isLast)
        return this.#offered(asked, inTop, options, true);
      const isOfToken = fault !== "throttled" && unreachable !== "no connection";
      const isRepeated = asked.offered !== undefined;
      const mayFollow = !isOfToken || (fault === "unusable" && !isRepeated);
      return { kind: "none", why: `the token of all messages brings nothing: ${message}`, mayFollow };
    }
  }

  /** The answer to one call with the position's token. Rejects with `UpstreamError` of any fault. */
  async poll(asked: Position, options: CallOptions): Promise<RawAnswer | NoChatAnswer> {
    const { playerOffsetMs: _, isOfPage, ...position } = asked;
    const { continuation } = position;
    if (continuation === null) throw new Error("a chat that is over has no next answer");
    const { value: answer, ...times } = await this.#calls
      .chat({ ...asked, continuation }, options)
      .catch((error) => {
        if (error instanceof UpstreamError && error.fault === "denied")
          this.#credentials.refuse(asked.credentials);
        throw error;
      });
    if (answer.kind === "no chat") return answer;
    const { items, panels } = this.#read(answer.actions, position.panels, answer.mutations);
    return {
      kind: "batch",
      ...times,
      items: isOfPage ? knownByText(items) : items,
      position: { ...position, continuation: answer.continuation ?? null, panels },
      timeoutMs: answer.timeoutMs,
      actionCount: answer.actions.length,
      sentAt: answer.sentAt,
      token: continuation,
      header: answer.header,
    };
  }

  #read(
    actions: readonly unknown[],
    panels?: Panels,
    mutations?: readonly unknown[],
  ): Pick<Reading, "items" | "panels"> {
    const { dropped, bugs, ...reading } = this.#readQuietly(actions, panels, mutations);
    this.#telemetry.actions.dropped(dropped);
    for (const bug of bugs) this.#telemetry.actions.readerFailed(bug);
    return reading;
  }

  /** Reports nothing of what it leaves out. */
  #readQuietly(actions: readonly unknown[], panels?: Panels, mutations?: readonly unknown[]): Reading {
    return readActions(actions, {
      receivedAt: this.#clock.now(),
      timeOfDay: this.#settings.timeOfDay,
      panels,
      mutations,
      isEnglish: true, // `hl=en` in every request
    });
  }

  /**
   * The banners and polls of a popout page; undefined if it is so long that its first actions are left out.
   * They are read by themselves: a reader that knows a poll leaves out an update with the same votes.
   */
  #aboveOn(actions: readonly unknown[]): AboveChat | undefined {
    if (actions.length >= BOUNDS.actions) return undefined;
    const { items } = this.#readQuietly(actions);
    return aboveAfter(
      new Map(),
      items.map(({ message }) => message),
    );
  }
}

/** The items of a page that shows a chat in this view, for a reader of `view`. */
function asShown(shown: ChatView, view: ChatView, items: readonly Item[]): readonly Item[] {
  const known = knownByText(items);
  return shown === "top" && view === "all" ? inTopChat(known) : known;
}

/**
 * The lane of a call that continues an answer: the room has recovered, and its chat loses messages while the
 * call waits.
 */
function laneAfterAnswer(lane: Lane): Lane {
  return lane === "recovery" || lane === "retry" ? "poll" : lane;
}

/** A replay is read from its beginning; a live chat continues from its token. */
function beginningOf(chatType: ChatType): Pick<Position, "playerOffsetMs"> {
  return isReplayChat(chatType) ? { playerOffsetMs: 0 } : {};
}

/** Whether an answer has no actions, and either ends the chat or lacks the messages of Top chat. */
function isSilent({ actionCount, position }: PollAnswer, inTop: PollAnswer): boolean {
  const isOver = position.continuation === null;
  return actionCount === 0 && (isOver || inTop.items.some(({ message }) => message.type === "chat"));
}
