/**
 * The overlay runs unattended for hours: it shows the chat, reconnects for ever, and hides connection trouble
 * from the stream's viewers. It shows text only for a missing or invalid video id, for the person who sets it
 * up.
 */
import { type ChatError, type Featured, history, type Init, type MessageType } from "../../client/index.ts";
import { Batch } from "../chat/batch.ts";
import { EVENTS } from "../chat/chat-rows.ts";
import { find } from "../chat/dom.ts";
import { silentMs, watchfulFetch } from "../chat/keepalive.ts";
import { beginAgainAtNewToken, withoutHeaders } from "../chat/page-token.ts";
import { Parameters } from "../chat/parameters.ts";
import { SLOW_MS, SLOW_WORDS } from "../chat/sharing.ts";
import { completed, type ShownMessage, type SourceMark } from "../chat/shown-message.ts";
import { openChat } from "../chat/source.ts";
import type { SourceOptions } from "../chat/source-chat.ts";
import { chatIn, readStored, type StoredPage, type StoredQuery } from "../chat/stored.ts";
import { streamFetch } from "../chat/stream-fetch.ts";
import { tokenIn } from "../chat/token-fragment.ts";
import { waitAfter as usualWaitAfter } from "../chat/waits.ts";
import type { AlertEffects } from "./alert-effects.ts";
import { type Options, readOptions } from "./options.ts";
import { playSamples } from "./samples.ts";
import { Stage } from "./stage.ts";
import { viewOf } from "./views.ts";

const SERVICE = new URL(".", location.href).href;
const FAILED_MS = 30_000;
/** The maximum that the service sends. */
const MAX_BACKFILL = 500;
const MAX_FAILED_MS = 5 * 60_000;
const RELEASED_MS = 3000;

const ROOT = document.documentElement;

/** What shows the messages: the rows, a goal, or the featured message. `source`: as `Stage.take` has it. */
interface Shows {
  take(items: readonly (ShownMessage | "gap")[], source?: SourceMark): void;
  /** Another message is featured, or none. */
  feature?(featured: Featured, source?: SourceMark): void;
  /** Another chat begins. */
  clear(): void;
  /** The next messages of this chat are its backfill. */
  beginBackfill(source?: SourceMark): void;
  /** Another chat has begun: its pinned message may be older. As `Stage.recall`. */
  recall?(read: (query: StoredQuery) => Promise<StoredPage>, source?: SourceMark): unknown;
  /** The messages before this one are wanted, too. `startedAt`: when the broadcast began, if it is known. */
  readPast?(videoId: string, before: number, startedAt: string | undefined): void;
}

async function start(options: Options): Promise<void> {
  const chatElement = find("#chat", HTMLElement);
  dress(options, chatElement);
  if (options.view === "goal") {
    const { openGoal } = await import("./goal.ts");
    const { types } = toRequest(options);
    const stored = { service: SERVICE, token: tokenIn(location.hash), types };
    showChat(
      { ...options, videoId: options.videoId || (options.videoIds[0] ?? "") },
      openGoal(options.goal, chatElement, stored, history),
    );
    return;
  }
  const stage = await stageOf(options, chatElement);
  const isChannel = options.all && options.channel !== "" && options.videoId === "";
  if (!options.demo && (options.videoIds.length > 0 || isChannel)) await followSeveral(options, stage);
  else showChat(options, stage);
}

/** What shows one chat or several. */
async function stageOf(options: Options, chatElement: HTMLElement): Promise<Shows> {
  if (options.view === "featured") {
    const { openFeatured } = await import("./featured-view.ts");
    return openFeatured(options.display, chatElement, options.demo);
  }
  const effects = await effectsOf(options);
  return new Stage(options, chatElement, find("#pinned", HTMLElement), effects);
}

