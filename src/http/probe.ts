/** `POST /v1/probe`: which upstream clients and endpoints work for a video today. */
import type { FastifyInstance } from "fastify";
import { parseVideoId } from "../protocol/video-id.ts";
import type { LiveChat } from "../upstream/live-chat.ts";
import { probe } from "../upstream/probe.ts";
import { answers, json } from "./answers.ts";
import { clientGone } from "./client-gone.ts";
import { FAULT_CODES } from "./fault-codes.ts";
import { ProbeRequest, ProbeResponse } from "./schemas.ts";

export function probeRoute(app: FastifyInstance, liveChat: LiveChat): void {
  app.post<{ Body: ProbeRequest }>(
    "/v1/probe",
    {
      config: { faultCodes: FAULT_CODES.probe },
      schema: {
        summary: "Try every upstream client with both endpoints",
        body: ProbeRequest,
        response: answers("/v1/probe", json("One row for each attempt.", ProbeResponse)),
      },
    },
    async (request, reply) => {
      const videoId = parseVideoId(request.body.videoId);
      return { videoId, rows: await probe(liveChat, videoId, clientGone(reply.raw)) };
    },
  );
}
