/**
 * The responses of each endpoint by status, its success and its errors, as the API description shows them.
 */
import type { FastifySchema } from "fastify";
import { ERRORS, type ErrorCode } from "../../protocol/errors.ts";
import { FAULT_CODES } from "../fault-codes.ts";
import { MessagesResponse } from "./history-schemas.ts";
import { Type } from "./json-schema.ts";
import { refTo } from "./schemas.ts";

const OF_VIDEO = ["INVALID_REQUEST", "INVALID_VIDEO_ID", "NO_LIVE_CHAT", "SW_JS_FAILED"] as const;
const OF_BODY = ["INVALID_REQUEST", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"] as const;
/** For endpoints that ask the store and can also say CAPACITY: its causes are in `CAPACITY_CAUSES`. */
const OF_STORE = ["CAPACITY", "STORE_UNAVAILABLE"] as const;

/** Every endpoint that needs a right has these. */
const OF_ACCESS = ["UNAUTHORIZED", "FORBIDDEN"] as const;

// The specification's table of errors by endpoint. All can also answer METHOD_NOT_ALLOWED and similar errors.
const ERRORS_OF = {
  "/v1/stream": [
    ...OF_VIDEO,
    "NOT_STORED",
    "RATE_LIMITED",
    "NO_WORKING_CLIENT",
    "CAPACITY",
    "STORE_UNAVAILABLE",
  ],
  "/v1/merged": ["INVALID_REQUEST", "INVALID_VIDEO_ID", "CAPACITY"],
  "/v1/log/{videoId}": [...OF_VIDEO, "OFFSET_GONE", "RATE_LIMITED", "NO_WORKING_CLIENT", ...OF_STORE],
  "/v1/sessions": [...OF_VIDEO, ...OF_BODY, "NO_WORKING_CLIENT", "UPSTREAM_ERROR", "CAPACITY"],
  "/v1/poll": [...OF_BODY, "TOKEN_EXPIRED", "UNKNOWN_CLIENT", "UPSTREAM_ERROR", "CAPACITY"],
  "/v1/probe": [...OF_VIDEO, ...OF_BODY, "RATE_LIMITED", "CAPACITY"],
  "/v1/videos/{videoId}": [
    ...["INVALID_REQUEST", "INVALID_VIDEO_ID", "RATE_LIMITED", "UPSTREAM_ERROR", ...OF_STORE],
  ],
  "/v1/rooms": OF_STORE,
  "/v1/rooms/{videoId}": ["INVALID_REQUEST", "INVALID_VIDEO_ID", "NOT_STORED", ...OF_STORE],
  "/v1/messages": ["INVALID_REQUEST", "INVALID_VIDEO_ID", "NOT_STORED", ...OF_STORE],
  "GET /v1/featured/:videoId": ["INVALID_REQUEST", "INVALID_VIDEO_ID", ...OF_STORE],
  "PUT /v1/featured/:videoId": [...OF_BODY, "INVALID_VIDEO_ID", "NOT_STORED", ...OF_STORE],
  "DELETE /v1/featured/:videoId": ["INVALID_REQUEST", "INVALID_VIDEO_ID", ...OF_STORE],
  "/v1/recordings": ["INVALID_REQUEST", ...OF_STORE],
  "PUT /v1/recordings/:name": ["INVALID_REQUEST", ...OF_STORE],
  "DELETE /v1/recordings/:name": [...["INVALID_REQUEST", "NOT_FOUND", "CONFLICT", "STORE_UNAVAILABLE"]],
} as const satisfies Record<string, readonly ErrorCode[]>;

const RETRY_AFTER = {
  description: "Seconds to wait before trying again, where that is known.",
  schema: Type.Integer(),
};

/**
 * The options of an endpoint's route: request and response schemas, and its errors for the upstream's faults.
 */
export function routeOptions(path: keyof typeof FAULT_CODES, expected: FastifySchema, success: object) {
  return { config: { faultCodes: FAULT_CODES[path] }, schema: schemaOf(path, expected, success) };
}

/** The request schemas (`expected`) and the response schemas of an endpoint. */
export function schemaOf(path: keyof typeof ERRORS_OF, expected: FastifySchema, success: object) {
  return { ...expected, response: { 200: success, ...errorsOf(path) } };
}

/** As `schemaOf`, for an endpoint that answers without a body. `successes`: what each status means. */
export function bodiless(
  path: keyof typeof ERRORS_OF,
  expected: FastifySchema,
  successes: Record<number, string>,
) {
  const answers = Object.entries(successes).map(([status, description]) => [status, { description }]);
  return { ...expected, response: { ...Object.fromEntries(answers), ...errorsOf(path) } };
}

/** The endpoint's errors of `ERRORS_OF`, by status. */
function errorsOf(path: keyof typeof ERRORS_OF): Record<string, object> {
  const codes = new Set<ErrorCode>([...ERRORS_OF[path], ...OF_ACCESS]);
  const byStatus = Map.groupBy(codes, (code) => ERRORS[code].status);
  const errors = [...byStatus].map(([status, codes]) => {
    const examples = Object.fromEntries(codes.map((code) => [code, { value: { code, message: "…" } }]));
    const content = { "application/json": { schema: refTo("Error"), examples } };
    const headers = codes.some((code) => ERRORS[code].retry !== "never")
      ? { headers: { "Retry-After": RETRY_AFTER } }
      : {};
    return [status, { description: codes.join(" or "), content, ...headers }];
  });
  return Object.fromEntries(errors);
}

/** A successful JSON response. */
export function json(description: string, schema: object): object {
  return { description, content: { "application/json": { schema } } };
}

const LINES = Type.String();
const header = (description: string) => ({ description, schema: Type.String() });

/** A page of stored messages, or all of them as a download. */
export const HistoryResponse = {
  description:
    "The messages in order, as JSON or in lines. `limit=all` is a download, sent while it is read, which ends early if the service stops.",
  headers: {
    Link: header(
      'The next and the previous page, where they exist: `<?…>; rel="next"`, relative to the URL of the request.',
    ),
    ETag: header("Changes with the answer. A request with `If-None-Match` gets 304 while it does not."),
    "Cache-Control": header("`immutable` for a page that was asked for with `after` and has a `next`."),
  },
  content: {
    "application/json": { schema: MessagesResponse },
    "application/x-ndjson": { schema: LINES },
    "text/csv": { schema: LINES },
    "text/plain": { schema: LINES },
  },
};

/** A part of a log, or the stream of all that follows. */
export const LogResponse = {
  description:
    "The messages after the offset, in order: a page, or with `live=long-poll` the first ones to come. With `live=sse`, events: `data` with an array of messages, then `control` with `streamNextOffset`, `streamCursor`, `upToDate` and `streamClosed`. A long poll without a message is answered 204.",
  headers: {
    "Stream-Next-Offset": header("The offset to read on from."),
    "Stream-Up-To-Date": header("`true` if there was no further message when the answer was made."),
    "Stream-Closed": header("`true` if the chat is over, and the answer reaches its end."),
    "Stream-Cursor": header("For caches: the `cursor` of the next long poll."),
    ETag: header(
      "On each page except for `offset=now`. A request with `If-None-Match` gets 304 while the page stays the same.",
    ),
    "Cache-Control": header("`immutable` for a page that does not reach the end."),
  },
  content: {
    "application/json": { schema: Type.Array(refTo("StoredMessage")) },
    "text/event-stream": { schema: Type.String() },
  },
};

const EVENTS = {
  channel: refTo("Channel"),
  init: refTo("Init"),
  message: refTo("Message"),
  featured: refTo("Featured"),
  standing: refTo("Standing"),
  end: refTo("End"),
  error: refTo("Error"),
};
const CHANNEL_EVENTS = {
  channel: refTo("Channel"),
  init: refTo("Init"),
  message: refTo("VideoMessage"),
  featured: refTo("VideoFeatured"),
  standing: refTo("VideoStanding"),
  error: refTo("Error"),
};
const MERGED_EVENTS = {
  channel: refTo("Channel"),
  init: refTo("VideoInit"),
  message: refTo("VideoMessage"),
  featured: refTo("VideoFeatured"),
  standing: refTo("VideoStanding"),
  end: refTo("VideoEnd"),
  error: refTo("VideoError"),
};
/** In NDJSON: of one chat, and of several. */
const ONE_CHAT_LINES = { cursor: refTo("Cursor"), keepalive: refTo("Keepalive") };
const PLACED_LINES = {
  message: refTo("VideoLine"),
  cursor: refTo("VideoCursor"),
  keepalive: refTo("Keepalive"),
};
/** A stream as one text. `contentSchema`: what the data of its events are. */
function streamText(...tables: Readonly<Record<string, { $ref?: string }>>[]) {
  const names = new Set(tables.flatMap((table) => Object.values(table).map(({ $ref }) => $ref)));
  return Type.String({ contentSchema: { anyOf: [...names].map(($ref) => ({ $ref })) } });
}

const EXAMPLE_MESSAGE =
  '"type":"chat","id":"…","timestamp":"8:35 AM","author":"@ines","message":"hello","amount":"","color":"","parts":[{"kind":"text","text":"hello"}]}';

/** A successful stream of frames. */
export const StreamResponse = {
  description:
    "Server-Sent Events, in this order: `retry: 3000`; `init` (videoId, chatType, cursor); `message` with the cursor as its id, history first, oldest first, then live; a comment `: keepalive` every 15 s; finally `end` ({reason}) or `error` ({code, message}). With `types`, a cursor may come as an id without data. With `featured=on`, `featured` ({message, featuredAt}, or {message: null}) comes after `init`, and again at each change; it has no id. With `standing=on`, `standing` ({state}, which is `live` or `waiting`, and a reason to wait) does so for a live chat. With `Accept: application/x-ndjson`, the same as one JSON object per line, whose `event` names it. With `channel`, first `channel` ({channel, state, …}) and again at each change, then the same for each of its videos without `end`; `videoId` is the first field of each event, and `<videoId>.<cursor>` the id of each message.",
  content: {
    "text/event-stream": {
      schema: streamText(EVENTS, CHANNEL_EVENTS),
      // The schema of each event's `data`, and with `channel`; OpenAPI 3.1 has no field for it.
      "x-events": EVENTS,
      "x-channel-events": CHANNEL_EVENTS,
      example: [
        "retry: 3000\n\n",
        'event: init\ndata: {"videoId":"dQw4w9WgXcQ","chatType":"liveChatRenderer","cursor":1795163753063}\n\n',
        `id: 1795163753064\nevent: message\ndata: {${EXAMPLE_MESSAGE}\n\n`,
        ": keepalive\n\n",
        'event: end\ndata: {"reason":"no more continuations"}\n\n',
      ].join(""),
    },
    "application/x-ndjson": {
      schema: streamText(EVENTS, CHANNEL_EVENTS, ONE_CHAT_LINES, PLACED_LINES),
      // The schema of a line's other fields than `event`, and in a message than `cursor`.
      "x-events": { ...EVENTS, ...ONE_CHAT_LINES },
      "x-channel-events": { ...CHANNEL_EVENTS, ...PLACED_LINES },
      example: [
        '{"event":"init","videoId":"dQw4w9WgXcQ","chatType":"liveChatRenderer","cursor":1795163753063}\n',
        `{"event":"message","cursor":1795163753064,${EXAMPLE_MESSAGE}\n`,
        '{"event":"cursor","cursor":1795163753071}\n',
        '{"event":"keepalive"}\n',
        '{"event":"end","reason":"no more continuations"}\n',
      ].join(""),
    },
  },
};

/** A successful stream of several chats. */
export const MergedResponse = {
  description:
    "As `/v1/stream`, with `videoId` as the first field of each event: one `init` for each chat, its messages in their order, and its own `end` or `error`. The id of a message is a vector with one component per chat, in the order of `videoIds`, separated by `.`: the cursor that the client has reached in that chat with this message, in base 36, or `_` if it has none. As `Last-Event-ID`, it resumes every chat. In NDJSON, `cursor` is the chat's own, `id` the vector, and `messageId` the message's own id. With `channels`, `channel` events come as on `/v1/stream`, `init` and the `error` of a channel name it as `channel`, and the vector goes on with a component per channel.",
  content: {
    "text/event-stream": {
      schema: streamText(MERGED_EVENTS),
      "x-events": MERGED_EVENTS,
      example: [
        "retry: 3000\n\n",
        'event: init\ndata: {"videoId":"dQw4w9WgXcQ","chatType":"liveChatRenderer","cursor":1795163753063}\n\n',
        `id: mwoq5cvc._\nevent: message\ndata: {"videoId":"dQw4w9WgXcQ",${EXAMPLE_MESSAGE}\n\n`,
        'event: error\ndata: {"videoId":"jNQXAC9IVRw","code":"NO_LIVE_CHAT","message":"…"}\n\n',
      ].join(""),
    },
    "application/x-ndjson": {
      schema: streamText(MERGED_EVENTS, PLACED_LINES),
      "x-events": { ...MERGED_EVENTS, ...PLACED_LINES },
    },
  },
};
