/**
 * A plain reader of the simulated upstream over HTTP: loads pages, follows tokens, and shows the actions it
 * gets.
 */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../simulator/index.ts";

export type Json = { [key: string]: Json } & Json[];

interface Reply {
  status: number;
  body: Json;
  /** The next page's token, whichever key carries it; not the one for seeking. */
  next: string | undefined;
  actions: Json[];
}

/** A simulator that is closed with the test. */
export async function startFor(t: TestContext, options: SimulatorOptions = {}): Promise<Simulator> {
  const upstream = await startSimulator(options);
  t.after(() => upstream.close());
  return upstream;
}

interface CallOptions {
  endpoint?: "get_live_chat" | "get_live_chat_replay";
  client?: string;
  host?: "main" | "music" | "mobile";
  playerOffsetMs?: number;
}

/** Sends a token to a chat endpoint. */
export async function poll(upstream: Simulator, token: string, options: CallOptions = {}): Promise<Reply> {
  const { endpoint = "get_live_chat", client = "WEB", host = "main", playerOffsetMs } = options;
  const response = await fetch(`${upstream.urls[host]}/youtubei/v1/live_chat/${endpoint}?prettyPrint=false`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      context: { client: { clientName: client, clientVersion: "2.20260101.00.00" } },
      continuation: token,
      ...(playerOffsetMs !== undefined && { currentPlayerState: { playerOffsetMs: String(playerOffsetMs) } }),
    }),
  });
  const body: Json = JSON.parse(await response.text());
  const chat = (body.response ?? body).continuationContents?.liveChatContinuation;
  const next = chat?.continuations?.find((one) => !one.playerSeekContinuationData);
  return {
    status: response.status,
    body,
    next: next && tokenIn(next),
    actions: chat?.actions ?? [],
  };
}

/** The initial data of a page, evaluated as a browser would read it. */
export async function initialData(
  upstream: Simulator,
  on: "popout" | "watch",
  videoId: string,
): Promise<Json> {
  const path = on === "popout" ? `/live_chat?is_popout=1&v=${videoId}` : `/watch?v=${videoId}`;
  const html = await (await fetch(upstream.urls.main + path)).text();
  const script = /(?:window\["ytInitialData"\]|var ytInitialData) = (.*?);<\/script>/s.exec(html)?.[1];
  assert.ok(script, "the page holds initial data");
  return new Function(`return ${script}`)();
}

/** The chat in a page's initial data. */
export function chatIn(data: Json): Json {
  const bar = data.contents?.twoColumnWatchNextResults?.conversationBar;
  const chat = (bar ?? data.contents)?.liveChatRenderer ?? (bar ?? data.contents)?.liveChatReplayRenderer;
  assert.ok(chat, "the page holds a chat");
  return chat;
}

export function tokenIn(continuation: Json | undefined): string {
  const token: unknown = Object.values(continuation ?? {})[0]?.continuation;
  assert.ok(typeof token === "string");
  return token;
}

/** The tokens of the view menu of a page's chat, or of an answer; undefined if it has none. */
export function menuIn(
  holder: Json | undefined,
): { top: string; all: string; selected: unknown[] } | undefined {
  const items = holder?.header?.liveChatHeaderRenderer?.viewSelector?.sortFilterSubMenuRenderer?.subMenuItems;
  if (!items) return undefined;
  const [top = "", all = ""] = items.map(({ continuation }: Json) => tokenIn(continuation));
  return { top, all, selected: items.map(({ selected }: Json) => selected) };
}

/** The popout page's token of all messages. It shows no replay: for one, the watch page's own token. */
export async function firstToken(upstream: Simulator, videoId: string): Promise<string> {
  const popout = await initialData(upstream, "popout", videoId);
  if (!popout.contents?.messageRenderer) return menuIn(chatIn(popout))?.all ?? assert.fail("no menu");
  return tokenIn(chatIn(await initialData(upstream, "watch", videoId)).continuations?.[0]);
}

/** The ids of plain items in actions, wrapped for a replay or not. */
export function idsOf(actions: readonly Json[]): unknown[] {
  return actions
    .flatMap((action) => action.replayChatItemAction?.actions ?? [action])
    .map((action) => Object.values(action.addChatItemAction?.item ?? {})[0]?.id);
}

/** Reads on until no token follows; the ids of all that came. */
export async function readAll(
  upstream: Simulator,
  token: string,
  options: CallOptions = {},
): Promise<unknown[]> {
  const ids: unknown[] = [];
  for (let next: string | undefined = token; next !== undefined; ) {
    const reply: Reply = await poll(upstream, next, options);
    assert.equal(reply.status, 200);
    assert.ok(ids.length < 10_000, "the chat does not end");
    ids.push(...idsOf(reply.actions));
    next = reply.next;
  }
  return ids;
}
