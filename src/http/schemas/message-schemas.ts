/**
 * The schemas of messages: the fields that all have, and the `details` of each type. `kinds.test.ts` compares
 * them with the protocol's types.
 */
import type { TOptional, TSchema } from "typebox";
import {
  BADGES,
  GAP_REASONS,
  MESSAGE_TYPES,
  type MessageType,
  POLL_STATES,
  RAID_DIRECTIONS,
} from "../../protocol/kinds.ts";
import { Type } from "./json-schema.ts";

const Text = Type.Optional(Type.String());
const OptionalNumber = Type.Optional(Type.Number());
export const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const Part = Type.Union(
  [
    Type.Object({ kind: Type.Literal("text"), text: Type.String() }),
    Type.Object({ kind: Type.Literal("link"), text: Type.String(), url: Type.String() }),
    Type.Object({ kind: Type.Literal("emoji"), text: Type.String(), url: Text, custom: Type.Boolean() }),
  ],
  { description: "One run of the text." },
);

const Color = Type.Optional(Type.String({ pattern: "^#[0-9a-f]{6}$" }));

const DETAILS = {
  storedAt: Type.String({
    description:
      "When the message was made durable, but never before it was said or before the message before it: ISO 8601 in UTC with milliseconds. `from` and `to` compare it. Not in `/v1/sessions` and `/v1/poll`, which store nothing.",
  }),
  authorId: Type.String({ description: "Channel id." }),
  authorPhoto: Type.String(),
  badges: Type.Array(
    Type.Object({
      kind: Type.Enum([...BADGES]),
      label: Type.String(),
      url: Text,
    }),
  ),
  rank: Type.Integer({ minimum: 1, maximum: 3, description: "The author's place on the leaderboard." }),
  publishedAt: Type.String({ description: "ISO 8601 in UTC with microseconds." }),
  offsetMs: Type.Number({ description: "Replay: milliseconds since the stream began." }),
  header: Type.String({ description: "A milestone's." }),
  months: Type.Integer({ description: "A milestone's number of months." }),
  amount: Type.Object(
    { value: orNull(Type.Number()), currency: orNull(Type.String()) },
    { description: "Null where the text does not say; `currency` is an ISO 4217 code." },
  ),
  tier: Type.Integer({ minimum: 1, maximum: 7 }),
  likes: Type.Number({ description: "Paid messages: the count at the time of reading." }),
  replies: Type.Number({ description: "Paid messages: the count at the time of reading." }),
  replyTo: Type.Object(
    { author: Type.String(), messageId: Text },
    { description: "The paid message to which it replies; its id if the room held it then." },
  ),
  colors: Type.Object({
    header: Color,
    headerText: Color,
    body: Color,
    bodyText: Color,
    author: Color,
    timestamp: Color,
  }),
  sticker: Type.Object({ label: Type.String(), url: Text }),
  gift: Type.Object({ count: Type.Number() }),
  giver: Type.String({ description: "The display name of the giver of a membership that was received." }),
  jewels: Type.Object(
    { gift: Type.String(), count: OptionalNumber, combo: OptionalNumber },
    { description: "The gift's name, its price in jewels, how many in a row." },
  ),
  level: Type.String({ description: "Name of the membership level." }),
  target: Type.Object(
    { messageId: Text, authorId: Text },
    { description: "The deleted, replaced or pinned message, or the author of the deleted messages." },
  ),
  poll: Type.Object({
    question: Type.String(),
    choices: Type.Array(Type.Object({ text: Type.String(), ratio: OptionalNumber, percent: OptionalNumber })),
    votes: OptionalNumber,
    state: Type.Enum([...POLL_STATES]),
  }),
  banner: Type.Object({ kind: Type.String(), header: Text }),
  raid: Type.Object({ direction: Type.Enum([...RAID_DIRECTIONS]), videoId: Text, url: Text }),
  gap: Type.Object(
    {
      since: Type.String({ description: "The last good answer before it, ISO 8601 in UTC." }),
      until: Type.String({ description: "The first good answer after it, ISO 8601 in UTC." }),
      reason: Type.Enum([...GAP_REASONS]),
    },
    { description: "Between this message and the one before it, others may be missing." },
  ),
  upstreamKind: Type.String({ description: "The upstream's name: the renderer's or the action's." }),
};
type Detail = keyof typeof DETAILS;

