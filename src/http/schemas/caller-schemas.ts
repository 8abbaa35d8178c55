/** The schemas of the endpoints for callers that poll by themselves, and of the probe. */
import type { Static } from "typebox";
import { CLIENTS, ENDPOINTS } from "../../upstream/clients.ts";
import { Type } from "./json-schema.ts";
import { ChatType, refTo, VideoId, VideoIdInput } from "./schemas.ts";

const Endpoint = Type.Enum([...ENDPOINTS], { description: "The upstream endpoint." });
const DetailsWanted = Type.Optional(
  Type.Boolean({ default: false, description: "Whether messages carry `details`." }),
);
const TimeoutMs = Type.Number({
  minimum: 0,
  description: "Suggested wait before the next poll, in milliseconds.",
});

export const SessionRequest = Type.Object(
  {
    videoId: VideoIdInput,
    includeInitial: Type.Optional(
      Type.Boolean({ default: true, description: "Include the backlog already there in `messages`." }),
    ),
    details: DetailsWanted,
  },
  { examples: [{ videoId: "dQw4w9WgXcQ", includeInitial: true }] },
);
export type SessionRequest = Static<typeof SessionRequest>;

export const SessionResponse = Type.Object({
  videoId: VideoId,
  chatType: ChatType,
  client: Type.Enum(Object.keys(CLIENTS), { description: "The upstream client that worked." }),
  host: Type.String({ description: "The upstream host that it talks to, as a URL." }),
  endpoint: Endpoint,
  apiKey: Type.String({ description: "Empty where the upstream names none." }),
  webVersion: Type.String(),
  token: Type.String({ description: "The first continuation token." }),
  timeoutMs: TimeoutMs,
  messages: Type.Array(refTo("Message")),
});

// [spec] `webVersion`: required when `client` is `WEB`; ignored for other clients
const POLL_FIELDS = {
  token: Type.String({
    pattern: "^[\\x20-\\x7e]+$",
    maxLength: 8192,
    description: "Continuation token of the previous response.",
  }),
  client: Type.String({ maxLength: 100, description: "Client label of the session.", examples: ["WEB"] }),
  endpoint: Endpoint,
  apiKey: Type.String({
    pattern: "^([A-Za-z0-9_-]{10,100})?$",
    description: "API key of the session; may be empty.",
  }),
  webVersion: Type.Optional(
    Type.Unknown({ description: "Client version of the session: digits and points. Only for `WEB`." }),
  ),
  details: DetailsWanted,
};
export const PollRequest = Type.Object(POLL_FIELDS, {
  if: { properties: { client: { const: "WEB" } }, required: ["client"] },
  then: {
    required: ["webVersion"],
    // With all the others: a linter takes what a part of a schema does not name for refused.
    properties: { ...POLL_FIELDS, webVersion: { type: "string", pattern: "^[0-9.]{1,40}$" } },
  },
  examples: [
    {
      token: "0ofMyAPiARp8Q2c4S0RRb0xabUZ0Y0d4bA%3D%3D",
      client: "WEB",
      endpoint: "get_live_chat",
      apiKey: "AIzaSyExampleExampleExample",
      webVersion: "2.20260612.01.00",
    },
  ],
});
export type PollRequest = Static<typeof PollRequest>;

export const PollResponse = Type.Object({
  token: Type.Union([Type.String(), Type.Null()], {
    description: "Next continuation token; null when the chat has ended.",
  }),
  timeoutMs: TimeoutMs,
  messages: Type.Array(refTo("Message")),
});

export const ProbeRequest = Type.Object(
  { videoId: VideoIdInput },
  { examples: [{ videoId: "dQw4w9WgXcQ" }] },
);
export type ProbeRequest = Static<typeof ProbeRequest>;

export const ProbeResponse = Type.Object({
  videoId: VideoId,
  rows: Type.Array(
    Type.Object({
      label: Type.Enum(Object.keys(CLIENTS)),
      endpoint: Endpoint,
      ok: Type.Boolean({ description: "Whether the attempt returned a parseable chat response." }),
      actions: Type.Integer({ minimum: 0, description: "Count of raw chat actions; 0 when `ok` is false." }),
      error: Type.Union([Type.String(), Type.Null()], { description: "The upstream's failure, or null." }),
    }),
  ),
});
