/**
 * Reads captured chats from files and folders: whole answers of the chat endpoints, lists of actions, single
 * actions, yt-dlp's `.live_chat.json`, and pages as HTML or as initial data. Reads files in the order of
 * their names, and skips files without a chat.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { linesOf } from "../src/base/lines.ts";
import { dig, isObject, type JsonObject } from "./plain-json.ts";
import { bare } from "./replay.ts";

/** Actions captured together: one answer, one list of actions, or one line. */
export interface Moment {
  /** Milliseconds on the capture's own clock. */
  atMs: number;
  actions: JsonObject[];
  /** The whole answer, if one was captured. */
  body?: JsonObject;
}

/** A page to serve as it was captured. */
export interface CapturedPage {
  on: "popout" | "watch";
  /** HTML, or the initial data for a generated page. */
  content: string | JsonObject;
  /** The full continuation tokens in it. */
  tokens: string[];
  actions: JsonObject[];
}

export interface Capture {
  kind: "live" | "replay";
  moments: Moment[];
  pages: CapturedPage[];
}

/** The content of one file or line. */
type Content = Moment | CapturedPage;

/** The time from one moment to the next if their times were not captured. */
const USUAL_GAP_MS = 1000;
/** The maximum time between moments, because one folder may contain captures of different days. */
const MAX_GAP_MS = 10_000;

/** Reads files and folders. Rejects if none of them contains a chat. */
export async function readCapture(paths: readonly string[]): Promise<Capture> {
  const files: string[] = [];
  for (const path of paths) {
    const folder = (await stat(path)).isDirectory();
    files.push(...(folder ? (await readdir(path)).sort().map((name) => join(path, name)) : [path]));
  }
  const contents: Content[] = [];
  for (const file of files) {
    if (![".json", ".jsonl", ".html"].includes(extname(file))) continue;
    for await (const content of extname(file) === ".html" ? htmlPages(file) : jsonContents(file))
      contents.push(content);
  }
  const pages = contents.filter((content) => "tokens" in content);
  const moments = contents.filter((content) => "atMs" in content);
  if (contents.length === 0) throw new Error(`nothing of a chat is captured in ${paths.join(", ")}`);
  const replay = moments.some(isOfReplay) || pages.some(({ tokens }) => tokens[0]?.startsWith("op2w0w"));
  return { kind: replay ? "replay" : "live", moments: inOrder(moments), pages };
}

/** Whether an answer has a continuation for the next one. */
export function hasNext(body: JsonObject): boolean {
  const next = ["invalidationContinuationData", "timedContinuationData", "liveChatReplayContinuationData"];
  return continuations(body).some((continuation) => next.some((key) => isObject(continuation[key])));
}

/** A copy of a captured answer with a token of the caller's in each of its continuations. */
export function withTokens(body: JsonObject, mint: (seeks: boolean) => string, speed: number): JsonObject {
  const copy = structuredClone(body);
  for (const continuation of continuations(copy)) {
    for (const [key, data] of Object.entries(continuation)) {
      if (!isObject(data)) continue;
      data.continuation = mint(key === "playerSeekContinuationData");
      if (typeof data.timeoutMs === "number") data.timeoutMs = Math.round(data.timeoutMs / speed);
    }
  }
  return copy;
}

function chatOf(body: JsonObject): unknown {
  return dig(body.response ?? body, "continuationContents", "liveChatContinuation");
}

function continuations(body: JsonObject): JsonObject[] {
  const list = dig(chatOf(body), "continuations");
  return Array.isArray(list) ? list.filter(isObject) : [];
}

function isOfReplay({ actions, body }: Moment): boolean {
  const keys = body ? continuations(body).flatMap(Object.keys) : [];
  return (
    keys.includes("liveChatReplayContinuationData") ||
    actions.some((action) => isObject(action.replayChatItemAction))
  );
}

/** Puts answers without a next one at the end, and never lets time go backwards. */
function inOrder(moments: readonly Moment[]): Moment[] {
  const isLast = ({ body }: Moment): boolean => body !== undefined && !hasNext(body);
  const ordered = [...moments.filter((moment) => !isLast(moment)), ...moments.filter(isLast)];
  let capturedMs: number | undefined;
  let playedMs = 0;
  return ordered.map((moment, index) => {
    const gapMs = moment.atMs - (capturedMs ?? moment.atMs);
    if (index > 0)
      playedMs += Number.isFinite(gapMs) ? Math.min(Math.max(gapMs, 0), MAX_GAP_MS) : USUAL_GAP_MS;
    if (Number.isFinite(moment.atMs)) capturedMs = moment.atMs;
    return { ...moment, atMs: playedMs };
  });
}

/** The contents of any number of JSON lines, or of one document that spans several lines. */
async function* jsonContents(path: string): AsyncGenerator<Content> {
  let isFirst = true;
  for await (const line of linesOf(path)) {
    const value = parse(line);
    if (isFirst && value === undefined) {
      yield* jsonContent(parse(await readFile(path, "utf8")));
      return;
    }
    isFirst = false;
    yield* jsonContent(value);
  }
}

function jsonContent(value: unknown): Content[] {
  if (Array.isArray(value)) {
    const actions = value.filter(isObject).filter(isAction);
    return actions.length > 0 ? [{ atMs: timeOf(actions), actions }] : [];
  }
  if (!isObject(value)) return [];
  const chat = chatOf(value);
  if (isObject(chat)) {
    const actions = actionsOf(chat);
    return [{ atMs: timeOf(actions), actions, body: value }];
  }
  if (isObject(value.contents)) return [page(value, JSON.stringify(value), value)];
  if (!isAction(value)) return [];
  // The line of a live chat looks like a replay's, with this mark.
  const actions = value.isLive === true ? bare(value) : [value];
  return [{ atMs: timeOf([value]), actions }];
}

async function* htmlPages(path: string): AsyncGenerator<Content> {
  const text = await readFile(path, "utf8");
  if (text.includes("ytInitialData")) yield page(text, text, undefined);
}

function page(content: string | JsonObject, text: string, data: JsonObject | undefined): CapturedPage {
  const found = text.matchAll(/"continuation":"((?:0ofMyA|op2w0w)[^"]{100,})"/g);
  const tokens = [...found].flatMap(([, token]) => token ?? []);
  const on = text.includes('"twoColumnWatchNextResults"') ? "watch" : "popout";
  const contents = dig(data, "contents");
  const chat = dig(contents, "liveChatRenderer") ?? dig(contents, "liveChatReplayRenderer");
  return { on, content, tokens, actions: isObject(chat) ? actionsOf(chat) : [] };
}

function actionsOf(chat: JsonObject): JsonObject[] {
  return Array.isArray(chat.actions) ? chat.actions.filter(isObject) : [];
}

function isAction(value: JsonObject): boolean {
  return Object.keys(value).some((key) => /(?:Action|Command)$/.test(key) && isObject(value[key]));
}

/** The time of the last action, by its offset in the video or by its own time; otherwise NaN. */
function timeOf(actions: readonly JsonObject[]): number {
  const times = actions.flatMap((action) => {
    const offset = dig(action, "replayChatItemAction", "videoOffsetTimeMsec") ?? action.videoOffsetTimeMsec;
    if (offset !== undefined) return Number(offset);
    return bare(action).map((inner) => {
      const [item] = Object.values(dig(inner, "addChatItemAction", "item") ?? {}).filter(isObject);
      return Number(item?.timestampUsec || Number.NaN) / 1000;
    });
  });
  return times.filter(Number.isFinite).reduce((last, time) => Math.max(last, time), Number.NEGATIVE_INFINITY);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
