/**
 * The simulator's three hosts as plain HTTP servers. Each records a request, applies a matching fault, and
 * otherwise answers by the request's path.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "../src/base/clock.ts";
import { type Answer, errorObject, json } from "./answers.ts";
import type { AddressLimit } from "./call-limit.ts";
import { errorPage, type Faults, fail, send } from "./faults.ts";
import type { Incoming, Outgoing } from "./in-process.ts";
import type { Wall } from "./pages.ts";
import { dig, isObject, type JsonObject, parseObject } from "./plain-json.ts";
import type { HostName, RequestKind, RequestLog, RequestRecord } from "./requests.ts";
import type { ChatCall, Endpoint, Place } from "./scenario.ts";

/** The requests for a page, for a script or for the data of a page. */
export type PageKind = "sw.js" | "sw.js_data" | Place;

/** The pages of a channel: `/live`, and the streams tab. */
export type ChannelPageKind = "live" | "streams";

/** Answers the requests that no fault hits. */
export interface Site {
  page(kind: PageKind, videoId: string): Answer;
  channelPage(kind: ChannelPageKind, channel: string): Answer;
  /** The wall that replaces a page. */
  wall(wall: Wall, on: Place, videoId: string): Answer;
  /** Takes the call's token and returns the function that makes the answer. */
  accept(call: ChatCall): () => Answer;
  /** The video to which a token belongs. */
  videoOf(token: string): string | undefined;
}

export interface HostContext {
  site: Site;
  faults: Faults;
  /** Undefined if addresses are not limited. */
  limit: AddressLimit | undefined;
  log: RequestLog;
  clock: Clock;
  signal: AbortSignal;
}

export interface Host {
  /** Base URL without a trailing slash. */
  url: string;
  /** Destroys all sockets at once. */
  close(): Promise<void>;
}

/** A longer body is read to its end, dropped, and answered with 413. */
const MAX_BODY_BYTES = 1024 * 1024;

const getKinds: Record<string, RequestKind> = {
  "/sw.js": "sw.js",
  "/sw.js_data": "sw.js_data",
  "/live_chat": "popout",
  "/watch": "watch",
};

const CHANNEL_PATH = /^\/(@[^/]+|channel\/[^/]+|(?:c|user)\/[^/]+)\/(live|streams)$/;

const postKinds: Record<string, RequestKind> = {
  "/youtubei/v1/next": "next",
  "/youtubei/v1/live_chat/get_live_chat": "get_live_chat",
  "/youtubei/v1/live_chat/get_live_chat_replay": "get_live_chat_replay",
};

/** Listens on 127.0.0.1; port 0 chooses a free one. */
export async function startHost(name: HostName, port: number, context: HostContext): Promise<Host> {
  const server = createServer((request, response) => {
    serve(name, request, response, context).catch(() => response.destroy());
  });
  // No idle timeout: a client that reuses a connection must not find it closing, because only faults may
  // break connections.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${address.port}`, close: () => close(server) };
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Answers one request. Rejects if the simulator closes during a fault. */
export async function serve(
  host: HostName,
  request: Incoming,
  response: Outgoing,
  context: HostContext,
): Promise<void> {
  const { log, clock, faults, signal } = context;
  const path = request.url ?? "/";
  const url = new URL(path, "http://upstream.invalid");
  const method = request.method ?? "GET";
  const [, channelPath, channelPage] = CHANNEL_PATH.exec(url.pathname) ?? [];
  const known = (method === "POST" ? postKinds : getKinds)[url.pathname];
  const kind = known ?? (channelPage as ChannelPageKind | undefined) ?? "other";
  const { headers } = request;
  const from = request.socket.remoteAddress ?? "";
  const record: RequestRecord = { at: clock.monotonic(), host, kind, method, path, headers, from };
  if (channelPath !== undefined) record.channel = channelIn(channelPath);
  log.arrive(record);
  response.once("close", () => {
    log.finish(record, clock.monotonic(), response.headersSent ? response.statusCode : undefined);
  });
  const body = await readBody(request);
  if (body === undefined) return send(response, errorPage(413), clock);
  const api = kind === "next" || kind === "get_live_chat" || kind === "get_live_chat_replay";
  const isChat = api && kind !== "next";
  const call = isChat ? readCall(host, kind, body, record, context.site) : undefined;
  const shown = kind === "next" ? readNext(body, record) : (url.searchParams.get("v") ?? undefined);
  if (!isChat && shown !== undefined) record.videoId = shown;
  log.received(record);
  const accept = (): (() => Answer) => {
    if (kind === "other") return () => errorPage(404);
    if (kind === "live" || kind === "streams")
      return () => context.site.channelPage(kind, record.channel ?? "");
    if (kind === "get_live_chat" || kind === "get_live_chat_replay") {
      return call ? context.site.accept(call) : () => json(400, errorObject(400));
    }
    if (kind === "next" && shown === undefined) return () => json(400, errorObject(400));
    return () => context.site.page(kind, shown ?? "");
  };
  const wall = (wall: Wall): Answer => {
    if (kind === "live" || kind === "streams") return context.site.wall(wall, "watch", "");
    return kind === "popout" || kind === "watch" || kind === "next"
      ? context.site.wall(wall, kind, shown ?? "")
      : errorPage(404);
  };
  const isLimited = context.limit?.exceeds(from, clock.monotonic());
  const failure = faults.meet(record) ?? (isLimited ? { status: 429 } : undefined);
  if (failure) {
    record.faulted = true;
    return fail(failure, { response, accept, wall, api, clock, signal });
  }
  send(response, accept()(), clock);
}

/** A handle in lower case, an id, `c/name` or `user/name`. */
function channelIn(path: string): string {
  const name = decodeURIComponent(path.replace(/^channel\//, ""));
  return name.startsWith("@") ? name.toLowerCase() : name;
}

/** Reads a chat call's body into its record; `undefined` if it is not a valid call. */
function readCall(
  host: HostName,
  endpoint: Endpoint,
  text: string,
  record: RequestRecord,
  site: Site,
): ChatCall | undefined {
  record.body = text;
  const body: JsonObject = parseObject(text) ?? {};
  const client = dig(body, "context", "client");
  const { clientName, clientVersion } = isObject(client) ? client : {};
  const token = body.continuation;
  if (typeof clientName === "string") record.client = clientName;
  if (typeof clientVersion === "string") record.clientVersion = clientVersion;
  if (typeof token === "string") {
    record.continuation = token;
    const videoId = site.videoOf(token);
    if (videoId !== undefined) record.videoId = videoId;
  }
  if (typeof clientName !== "string" || typeof clientVersion !== "string" || typeof token !== "string")
    return undefined;
  const offset = Number(dig(body, "currentPlayerState", "playerOffsetMs") ?? Number.NaN);
  const seek = Number.isFinite(offset) ? { playerOffsetMs: offset } : {};
  return { host, endpoint, client: clientName, clientVersion, token, ...seek };
}

/** The video of a call to `next`; `undefined` if it is not a valid call. */
function readNext(text: string, record: RequestRecord): string | undefined {
  record.body = text;
  const body = parseObject(text);
  const version = dig(body, "context", "client", "clientVersion");
  const videoId = dig(body, "videoId");
  return typeof version === "string" && typeof videoId === "string" ? videoId : undefined;
}

async function readBody(request: Incoming): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    size += bytes.length;
    if (size <= MAX_BODY_BYTES) chunks.push(bytes);
  }
  return size <= MAX_BODY_BYTES ? Buffer.concat(chunks).toString() : undefined;
}
