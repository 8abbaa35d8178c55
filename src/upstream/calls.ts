/**
 * All calls of the service to the upstream: pages of the main host, `next` as their substitute, and chat
 * calls to a client's host. Each call goes through the gate of an egress and returns a parsed answer or an
 * `UpstreamError`. Redirects are followed here, and never to a foreign host.
 */
import type { JsonObject } from "../base/json.ts";
import {
  type ChatAnswer,
  type NoChatAnswer,
  readChatAnswer,
  readNextAnswer,
  throwIfThrottled,
} from "./answer.ts";
import type { ChatCall, ClientLabel, ClientTable, UpstreamHosts } from "./clients.ts";
import { chatRequest, commonHeaders, nextRequest } from "./clients.ts";
import type { Answered, CallOptions } from "./egress/flights.ts";
import type { Lane } from "./egress/lanes.ts";
import type { UpstreamAnswer, UpstreamRequest } from "./egress/transport.ts";
import type { Credentials } from "./page/credentials.ts";
import { UpstreamError, wallOfStatus } from "./upstream-error.ts";

const MAX_REDIRECTS = 5;
/** Hosts to which the upstream redirects instead of answering, whom that concerns, and what they ask for. */
const ASKING_HOSTS = [
  [/^consent\./, "address", "for consent to cookies (a redirect to its consent host)"],
  [/^accounts\./, "video", "to sign in (a redirect to its sign-in host)"],
] as const;

/** A page load in the lane of polls, or of recoveries, uses the next one: it does not delay polls. */
const PAGE_LANES: Partial<Record<Lane, Lane>> = { poll: "recovery", recovery: "retry" };
const NEXT = "/youtubei/v1/next";

/** Maximum time until an answer is complete, in whole milliseconds. */
export interface Deadlines {
  chatMs: number;
  /** A page or a script, including its redirects. */
  pageMs: number;
}

/** A chat answer is small, and waiting longer loses more than trying again. Watch pages are large. */
export const DEADLINES: Deadlines = { chatMs: 8000, pageMs: 15_000 };

/** A redirect instead of a page: its target, and how long that answer took. */
interface Redirect {
  redirect: URL;
  tookMs: number;
}

/** A request, and how to send it and read its answer. */
export interface Outgoing<T> {
  /** The path or endpoint, and other labels, of its metrics. */
  kind: string;
  labels?: { client: string; endpoint: string };
  /** Pages are throttled long before chat calls, and have their own cooldown. */
  isPage?: boolean;
  request: UpstreamRequest;
  /** Also gets the request, whose secrets an error must not repeat. */
  read(answer: UpstreamAnswer, request: UpstreamRequest): T;
  options: CallOptions;
}

/** Sends a request when its turn comes. Rejects as `Flights.call` does. */
export type SendRequest = <T>(outgoing: Outgoing<T>) => Promise<Answered<T>>;

export interface CallSettings {
  hosts: UpstreamHosts;
  clients: ClientTable;
  deadlines: Deadlines;
}

export class UpstreamCalls {
  readonly #settings: CallSettings;
  readonly #send: SendRequest;

  constructor(settings: CallSettings, send: SendRequest) {
    this.#settings = settings;
    this.#send = send;
  }

  /**
   * The text of a page or script of the main host, loaded within `deadlineMs`. `path` includes the query;
   * `kind` is its name in metrics and errors, for a path that names more than a kind of page. Rejects with
   * `UpstreamError` "throttled" or "unusable".
   */
  async page(
    path: string,
    options: CallOptions,
    deadlineMs = this.#settings.deadlines.pageMs,
    kind = path.replace(/\?.*/, ""),
  ): Promise<Answered<string>> {
    const { hosts, clients, deadlines } = this.#settings;
    let url = new URL(path, hosts.main);
    let leftMs = Math.min(deadlineMs, deadlines.pageMs);
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      const request: UpstreamRequest = {
        method: "GET",
        url: url.href,
        headers: commonHeaders(hosts.main, clients.WEB.userAgent),
        deadlineMs: leftMs,
      };
      const from = url;
      const read = (answer: UpstreamAnswer) => this.#readPage(kind, from, answer);
      const { value, ...times } = await this.#sendForPage({ kind, request, read, options });
      if ("text" in value) return { value: value.text, ...times };
      url = value.redirect;
      leftMs = Math.max(1, leftMs - Math.ceil(value.tookMs));
    }
    throw new UpstreamError("unusable", `${kind}: more than ${MAX_REDIRECTS} redirects`, {
      wallOf: "address",
    });
  }

  /** The initial data of a video's watch page; undefined if the video is not known. Rejects like `page`. */
  next(
    videoId: string,
    credentials: Credentials,
    options: CallOptions,
    deadlineMs = this.#settings.deadlines.pageMs,
  ): Promise<Answered<JsonObject | undefined>> {
    const { hosts, clients } = this.#settings;
    const request = { ...nextRequest(hosts, clients, credentials, videoId), deadlineMs };
    return this.#sendForPage({ kind: NEXT, request, read: readNextAnswer, options });
  }

  /** Makes one chat call and reads its answer. Rejects with `UpstreamError` of any fault. */
  chat(call: ChatCall, options: CallOptions): Promise<Answered<ChatAnswer | NoChatAnswer>> {
    const { hosts, clients, deadlines } = this.#settings;
    const request = { ...chatRequest(hosts, clients, call), deadlineMs: deadlines.chatMs };
    return this.#send({
      kind: call.pair.endpoint,
      labels: call.pair,
      request,
      read: readChatAnswer,
      options,
    });
  }

  /** The base URL of the host that a client talks to. */
  hostOf(client: ClientLabel): string {
    const { hosts, clients } = this.#settings;
    return hosts[clients[client].host];
  }

  #sendForPage<T>({ options, ...outgoing }: Outgoing<T>): Promise<Answered<T>> {
    const lane = PAGE_LANES[options.lane] ?? options.lane;
    return this.#send({ ...outgoing, isPage: true, options: { ...options, lane } });
  }

  /** The page, or a redirect to one of the upstream's own hosts. */
  #readPage(kind: string, from: URL, answer: UpstreamAnswer): { text: string } | Redirect {
    throwIfThrottled(answer);
    const { status, text, tookMs } = answer;
    if (status === 200) return { text };
    if (status < 300 || status > 399) {
      throw new UpstreamError("unusable", `${kind}: HTTP ${status}`, {
        wallOf: wallOfStatus(status),
        status,
      });
    }
    return { redirect: this.#redirected(from, answer.header("location")), tookMs };
  }

  /** The target of a redirect. Throws `UpstreamError` unless it is one of the upstream's own hosts. */
  #redirected(from: URL, location: string | undefined): URL {
    const to = location === undefined ? null : URL.parse(location, from);
    if (!to) throw new UpstreamError("unusable", "a redirect to nowhere", { wallOf: "address" });
    const known = Object.values(this.#settings.hosts).some((host) => new URL(host).origin === to.origin);
    if (known) return to;
    const [, wallOf = "address", asked] = ASKING_HOSTS.find(([host]) => host.test(to.hostname)) ?? [];
    const why =
      asked === undefined
        ? `a redirect to a foreign host (${to.hostname.slice(0, 100)})`
        : `YouTube asks ${asked}`;
    throw new UpstreamError("unusable", why, { wallOf });
  }
}
