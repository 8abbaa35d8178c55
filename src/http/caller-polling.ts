/**
 * `POST /v1/sessions` and `POST /v1/poll`, for callers that poll themselves: a bootstrap, and the exchange of
 * a continuation token for the next batch. Neither opens a room or stores anything. All who ask for the same
 * at the same time are sent the same bytes.
 */
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Clock } from "../base/clock.ts";
import { Deadline } from "../base/deadline.ts";
import { dropOldest } from "../base/maps.ts";
import { SharedWork } from "../base/shared-work.ts";
import { wireJson } from "../base/wire-json.ts";
import { atCapacity } from "../protocol/capacity.ts";
import { ChatAbsent } from "../protocol/chat-standing.ts";
import { RelayError } from "../protocol/errors.ts";
import { type Message, messageFor } from "../protocol/message.ts";
import { parseVideoId } from "../protocol/video-id.ts";
import { DEFAULT_TIMEOUT_MS } from "../upstream/answer.ts";
import { isClientLabel } from "../upstream/clients.ts";
import type { Egress } from "../upstream/egress/egress.ts";
import type { EgressPool } from "../upstream/egress/pool.ts";
import { mergeInOrder } from "../upstream/order.ts";
import type { Position } from "../upstream/position.ts";
import { joinGifts, NO_GIFTS } from "../upstream/readers/join-gifts.ts";
import { NO_PANELS } from "../upstream/readers/panels.ts";
import type { Item } from "../upstream/readers/reader.ts";
import { clientGone } from "./connections/client-gone.ts";
import { RequestTurns } from "./connections/request-turns.ts";
import { CALLERS } from "./route-bounds.ts";
import { PollRequest, PollResponse, SessionRequest, SessionResponse } from "./schemas/caller-schemas.ts";
import { json, routeOptions } from "./schemas/responses.ts";

const SESSION = { summary: "Bootstrap a chat for polling by the caller", body: SessionRequest };
const POLL = { summary: "Exchange a continuation token for the next batch", body: PollRequest };

/** Maximum number of tokens whose egress is remembered. A forgotten token works through any egress. */
const MAX_TOKENS = 10_000;

/** Time limit of a request: its calls wait for their turn, and those of the rooms go first. */
const LIMIT_MS = 60_000;

/** How the calls of a caller's request queue. */
type CallerOptions = { lane: "caller"; maxCooldownMs: number; signal: AbortSignal };

export function callerPollingRoutes(app: FastifyInstance, egresses: EgressPool, clock: Clock): void {
  const calls = new CallerCalls(egresses, clock);

  app.post<{ Body: SessionRequest }>(
    "/v1/sessions",
    routeOptions("/v1/sessions", SESSION, json("The chat, ready to be polled.", SessionResponse)),
    async ({ body }, reply) => send(await calls.session(body, clientGone(reply.raw)), reply),
  );

  app.post<{ Body: PollRequest }>(
    "/v1/poll",
    routeOptions("/v1/poll", POLL, json("The next batch, often empty.", PollResponse)),
    async ({ body }, reply) => send(await calls.poll(body, clientGone(reply.raw)), reply),
  );
}

function send(body: Buffer, reply: FastifyReply): FastifyReply {
  return reply.type("application/json; charset=utf-8").send(body);
}

/** Makes the calls of callers, apart from Fastify. */
class CallerCalls {
  readonly #egresses: EgressPool;
  readonly #clock: Clock;
  readonly #turns = new RequestTurns(CALLERS, "callers");
  readonly #answers = new SharedWork<Buffer>();
  readonly #byToken = new Map<string, Egress>();

  constructor(egresses: EgressPool, clock: Clock) {
    this.#egresses = egresses;
    this.#clock = clock;
  }

