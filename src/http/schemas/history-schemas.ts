/**
 * The schemas of `GET /v1/messages`. They refuse a query by the form of its values; `history-query.ts` reads
 * the values whose errors need an explanation.
 */
import type { Static } from "typebox";
import { CHANNEL_ID } from "../../protocol/channel.ts";
import { ROOM_STATES } from "../../rooms/room-states.ts";
import { FORMAT_NAMES } from "../../serving/history/formats.ts";
import { Type } from "./json-schema.ts";
import { orNull } from "./message-schemas.ts";
import { ChatInput, Chats, ChatType, FilterQuery, refTo, VideoId, VideoIdInput } from "./schemas.ts";

export const MAX_LIMIT = 1000;
export const DEFAULT_LIMIT = 100;

const flag = (description: string) => Type.Optional(Type.Enum(["true", "false"], { description }));
/** The values of a query are strings; the handler reads those values whose errors need an explanation. */
const text = (description: string, ...examples: string[]) =>
  Type.Optional(Type.String({ maxLength: 2000, description, ...(examples.length > 0 && { examples }) }));
const cursor = (description: string) => Type.Optional(Type.String({ pattern: "^\\d{1,16}$", description }));

export const MessagesQuery = Type.Object({
  videoId: VideoIdInput,
  after: cursor("Only messages after this cursor."),
  before: cursor(
    "Only messages before this cursor. Without `after`, the page has the last ones of them, still in order.",
  ),
  from: text(
    "Only messages stored at this time or later: ISO 8601 with a zone, or milliseconds since 1970.",
    "2026-11-20T20:00:00Z",
  ),
  to: text("Only messages stored before this time."),
  saidFrom: text(
    "Only messages from the first one on that was said at this time or later, by the chat's own time: in the forms of `from`; or, of a replay or an import with offsets, a place in the video (`12:30`, `1:02:03`, `-0:12`, `PT12M`).",
    "2026-11-20T20:00:00Z",
  ),
  saidTo: text("Only messages before the first one that was said at this time or later, in the same forms."),
  limit: text(
    `Maximum number of messages: 1 to ${MAX_LIMIT}, by default ${DEFAULT_LIMIT}; or \`all\`, as a download in a format other than JSON.`,
  ),
  ...FilterQuery.properties,
  author: Type.Optional(
    Type.String({
      pattern: CHANNEL_ID.source,
      description: "Only messages of the author with this channel id.",
    }),
  ),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: "Only messages whose text or author contains this, in any case and in any Unicode form.",
    }),
  ),
  text: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: "As `q`, in the words alone: names of authors do not count.",
    }),
  ),
  details: flag("Whether messages carry `details`. CSV and text always use them."),
  format: Type.Optional(
    Type.Enum(FORMAT_NAMES, {
      description: "The format of the answer; by default that of `Accept`, else JSON.",
    }),
  ),
  raw: flag("CSV: whether texts that a spreadsheet would run as formulas stay as they are."),
  bom: flag("CSV: whether it begins with a byte order mark, which some spreadsheets need."),
  chat: ChatInput,
});
export type MessagesQuery = Static<typeof MessagesQuery>;

const Cursor = (description: string) => Type.Integer({ description });

export const MessagesResponse = Type.Object({
  videoId: VideoId,
  chatType: ChatType,
  chats: Chats,
  state: Type.Enum([...ROOM_STATES], { description: "If the room is not open: its last state." }),
  base: Cursor("The cursor before the room's first message."),
  floor: Cursor("The cursor before the oldest stored message."),
  head: Cursor("The cursor of the newest stored message."),
  messages: Type.Array(refTo("StoredMessage")),
  next: orNull(Cursor("The `after` of the next page; null at the head, `before` or `to`.")),
  prev: orNull(
    Cursor(
      "The `before` of the previous page; null at the floor or `from`, and at `after` if the request has `before`, too.",
    ),
  ),
  outside: Type.Optional(
    Type.Object(
      {
        storedFrom: Type.String(),
        storedTo: Type.String(),
        saidFrom: Type.Optional(Type.String()),
        saidTo: Type.Optional(Type.String()),
        offsetFromMs: Type.Optional(Type.Number()),
        offsetToMs: Type.Optional(Type.Number()),
      },
      {
        description:
          "Only if the times asked for leave out everything that is stored: when the first and the last message were stored and said, and where in the video.",
      },
    ),
  ),
});
