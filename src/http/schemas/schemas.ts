/** The schemas of the API: they validate requests, type handlers and describe the API. */
import type { Static, TProperties } from "typebox";
import { CHANNEL_STATES } from "../../protocol/channel.ts";
import { CHAT_TYPES, CHATS, ENDED, RELEASED } from "../../protocol/chat.ts";
import { ERRORS } from "../../protocol/errors.ts";
import { BADGES, GROUPS } from "../../protocol/kinds.ts";
import { MAX_INPUT_LENGTH } from "../../protocol/pasted-name.ts";
import { VIDEO_ID } from "../../protocol/video-id.ts";
import { BACKFILL_DEFAULT, BACKFILL_MAX } from "../../serving/resume-or-backfill.ts";
import { Type } from "./json-schema.ts";
import { MESSAGE_SCHEMAS, MessageFields, messageWith, orNull } from "./message-schemas.ts";

/** An object without further keys. */
const closed = <P extends TProperties>(properties: P) =>
  Type.Object(properties, { additionalProperties: false });

export const VideoIdInput = Type.String({
  maxLength: MAX_INPUT_LENGTH,
  description: "Full video URL or bare 11-character id.",
  examples: ["dQw4w9WgXcQ", "https://youtu.be/dQw4w9WgXcQ"],
});
/** One of the chats of the video, in a query. */
export const ChatInput = Type.Optional(
  Type.Enum([...CHATS], {
    description:
      "Which chat of the video: the live one, or the replay. By default the one that has the request's cursor, else the live one if it is stored.",
  }),
);
export const Chats = Type.Array(Type.Enum([...CHATS]), {
  description: "The chats of the video that are stored.",
});
export const VideoId = Type.String({
  pattern: VIDEO_ID.source,
  description: "The resolved 11-character id.",
});
export const ChatType = Type.Enum([...CHAT_TYPES], {
  description: "A live chat, or a finished stream's replay.",
});

const Text = Type.Optional(Type.String());

export const ErrorBody = closed({
  code: Type.Enum(Object.keys(ERRORS)),
  message: Type.String({ description: "The problem and its remedy, for people." }),
});

/** What pages have said of a video. */
export const VideoFacts = closed({
  title: Type.Optional(Type.String({ description: "The title of the video, once a page has shown it." })),
  channel: Type.Optional(
    closed({
      id: Type.Optional(Type.String({ description: "`UC` and 22 characters." })),
      name: Type.Optional(Type.String()),
      handle: Type.Optional(Type.String({ description: "With its `@`, in lower case." })),
    }),
  ),
  startedAt: Type.Optional(
    Type.String({ description: "When the stream began, ISO 8601 in UTC, once a page has shown it." }),
  ),
  endedAt: Type.Optional(Type.String({ description: "When it ended, in the same way." })),
});

export const Init = closed({
  videoId: VideoId,
  chatType: ChatType,
  cursor: Type.Integer({ description: "The cursor just before the first message of this connection." }),
  chats: Type.Optional(Chats),
  details: Type.Optional(VideoFacts),
});
export const End = closed({ reason: Type.Enum([ENDED.reason, RELEASED.reason, "until"]) });

/** Which message is featured from now on. */
const Featured = closed({
  message: orNull(Type.Ref("#/components/schemas/Message")),
  featuredAt: Type.Optional(Type.String({ description: "When it was chosen, ISO 8601 in UTC." })),
});

/** Whether a live chat is there from now on. */
const Standing = closed({
  state: Type.Enum(["live", "waiting"], { description: "`waiting`: the chat is off, or hidden." }),
  reason: Type.Optional(Type.String({ description: "Why it is waited for." })),
});

