/**
 * Reads an upstream answer, in the same way for rooms, polls and bootstraps: a batch, an answer without chat,
 * or an `UpstreamError` with its fault. It judges by structure, and by display text in two cases alone: an
 * error object that mentions a quota, and a captcha page.
 */

import {
  asArray,
  asNumber,
  asObject,
  asString,
  dig,
  type JsonObject,
  parseJson,
  startOfJson,
} from "../base/json.ts";
import { BOUNDS, lastWithin } from "./bounds.ts";
import { isToken } from "./continuation.ts";
import type { OutgoingRequest } from "./egress/connections.ts";
import type { UpstreamAnswer } from "./egress/transport.ts";
import { sanitised } from "./readers/text.ts";
import { UpstreamError, wallOfStatus } from "./upstream-error.ts";
import { withoutSecrets } from "./without-secrets.ts";

/** An answer with chat in it. */
export interface ChatAnswer {
  kind: "batch";
  /** The next token; undefined when the chat is over. */
  continuation: string | undefined;
  /** The wait that the upstream asks for, in milliseconds; undefined if it asks for none. */
  timeoutMs: number | undefined;
  /** The raw header, which holds the view menu; only the first answer to a page's token has one. */
  header: unknown;
  /** Raw actions, in the upstream's order. */
  actions: readonly unknown[];
  /** Raw entity mutations of the same answer. */
  mutations: readonly unknown[];
  /** Wall milliseconds when it was sent by the upstream's clock (`Date`), else received by the local one. */
  sentAt: number;
}

/** HTTP 200 with a `responseContext` but no chat and no error: the chat may be over. */
export interface NoChatAnswer {
  kind: "no chat";
}

// [spec] When the upstream gives no wait value, the server substitutes 1000 ms.
export const DEFAULT_TIMEOUT_MS = 1000;

/** Reads the answer to a chat call. Throws `UpstreamError`. */
export function readChatAnswer(answer: UpstreamAnswer, request: OutgoingRequest): ChatAnswer | NoChatAnswer {
  const body = objectIn(answer.text);
  const error = body && errorIn(body);
  throwIfThrottled(answer, error);
  if (answer.status === 200) {
    if (error) throw new UpstreamError("expired", wordsOf(error, request));
    if (body) return readBody(body, sentAt(answer));
    throw new UpstreamError("unusable", "HTTP 200 without a JSON object");
  }
  const words = `HTTP ${answer.status}${error ? `: ${wordsOf(error, request)}` : ""}`;
  if (answer.status === 400 && asString(dig(error, "status")) === "INVALID_ARGUMENT") {
    throw new UpstreamError("expired", words);
  }
  throw new UpstreamError([400, 401, 403, 404].includes(answer.status) ? "denied" : "unusable", words);
}

/**
 * Reads the answer of `next`: the initial data of a watch page; undefined if the upstream does not know the
 * video. Throws `UpstreamError` "throttled" or "unusable".
 */
export function readNextAnswer(answer: UpstreamAnswer, request: OutgoingRequest): JsonObject | undefined {
  const body = objectIn(answer.text);
  const error = body && errorIn(body);
  throwIfThrottled(answer, error);
  if (answer.status === 404) return undefined;
  if (answer.status === 200 && asObject(body?.contents)) return body;
  const words = error ? wordsOf(error, request) : "no initial data";
  throw new UpstreamError("unusable", `/youtubei/v1/next: HTTP ${answer.status}: ${words}`, {
    wallOf: wallOfStatus(answer.status),
  });
}

/**
 * Throws `UpstreamError` "throttled" for a quota signal, regardless of the status: HTTP 429, an error object
 * that mentions a quota, a captcha page instead of the answer.
 */
export function throwIfThrottled(answer: UpstreamAnswer, error?: JsonObject): void {
  if (answer.status !== 429 && !isQuotaSignal(error) && !isCaptcha(answer)) return;
  throw new UpstreamError("throttled", "YouTube is throttling this server", {
    retryAfterMs: retryAfterMs(answer),
  });
}

