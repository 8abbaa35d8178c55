/** What an answer of the upstream said, by the readers that the service itself uses. */
import { asObject, asString, dig, parseJson } from "../../base/json.ts";
import { isReplayChat } from "../../protocol/chat.ts";
import { readChatAnswer } from "../../upstream/answer.ts";
import { type ChatPage, readChatPage, readNextPage } from "../../upstream/page/chat-page.ts";
import {
  credentialsInPage,
  credentialsInServiceWorker,
  credentialsInServiceWorkerData,
  type FoundCredentials,
} from "../../upstream/page/credentials.ts";
import type { LoggedExchange } from "./exchange-log.ts";
import { type Finding, sizeOf } from "./finding.ts";

type Said = Pick<Finding, "state" | "text" | "quoted">;
type Answer = NonNullable<LoggedExchange["answer"]>;

/** The paths that a check asks for. A redirect may lead to any other. */
const OWN_PATH = /^\/(?:sw\.js|sw\.js_data|live_chat|watch|youtubei\/v1\/(?:next|live_chat\/\w+))$/;

/** The path of a request, without its query; of a redirect, only that it has one. */
export function calledPath({ request }: LoggedExchange): string {
  const { pathname } = new URL(request.url);
  return OWN_PATH.test(pathname) ? pathname : "/…";
}

/** The client identity in a call's body; undefined for a page. */
export function clientIn({ request }: LoggedExchange): string | undefined {
  return asString(dig(parseJson(request.body ?? ""), "context", "client", "clientName"));
}

/** A wall and a page without a chat are warnings: another page may show it. */
export function exchangeFinding(exchange: LoggedExchange, videoId: string): Finding {
  const { answer, tookMs } = exchange;
  const path = calledPath(exchange);
  const client = clientIn(exchange);
  const of = client === undefined ? "page" : "call";
  const name = client === undefined ? path : `${client} ${path.replace(/^.*\//, "")}`;
  if (!answer) return { state: "warn", of, text: `${name}: no answer, after ${tookMs} ms` };
  const head = `${name}: HTTP ${answer.status}, ${sizeOf(Buffer.byteLength(answer.text))}, ${tookMs} ms`;
  const { text, ...said } = saidBy(answer, path, videoId, exchange);
  return { of, ...said, text: `${head}: ${text}` };
}

function saidBy(answer: Answer, path: string, videoId: string, exchange: LoggedExchange): Said {
  const { status, text } = answer;
  if (path.includes("/live_chat/")) return saidByCall(answer, exchange);
  if (status >= 300 && status < 400)
    return { state: "warn", text: "leads elsewhere", quoted: answer.header("location") };
  if (status !== 200) return { state: "warn", text: "refused" };
  if (path === "/sw.js") return { state: "ok", text: wordsFor(credentialsInServiceWorker(text)) };
  if (path === "/sw.js_data") return { state: "ok", text: wordsFor(credentialsInServiceWorkerData(text)) };
  if (path.endsWith("/next")) return saidByPage(readNextPage(asObject(parseJson(text)), videoId, "all"));
  const { text: chat, ...said } = saidByPage(readChatPage(text, videoId, "all"));
  return { ...said, text: `${wordsFor(credentialsInPage(text))}; ${chat}` };
}

function wordsFor({ apiKey, clientVersion }: FoundCredentials): string {
  const version = clientVersion === undefined ? "no client version" : `client version ${clientVersion}`;
  return `${version}, ${apiKey === undefined ? "no key" : "a key"}`;
}

function saidByPage(page: ChatPage): Said {
  if (!page.chat) return { state: "warn", text: `no chat (${page.is})`, quoted: page.why };
  const { chatType, view, actions } = page.chat;
  const kind = isReplayChat(chatType) ? "a replay" : "a live chat";
  return { state: "ok", text: `${kind}, ${view} messages, ${actions.length} actions` };
}

function saidByCall(answer: Answer, { request, tookMs }: LoggedExchange): Said {
  try {
    const read = readChatAnswer({ ...answer, tookMs }, request);
    if (read.kind === "no chat") return { state: "warn", text: "no chat" };
    const next = read.continuation === undefined ? "no next token" : "a next token";
    const wait = read.timeoutMs === undefined ? "" : `, to be used in ${read.timeoutMs / 1000} s`;
    return { state: "ok", text: `${read.actions.length} actions, ${next}${wait}` };
  } catch (error) {
    return { state: "warn", text: "no chat", quoted: error instanceof Error ? error.message : undefined };
  }
}
