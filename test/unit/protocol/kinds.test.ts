/**
 * The table of kinds: its groups, and that the API's schemas are of the very types. The types are compared by
 * the compiler; documentation and generator are compared with the table in `messages-doc` and
 * `generated-chat`.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { Static } from "typebox";
import type * as messages from "../../../src/http/schemas/message-schemas.ts";
import type * as schemas from "../../../src/http/schemas/schemas.ts";
import type { ChatType, Init, StreamEnd } from "../../../src/protocol/chat.ts";
import type { ErrorBody } from "../../../src/protocol/errors.ts";
import { type Details, type DetailsByType, GROUPS, type MessageType } from "../../../src/protocol/kinds.ts";
import type { EightFields, MessageOf, Part } from "../../../src/protocol/message.ts";

/** True if the types are the same, to the last optional field. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Described<Name extends keyof typeof schemas> = Static<(typeof schemas)[Name]>;
/** As one object, not as the parts of which it is made. */
type Whole<T> = { [Key in keyof T]: T[Key] };
type DescribedDetails<T extends MessageType> = Static<(typeof messages.DETAILS_BY_TYPE)[T]>;
/** The types whose schema has other details than the protocol. */
type Drifted = {
  [T in MessageType]: Same<Whole<DescribedDetails<T>>, Whole<DetailsByType[T]>> extends true ? never : T;
}[MessageType];
type Reason = Extract<StreamEnd, { reason: string }>["reason"];

/**
 * Does not compile if a schema and the protocol differ, or if a kind has details of another one.
 */
const SAME: [
  Same<Whole<Static<typeof messages.Details>>, Whole<Details>>,
  Same<Drifted, never>,
  Same<keyof typeof messages.DETAILS_BY_TYPE, MessageType>,
  Same<keyof Static<typeof messages.MessageFields>, keyof EightFields>,
  Same<Static<typeof messages.MessageFields>["parts"], Part[]>,
  Same<Described<"Init">, Init>,
  Same<Described<"Init">["chatType"], ChatType>,
  Same<Described<"End">, { reason: Reason }>,
  Same<keyof Described<"ErrorBody">, keyof ErrorBody>,
  Same<MessageOf<"poll">["details"]["poll"]["votes"], number | undefined>,
  Same<Extract<keyof MessageOf<"poll" | "chat">["details"], "poll">, never>,
] = [true, true, true, true, true, true, true, true, true, true, true];

it("the kinds have the groups by which a reader chooses", () => {
  assert.deepEqual(GROUPS, {
    chat: ["chat"],
    paid: ["superchat", "supersticker", "jewels", "donation"],
    members: ["membership", "milestone", "gift", "gift_received"],
    polls: ["poll", "poll_result"],
    pinned: ["banner", "banner_removed"],
    moderation: ["deleted", "author_deleted", "replaced"],
    notices: ["raid", "summary", "notice", "mode", "product"],
  });
});

it("the kinds are those of the schemas", () => assert.ok(SAME.every(Boolean)));