function showChat(options: Options, stage: Shows): void {
  if (options.demo) {
    ROOT.dataset.state = "open";
    playSamples((message) => stage.take([message]));
  } else if (options.videoId === "" && options.channel === "")
    explain(
      "idle",
      "Add ?channel= and a handle, or ?videoId= and a video, to this source’s URL. /overlay/setup makes one.",
    );
  else follow(options, stage);
}

/** The sound, voice and picture of alerts; undefined if none is asked for. */
async function effectsOf({ view, effects }: Options): Promise<AlertEffects | undefined> {
  if (view !== "alerts" || (effects.sound === "off" && effects.speech === "off" && !effects.picture)) return;
  const { startEffects } = await import("./alert-effects.ts");
  return startEffects(effects);
}

/**
 * Applies the design parameters in the overlay's cascade layer, so that the user's stylesheet overrides them.
 */
function dress({ theme, view, direction, align, sizePx }: Options, chatElement: HTMLElement): void {
  Object.assign(ROOT.dataset, { theme, view });
  if (theme === "none") for (const sheet of document.querySelectorAll("[data-design]")) sheet.remove();
  for (const element of [ROOT, chatElement]) Object.assign(element.dataset, { direction, align });
  const size = new CSSStyleSheet();
  size.replaceSync(`@layer overlay { :root { --chat-font-size: ${sizePx}px } }`);
  document.adoptedStyleSheets.push(size);
}

/**
 * The request for what the view shows, and for changes to it. The page counts the rows of the backfill: to
 * find enough of them, it asks for as much as the service gives.
 */
function toRequest(options: Options): SourceOptions {
  const { types, backfill } = viewOf(options);
  const fetch = watchfulFetch(silentMs());
  return {
    backfill: backfill === 0 ? 0 : MAX_BACKFILL,
    fetch: streamFetch(options.view === "featured" ? "standing=on&featured=on" : "standing=on", fetch),
    ...(types && { types: [...types, ...EVENTS] as MessageType[] }),
  };
}

/** `cursor`: the place of the last message shown, if any; the stream resumes after it. */
function follow(options: Options, stage: Shows, cursor?: number | string): void {
  const batch = new Batch<ShownMessage | "gap">((items) => stage.take(items));
  const request = toRequest(options);
  let wasOpen = cursor !== undefined;
  const slow = wasOpen ? undefined : setTimeout(() => explain("connecting", SLOW_WORDS), SLOW_MS);
  let isWaiting = false;
  let isOff = false;
  /** The service has said how the chat or the channel is: the audience sees no more of the connection. */
  const heard = (): void => {
    wasOpen = true;
    clearTimeout(slow);
    hideStatus();
  };
  const retry = (error: ChatError, attempt: number): number | false | undefined => {
    clearTimeout(slow);
    isWaiting = error.code === "NO_LIVE_CHAT";
    ROOT.dataset.state = isWaiting ? "waiting" : wasOpen ? "reconnecting" : "connecting";
    // Only the person who sets it up sees a source that was never open.
    if (!wasOpen && /^40[13]$/.test(`${error.status}`)) explain("failed", error.message, error.code);
    else if (error.status) hideStatus();
    return waitAfter(error, attempt);
  };
  const room = openChat(SERVICE, options, { ...request, cursor, token: tokenIn(location.hash), retry });
  room.on("state", (state) => {
    if (state !== "closed") ROOT.dataset.state = isWaiting ? "waiting" : state;
  });
  let current: string | undefined;
  room.on("channel", ({ state, videoId }) => {
    heard();
    const isOpen = videoId !== undefined && videoId === current;
    isWaiting = state === "waiting" || (state === "upcoming" && !isOpen);
    if (isWaiting) ROOT.dataset.state = "waiting";
    else if (isOpen && !isOff) ROOT.dataset.state = "open";
  });
  room.on("init", (init) => {
    const { videoId, cursor: begin, details } = init;
    isWaiting = false;
    isOff = false;
    ROOT.dataset.state = "open";
    heard();
    if (current === videoId) return;
    if (current !== undefined) {
      batch.flush();
      stage.clear(); // the channel's next stream
    }
    stage.readPast?.(videoId, begin + 1, details?.startedAt);
    if (request.backfill && (cursor === undefined || current !== undefined)) stage.beginBackfill();
    recall(stage, init);
    current = videoId;
  });
  room.on("standing", ({ state }) => {
    if (isOff === (state === "waiting")) return;
    isOff = !isOff;
    ROOT.dataset.state = isOff ? "waiting" : "open";
  });
  // A gap with details also arrives as a message.
  room.on("gap", ({ details }) => details || batch.add("gap"));
  room.on("end", ({ reason }) => {
    heard();
    batch.flush();
    if (reason === "no more continuations") ROOT.dataset.state = "ended";
    else {
      ROOT.dataset.state = "reconnecting";
      setTimeout(() => follow(options, stage, room.cursor), RELEASED_MS);
    }
  });
  room.on("error", ({ code, message }) => explain("failed", message, code));
  room.on("featured", (featured) => stage.feature?.(featured));
  room.on("message", (message) => batch.add(completed(message)));
}

