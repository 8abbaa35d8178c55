/**
 * The bodies of the two chat endpoints: batches of a live chat and of a replay, the five ways in which a chat
 * ends, and the error objects. Shapes as captured; stateless and without tokens.
 */
import type { Grant } from "./continuation-book.ts";
import type { JsonObject } from "./plain-json.ts";
import type { Random } from "./random.ts";

/** One HTTP answer, independent of a socket. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/**
 * How the upstream reports that a chat is over: only a continuation to reload; only one to seek; a missing or
 * an empty list of continuations; an answer without any chat.
 */
export const END_SHAPES = [
  "reload-only",
  "seek-only",
  "continuations-absent",
  "continuations-empty",
  "no-contents",
] as const;
export type EndShape = (typeof END_SHAPES)[number];

/** The caller, as the answer repeats it. */
export interface Caller {
  client: string;
  clientVersion: string;
}

export function json(status: number, body: JsonObject): Answer {
  return {
    status,
    headers: { "content-type": "application/json; charset=UTF-8" },
    body: JSON.stringify(body),
  };
}

export function html(status: number, body: string): Answer {
  return { status, headers: { "content-type": "text/html; charset=utf-8" }, body };
}

/** The texts of Google's front end by status. */
const errors: Record<number, { status: string; reason: string; message: string }> = {
  400: { status: "INVALID_ARGUMENT", reason: "badRequest", message: "Request contains an invalid argument." },
  403: { status: "PERMISSION_DENIED", reason: "forbidden", message: "The caller does not have permission" },
  404: { status: "NOT_FOUND", reason: "notFound", message: "Requested entity was not found." },
  429: {
    status: "RESOURCE_EXHAUSTED",
    reason: "rateLimitExceeded",
    message: "Resource has been exhausted (e.g. check quota).",
  },
  500: { status: "INTERNAL", reason: "backendError", message: "Internal error encountered." },
  503: { status: "UNAVAILABLE", reason: "backendError", message: "The service is currently unavailable." },
};

/** The error object of a code. An unlisted code becomes an internal error. */
export function errorObject(code: number): JsonObject {
  const { status, reason, message } = errors[code] ?? {
    status: "INTERNAL",
    reason: "backendError",
    message: "",
  };
  return { error: { code, message, errors: [{ message, domain: "global", reason }], status } };
}

/** The error format from before 2022: next to the response context, with status 200. */
export const OLD_ERROR_OBJECT: JsonObject = {
  responseContext: {
    errors: {
      error: [
        {
          domain: "gdata.CoreErrorDomain",
          code: "INVALID_VALUE",
          location: "continuation",
          locationType: "other",
        },
      ],
    },
  },
};

export function responseContext(caller: Caller, random: Random, call = "GetLiveChat"): JsonObject {
  const { client, clientVersion } = caller;
  return {
    serviceTrackingParams: [
      {
        service: "CSI",
        params: [
          { key: "c", value: client },
          { key: "cver", value: clientVersion },
          { key: "yt_li", value: "0" },
          { key: `${call}_rid`, value: `0x${random.bytes(8).toString("hex")}` },
        ],
      },
      { service: "GFEEDBACK", params: [{ key: "logged_in", value: "0" }] },
      { service: "GUIDED_HELP", params: [{ key: "logged_in", value: "0" }] },
      {
        service: "ECATCHER",
        params: [
          { key: "client.version", value: clientVersion },
          { key: "client.name", value: client },
        ],
      },
    ],
    mainAppWebResponseContext: { loggedOut: true, trackingParam: `kx_${random.text(18)}` },
    webResponseContextExtensionData: { hasDecorated: true },
  };
}

export function trackingParams(random: Random): string {
  return `CAEQ${random.text(18)}`;
}

/** The form of a live chat's continuation; `none`: answers bring none. */
export type LiveForm = "invalidation" | "timed" | "none";