function readBody(outer: JsonObject, sentAt: number): ChatAnswer | NoChatAnswer {
  // Old answers are wrapped in `response`.
  const body = outer.continuationContents === undefined ? (asObject(outer.response) ?? outer) : outer;
  const contents = asObject(body.continuationContents);
  if (!contents) {
    if (asObject(body.responseContext)) return { kind: "no chat" };
    throw new UpstreamError("unusable", "HTTP 200 without any known content");
  }
  const chat = asObject(contents.liveChatContinuation);
  const actions = asArray(chat?.actions) ?? [];
  if (lastWithin(actions, BOUNDS.actions) !== actions)
    throw new UpstreamError("unusable", `more than ${BOUNDS.actions} actions`);
  const mutations = asArray(dig(body, "frameworkUpdates", "entityBatchUpdate", "mutations")) ?? [];
  return {
    kind: "batch",
    ...nextIn(asArray(chat?.continuations) ?? [], actions.length > 0),
    header: chat?.header,
    actions,
    mutations,
    sentAt,
  };
}

/**
 * The next continuation among the offered ones. `playerSeek…` is for seeking, and `reload…` without any
 * action means that the stream has ended. Every other kind, known or not, continues the chat.
 */
function nextIn(
  continuations: readonly unknown[],
  hasActions: boolean,
): Pick<ChatAnswer, "continuation" | "timeoutMs"> {
  for (const offered of continuations) {
    for (const [kind, data] of Object.entries(asObject(offered) ?? {})) {
      if (kind === "playerSeekContinuationData" || (kind === "reloadContinuationData" && !hasActions))
        continue;
      const continuation = asString(dig(data, "continuation"));
      if (!continuation) continue;
      if (!isToken(continuation)) {
        throw new UpstreamError("unusable", "a continuation token that is too long or not printable ASCII");
      }
      return { continuation, timeoutMs: waitIn(dig(data, "timeoutMs")) };
    }
  }
  return { continuation: undefined, timeoutMs: undefined };
}

function waitIn(timeoutMs: unknown): number | undefined {
  const number = asNumber(timeoutMs);
  return number !== undefined && number >= 0 ? Math.min(number, BOUNDS.waitMs) : undefined;
}

/** Undefined for anything but a JSON object. HTML is not even parsed. */
function objectIn(text: string): JsonObject | undefined {
  return /^\s*\{/.test(text) ? asObject(parseJson(text)) : undefined;
}

/** The error object: `error` today, `responseContext.errors` in old answers. */
function errorIn(body: JsonObject): JsonObject | undefined {
  return asObject(body.error) ?? asObject(dig(body, "responseContext", "errors"));
}

function isQuotaSignal(error: JsonObject | undefined): boolean {
  if (!error) return false;
  if (asNumber(error.code) === 429) return true;
  return /RESOURCE_EXHAUSTED|quota|rate.?limit|too many requests/i.test(startOfJson(error, 10_000));
}

/**
 * A redirect to the captcha host, or its page instead of the answer. A page with initial data is never a
 * captcha, because its text can say anything.
 */
function isCaptcha({ status, text, header }: UpstreamAnswer): boolean {
  if (status >= 300 && status < 400)
    return /^https?:\/\/[^/]*google\.[^/]+\/sorry/.test(header("location") ?? "");
  if (!/^\s*</.test(text) || text.includes("ytInitialData")) return false;
  return /g-recaptcha|id=["']?captcha-form|unusual traffic from your computer/i.test(text);
}

/** The format that servers write. `Date.parse` also accepts many words that are not dates. */
const HTTP_DATE = /^\s*[A-Z][a-z]+, .* GMT\s*$/;

/** Milliseconds since 1970; NaN if the header is absent or no date. */
function dateIn(header = ""): number {
  return HTTP_DATE.test(header) ? Date.parse(header) : Number.NaN;
}

/**
 * `Retry-After` in milliseconds: seconds, or a date compared with the upstream's own clock. Undefined unless
 * it is in the future.
 */
function retryAfterMs(answer: UpstreamAnswer): number | undefined {
  const named = answer.header("retry-after") ?? "";
  const seconds = /^\s*\d{1,9}\s*$/.test(named) ? Number(named) : undefined;
  const ms = seconds === undefined ? dateIn(named) - sentAt(answer) : seconds * 1000;
  return ms > 0 ? ms : undefined;
}

function sentAt({ header, receivedAt }: UpstreamAnswer): number {
  return dateIn(header("date")) || receivedAt;
}

/** The upstream's words for callers and the log: it may repeat the secrets of the request, too. */
function wordsOf(error: JsonObject, request: OutgoingRequest): string {
  const words = asString(error.message) ?? asString(dig(error, "error", 0, "code")) ?? "an error object";
  return sanitised(withoutSecrets(words, request));
}