/** These details, of which each may be absent. */
const optional = <Name extends Detail>(...names: Name[]) =>
  Object.fromEntries(names.map((name) => [name, Type.Optional<TSchema>(DETAILS[name])])) as {
    [Each in Name]: TOptional<(typeof DETAILS)[Each]>;
  };
const EVENT = optional("storedAt", "publishedAt", "offsetMs", "upstreamKind");
const ITEM = { ...EVENT, ...optional("authorId", "authorPhoto", "badges", "rank") };
const PAID = { ...ITEM, ...optional("amount", "tier", "likes", "replies", "colors") };
const BANNER = { ...EVENT, ...optional("banner") };

/** Whatever details a message may have. */
export const Details = Type.Object(optional(...(Object.keys(DETAILS) as Detail[])));

const ofMessage = Type.Object({ messageId: Type.String() });
const ofAuthor = Type.Object({ authorId: Type.String() });

/** The details of each type, as `DetailsByType` of the protocol has them. */
export const DETAILS_BY_TYPE = {
  chat: Type.Object({ ...ITEM, ...optional("replyTo") }),
  superchat: Type.Object(PAID),
  supersticker: Type.Object({ ...PAID, sticker: DETAILS.sticker }),
  jewels: Type.Object({ ...ITEM, jewels: DETAILS.jewels, ...optional("sticker", "target") }),
  donation: Type.Object({ ...ITEM, ...optional("amount") }),
  membership: Type.Object({ ...ITEM, ...optional("level") }),
  milestone: Type.Object({ ...ITEM, ...optional("header", "months", "level") }),
  gift: Type.Object({ ...ITEM, ...optional("gift") }),
  gift_received: Type.Object({ ...ITEM, ...optional("giver") }),
  poll: Type.Object({ ...BANNER, poll: DETAILS.poll }),
  poll_result: Type.Object(ITEM),
  banner: Details,
  banner_removed: Type.Object(EVENT),
  deleted: Type.Object({ ...EVENT, target: ofMessage }),
  author_deleted: Type.Object({ ...EVENT, target: ofAuthor }),
  replaced: Type.Object({ ...Details.properties, target: ofMessage }),
  raid: Type.Object({ ...BANNER, ...optional("raid") }),
  summary: Type.Object(BANNER),
  notice: Type.Object(ITEM),
  mode: Type.Object(ITEM),
  product: Type.Object({ ...ITEM, ...optional("banner") }),
  gap: Type.Object({ ...EVENT, gap: DETAILS.gap }),
};

export const MessageFields = Type.Object({
  id: Type.String({ description: "Opaque message id, unique in its room; not the cursor." }),
  timestamp: Type.String({ description: "Display time." }),
  author: Type.String(),
  message: Type.String({ description: "The parts' texts joined." }),
  amount: Type.String({ description: "As the upstream shows it; empty where nothing was paid." }),
  color: Type.String({ pattern: "^(#[0-9a-f]{6})?$", description: "`#rrggbb`, or empty." }),
  parts: Type.Array(Part),
});

const ref = (name: string) => Type.Ref(`#/components/schemas/${name}`);
/** Such as `GiftReceivedMessage` for `gift_received`. */
const nameOf = (type: MessageType) =>
  `${type.replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())}Message`;

const byType = MESSAGE_TYPES.map((type) => {
  const own = Type.Object({
    type: Type.Literal(type),
    details: Type.Optional<TSchema>({ ...DETAILS_BY_TYPE[type], description: "With `details=true`." }),
  });
  return [nameOf(type), { allOf: [ref("MessageFields"), own] }] as const;
});

/** A message with these fields as well, and no others. */
export const messageWith = (...more: TSchema[]) => ({
  allOf: [...more, ref("AnyMessage")],
  unevaluatedProperties: false,
});

/**
 * Each type of message under its name, and their union, which `type` discriminates. Other schemas of
 * messages add to it. It has no `discriminator`: generators would take what adds to it for further types.
 */
export const MESSAGE_SCHEMAS = {
  MessageFields,
  ...Object.fromEntries(byType),
  AnyMessage: {
    description: "A message of any type. Later versions may add types.",
    oneOf: MESSAGE_TYPES.map((type) => ref(nameOf(type))),
  },
};