const Channel = closed({
  channel: Type.String({
    description: "The channel as the request names it: a handle, an id, `c/name` or `user/name`.",
  }),
  channelId: Type.Optional(Type.String({ description: "`UC` and 22 characters, once it is known." })),
  title: Text,
  state: Type.Enum([...CHANNEL_STATES], {
    description: "What `videoId` is; `waiting`: there is no stream that can be read.",
  }),
  videoId: Type.Optional(VideoId),
  startsAt: Type.Optional(Type.String({ description: "When it is scheduled to begin, ISO 8601 in UTC." })),
  reason: Type.Optional(Type.String({ description: "Why it waits although there may be a stream." })),
  live: Type.Optional(
    Type.Array(VideoId, {
      description:
        "With `all=on`: all its streams that are live, if there are several, in the order of their ids.",
    }),
  ),
});

/** NDJSON: how far a viewer with `types` has come. */
const Cursor = closed({ cursor: Type.Integer() });
const Keepalive = closed({});

/** The same of one of several chats on a connection. */
const ofVideo = <P extends TProperties>({ properties }: { properties: P }) =>
  closed({ videoId: VideoId, ...properties });
/** NDJSON: a line has one `id`, that of the connection. */
const Place = closed({
  cursor: Type.Integer({ description: "The chat's own." }),
  id: Type.String({ description: "As `Last-Event-ID`, it resumes the connection." }),
});
const OptionalChannel = Type.Optional(
  Type.String({ description: "The channel as its events name it, of a stream of one of `channels`." }),
);
/** With a video; in NDJSON also the message's own id, since `id` is that of the connection. */
const ofMessage = Type.Object({ videoId: VideoId });
const OwnId = Type.Object({ ...Place.properties, messageId: MessageFields.properties.id });

/** The schemas that the API description names. */
export const NAMED_SCHEMAS = {
  ...MESSAGE_SCHEMAS,
  Message: messageWith(),
  StoredMessage: messageWith(
    Type.Object({ cursor: Type.Integer({ description: "The message's place in its room." }) }),
  ),
  Error: ErrorBody,
  Init,
  End,
  Channel,
  Featured,
  Standing,
  Cursor,
  Keepalive,
  VideoMessage: messageWith(ofMessage),
  VideoFeatured: ofVideo(Featured),
  VideoStanding: ofVideo(Standing),
  VideoEnd: ofVideo(End),
  VideoInit: closed({ ...Init.properties, channel: OptionalChannel }),
  /** The error of one of the videos, or of one of the channels. */
  VideoError: closed({
    videoId: Type.Optional(VideoId),
    channel: OptionalChannel,
    ...ErrorBody.properties,
  }),
  VideoCursor: ofVideo(Place),
  VideoLine: messageWith(ofMessage, OwnId),
};
/** A reference to a named schema; valid only within the description. */
export const refTo = (name: keyof typeof NAMED_SCHEMAS) => Type.Ref(`#/components/schemas/${name}`);

const text = (description: string) => Type.Optional(Type.String({ description }));
/** `id`: which ids resume the stream. */
const asHeader = (id: string) => text(`The last id received: ${id}. Anything else counts as absent.`);
const asQuery = (id: string) =>
  text(
    `The same as \`Last-Event-ID\`, for clients that cannot send it with their first request: ${id}. The header wins, and anything else counts as absent.`,
  );
const OF_STREAM = "a cursor, or `<videoId>.<cursor>` of a channel";
const OF_SEVERAL = "a vector, for the same `videoIds` and `channels` in the same order";

const exemplified = (description: string, example: string) =>
  Type.Optional(Type.String({ maxLength: 2000, description, examples: [example] }));

/** The parameters that select messages, of history and streams alike. */
export const FilterQuery = Type.Object({
  types: exemplified(
    `Comma-separated list of types and groups (${Object.keys(GROUPS).join(", ")}); messages of type \`gap\` always come.`,
    "superchat,members",
  ),
  minTier: exemplified(
    "Leaves out paid messages below this tier of Super Chats, 1 to 7, and those without one. Messages that were not paid, deletions and gaps come as before.",
    "3",
  ),
  minAmount: exemplified(
    "Leaves out paid messages below this amount of this currency, and those of another currency or without a readable amount.",
    "5EUR",
  ),
  badges: exemplified(
    `Only messages of authors with one of these badges (${BADGES.join(", ")}), deletions and gaps.`,
    "owner,moderator",
  ),
});
export type FilterQuery = Static<typeof FilterQuery>;