/** The continuation of a live chat. `timeoutMs` null asks for no wait. */
export function liveContinuation(
  key: LiveForm,
  videoId: string,
  token: string,
  timeoutMs: number | null,
  random: Random,
): JsonObject {
  const wait = timeoutMs === null ? {} : { timeoutMs };
  const tail = { ...wait, continuation: token, clickTrackingParams: trackingParams(random) };
  if (key === "timed") return { timedContinuationData: tail };
  const invalidationId = {
    objectSource: 1056,
    objectId: Buffer.from(`chat~${videoId}`).toString("base64url"),
    topic: `chat~${videoId}`,
    subscribeToGcmTopics: true,
    protoCreationTimestampMs: "1767225600000",
  };
  return { invalidationContinuationData: { invalidationId, ...tail } };
}

export function reloadContinuation(token: string, random: Random): JsonObject {
  return { reloadContinuationData: { continuation: token, clickTrackingParams: trackingParams(random) } };
}

/** The header with the view menu. `tokens`: one for each view; `selected`: the view in use. */
export function header(
  kind: Grant["kind"],
  tokens: Record<Grant["view"], string>,
  selected: Grant["view"],
  random: Random,
): JsonObject {
  const suffix = kind === "replay" ? " replay" : "";
  const item = (name: string, view: Grant["view"]): JsonObject => {
    const title = `${name}${suffix}`;
    return {
      title,
      selected: view === selected,
      continuation: reloadContinuation(tokens[view], random),
      accessibility: { accessibilityData: { label: title } },
      trackingParams: trackingParams(random),
    };
  };
  const subMenuItems = [item("Top chat", "top"), item("Live chat", "all")];
  const sortFilterSubMenuRenderer = { subMenuItems, trackingParams: trackingParams(random) };
  return { liveChatHeaderRenderer: { viewSelector: { sortFilterSubMenuRenderer } } };
}

/** The two continuations of a replay's page: one for the next page, one for seeking. */
export function replayContinuations(token: string, seekToken: string, untilLastMs: number): JsonObject[] {
  return [
    { liveChatReplayContinuationData: { timeUntilLastMessageMsec: untilLastMs, continuation: token } },
    { playerSeekContinuationData: { continuation: seekToken } },
  ];
}

/** What an answer brings besides its continuations. */
interface Content {
  actions: readonly JsonObject[];
  mutations?: readonly JsonObject[];
  /** Only the first answer to a page's token has one. */
  header?: JsonObject | false | undefined;
}

/** A batch. Without actions the key is missing, as in real answers. */
export function batch(
  caller: Caller,
  random: Random,
  continuations: readonly JsonObject[] | undefined,
  { actions, mutations = [], header }: Content,
): JsonObject {
  return {
    ...(mutations.length > 0 && { frameworkUpdates: { entityBatchUpdate: { mutations } } }),
    responseContext: responseContext(caller, random),
    trackingParams: trackingParams(random),
    continuationContents: {
      liveChatContinuation: {
        ...(continuations && { continuations }),
        ...(actions.length > 0 && { actions }),
        ...(header && { header }),
        trackingParams: trackingParams(random),
      },
    },
  };
}

/** The last answer of a chat. `token` is the value of the continuation, for the shapes that have one. */
export function ending(
  shape: EndShape,
  caller: Caller,
  random: Random,
  token: string,
  content: Content,
): JsonObject {
  switch (shape) {
    case "reload-only":
      return batch(caller, random, [reloadContinuation(token, random)], content);
    case "seek-only":
      return batch(caller, random, [{ playerSeekContinuationData: { continuation: token } }], content);
    case "continuations-absent":
      return batch(caller, random, undefined, content);
    case "continuations-empty":
      return batch(caller, random, [], content);
    case "no-contents":
      return { responseContext: responseContext(caller, random), trackingParams: trackingParams(random) };
  }
}

/** The message of a chat endpoint and of the popout page if there is no chat. */
export function noChatMessage(text: string, random: Random): JsonObject {
  return { messageRenderer: { text: { runs: [{ text }] }, trackingParams: trackingParams(random) } };
}