  async session(
    { videoId: name, includeInitial = true, details = false }: SessionRequest,
    gone: AbortSignal,
  ): Promise<Buffer> {
    const videoId = parseVideoId(name);
    return await this.#answer(["session", videoId, includeInitial, details], gone, async (options) => {
      const { standing, egress } = await this.#egresses.call(options.signal, async (egress) => ({
        standing: await egress.liveChat.bootstrap(videoId, options),
        egress,
      }));
      if (standing.is !== "there") throw new ChatAbsent(standing);
      const { page, first } = standing;
      const { chatType, pair, credentials } = page.position;
      // An answer without a continuation has not used up its token: the next poll with it reports the end
      // again.
      const token = first.position.continuation ?? first.token;
      this.#remember(token, egress);
      const initial = includeInitial ? toMessages(mergeInOrder(page.items, first.items)) : [];
      return {
        videoId,
        chatType,
        client: pair.client,
        host: egress.liveChat.hostOf(pair.client),
        endpoint: pair.endpoint,
        apiKey: credentials.apiKey,
        webVersion: credentials.clientVersion,
        token,
        timeoutMs: first.timeoutMs ?? DEFAULT_TIMEOUT_MS,
        messages: initial.map((message) => messageFor(message, details)),
      };
    });
  }

  async poll(
    { client, endpoint, token, apiKey, webVersion, details = false }: PollRequest,
    gone: AbortSignal,
  ): Promise<Buffer> {
    if (!isClientLabel(client))
      throw new RelayError(
        "UNKNOWN_CLIENT",
        "client: is not a known client label; send that of the session.",
      );
    // The schema requires a string for WEB; for other clients any value is allowed and ignored.
    const clientVersion = typeof webVersion === "string" ? webVersion : "";
    const position: Position = {
      // Only the caller knows these two, and a poll does not need them.
      ...({ chatType: "liveChatRenderer", view: "all" } as const),
      pair: { client, endpoint },
      credentials: { apiKey, clientVersion },
      continuation: token,
      panels: NO_PANELS,
    };
    const key = ["poll", client, endpoint, token, apiKey, clientVersion, details];
    return await this.#answer(key, gone, async (options) => {
      const { answer, egress } = await this.#egresses.call(
        options.signal,
        async (egress) => ({ answer: await egress.liveChat.poll(position, options), egress }),
        this.#byToken.get(token),
      );
      this.#byToken.delete(token);
      if (answer.kind === "no chat") return { token: null, timeoutMs: DEFAULT_TIMEOUT_MS, messages: [] };
      this.#remember(answer.position.continuation, egress);
      return {
        token: answer.position.continuation,
        timeoutMs: answer.timeoutMs ?? DEFAULT_TIMEOUT_MS,
        messages: toMessages(answer.items).map((message) => messageFor(message, details)),
      };
    });
  }

  /** The JSON of what `act` makes, for all whose requests have the same key. */
  async #answer(
    key: readonly unknown[],
    gone: AbortSignal,
    act: (options: CallerOptions) => Promise<unknown>,
  ): Promise<Buffer> {
    const write = async (abandoned: AbortSignal) =>
      Buffer.from(wireJson(await inTime(this.#clock, abandoned, act)));
    return await this.#turns.accept(() => this.#answers.run(JSON.stringify(key), write, gone));
  }

  #remember(token: string | null, egress: Egress): void {
    if (token === null || this.#egresses.isSingle) return;
    this.#byToken.delete(token);
    this.#byToken.set(token, egress);
    dropOldest(this.#byToken, MAX_TOKENS);
  }
}

/** Settles as `act` does; rejects with `RelayError` CAPACITY if its calls wait for too long. */
async function inTime<T>(
  clock: Clock,
  abandoned: AbortSignal,
  act: (options: CallerOptions) => Promise<T>,
): Promise<T> {
  using limit = new Deadline(clock, LIMIT_MS);
  const signal = limit.or(abandoned);
  try {
    return await act({ lane: "caller", maxCooldownMs: 0, signal });
  } catch (error) {
    if (!signal.aborted || abandoned.aborted) throw error;
    const message = `Too many calls wait for YouTube: this one was not made within ${LIMIT_MS / 1000} s.`;
    throw atCapacity("callers", message);
  }
}

/** The messages without duplicates: the first of each id, with the content that replaced it. */
function toMessages(read: readonly Item[]): Message[] {
  const byId = new Map<string, Message>();
  for (const { message, replaces } of joinGifts(read, new Set(), NO_GIFTS, 0).items)
    if (replaces || !byId.has(message.id)) byId.set(message.id, message);
  return [...byId.values()];
}