export const StreamQuery = Type.Object({
  videoId: Type.Optional(VideoIdInput),
  channel: Type.Optional(
    Type.String({
      maxLength: MAX_INPUT_LENGTH,
      description:
        "In place of `videoId`: a channel by handle, id or URL. Its live stream, else the one that begins next; then the following ones.",
      examples: ["@NASA", "https://www.youtube.com/channel/UCLA_DiR1FfKNvjuUpBHmylQ"],
    }),
  ),
  // A string, as all query values are: the protocol decides which texts are numbers, not a validator's
  // coercion.
  backfill: Type.Optional(
    Type.String({
      maxLength: 400,
      description: `Number of recent messages to start with: 0 to ${BACKFILL_MAX}, by default ${BACKFILL_DEFAULT}, and all of a replay.`,
      examples: ["100"],
    }),
  ),
  details: Type.Optional(Type.Enum(["true", "false"], { description: "Whether messages carry `details`." })),
  ...FilterQuery.properties,
  from: Type.Optional(
    Type.String({
      maxLength: 400,
      description:
        "The stream begins with the first message stored at this time or later: ISO 8601 with a zone, or milliseconds since 1970. A cursor wins over it, and it wins over `backfill`.",
      examples: ["2026-11-20T20:00:00Z"],
    }),
  ),
  until: Type.Optional(
    Type.Enum(["now"], {
      description:
        "`now`: the stream ends with the newest message stored now. Everything comes from the store; no chat is read.",
    }),
  ),
  lastEventId: asQuery(OF_STREAM),
  chat: ChatInput,
  all: Type.Optional(
    Type.Enum(["on", "off"], {
      description: "With `channel`: `on` adds `live` to the events `channel`, all streams that are live.",
    }),
  ),
  featured: Type.Optional(
    Type.Enum(["on", "off"], {
      description:
        "`on`: the event `featured` says after `init` which message is featured, and again at each change.",
    }),
  ),
  standing: Type.Optional(
    Type.Enum(["on", "off"], {
      description:
        "`on`: the event `standing` says after the `init` of a live chat whether the chat is there, or is off or hidden, and again at each change.",
    }),
  ),
});
export type StreamQuery = Static<typeof StreamQuery>;

const { videoId: _, channel: __, chat: ___, all: ____, ...StreamOptions } = StreamQuery.properties;

/** No URL of the service can be longer. */
const MAX_LIST_LENGTH = 4 * MAX_INPUT_LENGTH;

export const MergedQuery = Type.Object({
  videoIds: Type.Optional(
    Type.String({
      maxLength: MAX_LIST_LENGTH,
      description: "1 to 20 videos, comma-separated: ids or URLs.",
      examples: ["dQw4w9WgXcQ,jNQXAC9IVRw"],
    }),
  ),
  channels: Type.Optional(
    Type.String({
      maxLength: MAX_LIST_LENGTH,
      description:
        "Channels, comma-separated, each as `channel` of `/v1/stream`: beside or in place of `videoIds`, 20 of both together.",
      examples: ["@NASA,@SpaceX"],
    }),
  ),
  cursors: Type.Optional(
    Type.String({
      maxLength: MAX_LIST_LENGTH,
      description:
        "Cursors after which chats begin: `videoId:cursor`, comma-separated, of any of the videos in any order. Other videos are ignored. The last id received wins.",
      examples: ["jNQXAC9IVRw:1795163753064"],
    }),
  ),
  ...StreamOptions,
  lastEventId: asQuery(OF_SEVERAL),
});
export type MergedQuery = Static<typeof MergedQuery>;

export const StreamHeaders = Type.Object({ "last-event-id": asHeader(OF_STREAM) });
export type StreamHeaders = Static<typeof StreamHeaders>;
export const MergedHeaders = Type.Object({ "last-event-id": asHeader(OF_SEVERAL) });