/** Lets the stage show the earlier pinned message of a live chat that has begun. */
function recall(stage: Shows, { videoId, chatType }: Init, source?: SourceMark): void {
  const shown = { videoId, chat: chatIn({ chatType }) };
  if (shown.chat === "replay") return;
  const token = tokenIn(location.hash);
  const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` };
  const ask = (path: string) => fetch(SERVICE + path, headers && { headers });
  stage.recall?.((query) => readStored(ask, shown, query), source);
}

/** Several chats in one list. */
async function followSeveral(options: Options, stage: Shows): Promise<void> {
  ROOT.dataset.state = "connecting";
  const { openMerged } = await import("./merged-source.ts");
  const { backfill = 0, types } = toRequest(options);
  openMerged({
    ...{ service: SERVICE, token: tokenIn(location.hash), backfill, types },
    hasFeatured: options.view === "featured",
    parameters: new Parameters(location.search),
    channel: options.channel,
    releasedMs: RELEASED_MS,
    waitAfter,
    failedMs: (attempt) => Math.min(FAILED_MS * 2 ** attempt, MAX_FAILED_MS),
    begins: (init, mark) => {
      if (backfill > 0) stage.beginBackfill(mark);
      recall(stage, init, mark);
    },
    take: (items, mark) => stage.take(items, mark),
    feature: (message, mark) => stage.feature?.(message, mark),
    showState: (state, code = "") => {
      ROOT.dataset.state = state;
      if (state === "failed") ROOT.dataset.code = code;
    },
    slow: () => explain("connecting", SLOW_WORDS),
    refused: (message, code) => explain("failed", message, code),
    none: () => explain("idle", "None of videoIds= in this source’s URL is the id or URL of a video."),
    heard: hideStatus,
  });
}

function hideStatus(): void {
  const status = find("#status", HTMLElement);
  status.hidden = true;
  status.textContent = "";
  delete ROOT.dataset.code;
}

/** Stops only for an invalid or unknown video. */
function waitAfter(error: ChatError, attempt: number): number | false | undefined {
  const { code, isFinal } = error;
  if (code === "INVALID_VIDEO_ID" || code === "INVALID_REQUEST") return false;
  const waitMs = usualWaitAfter(error, attempt);
  return waitMs === undefined && isFinal ? Math.min(FAILED_MS * 2 ** attempt, MAX_FAILED_MS) : waitMs;
}

function explain(state: "idle" | "connecting" | "failed", words: string, code?: string): void {
  ROOT.dataset.state = state;
  if (code !== undefined) ROOT.dataset.code = code;
  const status = find("#status", HTMLElement);
  const where = "add #token=… at the end of this source’s URL";
  status.textContent = withoutHeaders(words, tokenIn(location.hash), where);
  status.hidden = false;
}

beginAgainAtNewToken();
void start(readOptions(new URL(location.href)));
