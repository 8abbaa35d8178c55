/** `POST /v1/probe`: reports which upstream clients and endpoints work for a video now. */
import type { FastifyInstance } from "fastify";
import { SharedWork } from "../base/shared-work.ts";
import { parseVideoId } from "../protocol/video-id.ts";
import type { EgressPool } from "../upstream/egress/pool.ts";
import { type ProbeRow, probe } from "../upstream/probe.ts";
import { clientGone } from "./connections/client-gone.ts";
import { RequestTurns } from "./connections/request-turns.ts";
import { PROBES } from "./route-bounds.ts";
import { ProbeRequest, ProbeResponse } from "./schemas/caller-schemas.ts";
import { json, routeOptions } from "./schemas/responses.ts";

const EXPECTED = { summary: "Try every upstream client with both endpoints", body: ProbeRequest };

/** A probe makes tens of calls to YouTube, so it ends soon after its caller has gone. */
const NOTE_MS = 20;

export function probeRoute(app: FastifyInstance, egresses: EgressPool): void {
  const callers = new RequestTurns(PROBES, "callers");
  const probes = new SharedWork<ProbeRow[]>();
  app.post<{ Body: ProbeRequest }>(
    "/v1/probe",
    routeOptions("/v1/probe", EXPECTED, json("One row for each attempt.", ProbeResponse)),
    async (request, reply) => {
      const videoId = parseVideoId(request.body.videoId);
      const act = (abandoned: AbortSignal) => probe(egresses.best, videoId, abandoned);
      const gone = clientGone(reply.raw, { everyMs: NOTE_MS });
      const rows = await callers.accept(() => probes.run(videoId, act, gone));
      return { videoId, rows };
    },
  );
}
