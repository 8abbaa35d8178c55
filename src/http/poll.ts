/** `POST /v1/poll`: exchanges a continuation token for the next batch. Opens no room and stores nothing. */
import type { FastifyInstance } from "fastify";
import { RelayError } from "../protocol/errors.ts";
import { messageFor } from "../protocol/message.ts";
import { DEFAULT_TIMEOUT_MS } from "../upstream/answer.ts";
import { isClientLabel } from "../upstream/clients.ts";
import type { LiveChat } from "../upstream/live-chat.ts";
import type { Position } from "../upstream/position.ts";
import { NO_PANELS } from "../upstream/readers/panels.ts";
import { answers, json } from "./answers.ts";
import { clientGone } from "./client-gone.ts";
import { FAULT_CODES } from "./fault-codes.ts";
import { PollRequest, PollResponse } from "./schemas.ts";

export function pollRoute(app: FastifyInstance, liveChat: LiveChat): void {
  app.post<{ Body: PollRequest }>(
    "/v1/poll",
    {
      config: { faultCodes: FAULT_CODES.poll },
      schema: {
        summary: "Exchange a continuation token for the next batch",
        body: PollRequest,
        response: answers("/v1/poll", json("The next batch, often empty.", PollResponse)),
      },
    },
    async (request, reply) => {
      const { client, endpoint, token, apiKey, webVersion, details = false } = request.body;
      if (!isClientLabel(client))
        throw new RelayError("UNKNOWN_CLIENT", "client: is not a known client label.");
      // The schema demands one of WEB; whatever others send there is ignored.
      const credentials = { apiKey, clientVersion: typeof webVersion === "string" ? webVersion : "" };
      const position: Position = {
        chatType: "liveChatRenderer", // the caller knows which; reading does not ask
        pair: { client, endpoint },
        credentials,
        continuation: token,
        panels: NO_PANELS,
      };
      const options = { lane: "caller", maxCooldownMs: 0, signal: clientGone(reply.raw) } as const;
      const answer = await liveChat.poll(position, options);
      if (answer.kind === "silence") return { token: null, timeoutMs: DEFAULT_TIMEOUT_MS, messages: [] };
      return {
        token: answer.position.continuation,
        timeoutMs: answer.timeoutMs ?? DEFAULT_TIMEOUT_MS,
        messages: answer.items.map(({ message }) => messageFor(message, details)),
      };
    },
  );
}
