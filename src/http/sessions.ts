/** `POST /v1/sessions`: a bootstrap for a caller that polls by itself. It opens no room and stores nothing. */
import type { FastifyInstance } from "fastify";
import { type Message, messageFor } from "../protocol/message.ts";
import { parseVideoId } from "../protocol/video-id.ts";
import { DEFAULT_TIMEOUT_MS } from "../upstream/answer.ts";
import type { LiveChat } from "../upstream/live-chat.ts";
import type { Item } from "../upstream/readers/reader.ts";
import { answers, json } from "./answers.ts";
import { clientGone } from "./client-gone.ts";
import { FAULT_CODES } from "./fault-codes.ts";
import { SessionRequest, SessionResponse } from "./schemas.ts";

export function sessionsRoute(app: FastifyInstance, liveChat: LiveChat): void {
  app.post<{ Body: SessionRequest }>(
    "/v1/sessions",
    {
      config: { faultCodes: FAULT_CODES.sessions },
      schema: {
        summary: "Bootstrap a chat for polling by the caller",
        body: SessionRequest,
        response: answers("/v1/sessions", json("The chat, ready to be polled.", SessionResponse)),
      },
    },
    async (request, reply) => {
      const { includeInitial = true, details = false } = request.body;
      const videoId = parseVideoId(request.body.videoId);
      const signal = clientGone(reply.raw);
      const { page, first } = await liveChat.bootstrap(videoId, {
        lane: "caller",
        maxCooldownMs: 0,
        signal,
      });
      const { chatType, pair, credentials, continuation } = page.position;
      const initial = includeInitial ? uniqueById([...page.items, ...first.items]) : [];
      return {
        videoId,
        chatType,
        client: pair.client,
        host: liveChat.hostOf(pair.client),
        endpoint: pair.endpoint,
        apiKey: credentials.apiKey,
        webVersion: credentials.clientVersion,
        // An answer without a successor has not spent the page's token: asked again, it says once more that it is over.
        token: first.position.continuation ?? continuation,
        timeoutMs: first.timeoutMs ?? DEFAULT_TIMEOUT_MS,
        messages: initial.map((message) => messageFor(message, details)),
      };
    },
  );
}

function uniqueById(items: readonly Item[]): Message[] {
  return [...new Map(items.toReversed().map(({ message }) => [message.id, message])).values()].reverse();
}
