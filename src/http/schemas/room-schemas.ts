/** The schemas of stored rooms and their totals. */
import type { Static } from "typebox";
import { CHAT_VIEWS } from "../../protocol/chat.ts";
import { MESSAGE_TYPES } from "../../protocol/kinds.ts";
import { ROOM_STATES } from "../../rooms/room-states.ts";
import { Type } from "./json-schema.ts";
import { orNull } from "./message-schemas.ts";
import { ChatInput, Chats, ChatType, VideoFacts, VideoId, VideoIdInput } from "./schemas.ts";

const At = orNull(Type.String({ description: "ISO 8601 in UTC." }));
const count = (description: string) => Type.Integer({ description });

const Room = Type.Object({
  videoId: VideoId,
  chatType: ChatType,
  state: Type.Enum([...ROOM_STATES], { description: "If the room is not open: its last state." }),
  messages: count("Number of stored messages."),
  firstAt: At,
  lastAt: At,
  viewers: count("On this instance; a recording counts as one."),
  lateMs: orNull(
    Type.Number({ description: "If the room is read: milliseconds since the last good answer." }),
  ),
  gaps: count("Number of messages of type `gap` among them."),
  kept: Type.Optional(
    Type.Boolean({ description: "It was imported: `retentionDays` does not apply to it." }),
  ),
  ...VideoFacts.properties,
  view: orNull(
    Type.Enum([...CHAT_VIEWS], {
      description: "What this instance reads of the chat: all messages, or YouTube's selection (Top chat).",
    }),
  ),
  egress: orNull(Type.String({ description: "If this instance reads the room: its egress." })),
  fullAnswers: orNull(
    count(
      "If this instance reads the room: the number of full answers, after which messages may be missing.",
    ),
  ),
});

export const VideoQuery = Type.Object({
  channels: Type.Optional(
    Type.String({
      description:
        "Channels, separated by commas: a video of none of them is looked at, and each answer takes as long as that look did.",
    }),
  ),
});
export type VideoQuery = Static<typeof VideoQuery>;

export const VideoResponse = Type.Object({
  videoId: VideoId,
  channels: Type.Array(Type.String(), {
    description: "The names of the video's channel: its id, and its handle; none if it is not known.",
  }),
});

export const RoomsResponse = Type.Object({
  retentionDays: Type.Number({
    description: "Messages of rooms that are not `kept` are deleted after this many days; 0: never.",
  }),
  rooms: Type.Array(Room),
});

const Currency = Type.String({ description: "ISO 4217." });
const CountAndSum = {
  count: Type.Integer(),
  sum: Type.Number({ description: "Exact in decimals; 0 if the currency is null." }),
};
const Totals = Type.Object(
  {
    types: Type.Partial(
      Type.Object(Object.fromEntries(MESSAGE_TYPES.map((type) => [type, Type.Integer()]))),
      {
        description: "Number of messages by type; a type that did not occur is absent.",
      },
    ),
    paid: Type.Array(Type.Object({ currency: Currency, ...CountAndSum }), {
      description: "Payments by currency, without deleted ones.",
    }),
    unreadable: count("Number of other paid messages: value or currency is unknown, as of gifts in jewels."),
    deletedPaid: Type.Array(Type.Object({ currency: orNull(Currency), ...CountAndSum }), {
      description:
        "Paid messages that were deleted, by currency; null: value or currency is unknown. Neither `paid` nor `unreadable` has them.",
    }),
    memberships: count("Number of memberships given as gifts."),
    authors: count("Number of distinct channel ids."),
    firstAt: At,
    lastAt: At,
    uncounted: count(
      "Number of stored messages that are not in the totals yet; 0 but while totals are counted again.",
    ),
    cursor: count("The totals count all messages up to this cursor."),
  },
  {
    description: "They count all messages that were ever stored, including those that the retention deleted.",
  },
);

const Activity = Type.Object(
  {
    after: count("Only messages after this cursor count: of a busy room, the newest 20,000 at first."),
    cursor: count("The last cursor that counts."),
    lastMinute: orNull(count("Number of messages said in the last 60 seconds; null for a replay.")),
    minutes: Type.Array(
      Type.Object({
        messages: count("Said in this minute."),
        at: Type.Optional(Type.String({ description: "Of a live chat: its begin, ISO 8601 in UTC." })),
        offsetMs: Type.Optional(count("Of a replay: its begin in the video, in milliseconds.")),
      }),
      {
        description:
          "The minutes with messages, in order: of a live chat at most 60, of a replay at most 1440, the latest ones.",
      },
    ),
    authors: Type.Array(
      Type.Object({
        authorId: orNull(Type.String({ description: "The channel id." })),
        author: Type.String(),
        messages: count("Number of messages."),
      }),
      { description: "Up to ten, the most active first." },
    ),
  },
  { description: "With `activity=true`: how lively the chat is." },
);

export const RoomResponse = Type.Object({
  ...Room.properties,
  chats: Chats,
  totals: Totals,
  activity: Type.Optional(Activity),
});

export const RoomParams = Type.Object({ videoId: VideoIdInput });
export type RoomParams = Static<typeof RoomParams>;
export const RoomQuery = Type.Object({
  chat: ChatInput,
  activity: Type.Optional(
    Type.Enum(["true", "false"], {
      description: "Whether to count the messages by minute and the most active authors, too.",
    }),
  ),
});
export type RoomQuery = Static<typeof RoomQuery>;
