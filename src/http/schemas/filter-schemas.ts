/** The parameters that select messages, of history and streams alike. */
import type { Static } from "typebox";
import { BADGES, GROUPS } from "../../protocol/kinds.ts";
import { Type } from "./json-schema.ts";

const text = (description: string, example: string) =>
  Type.Optional(Type.String({ maxLength: 2000, description, examples: [example] }));

export const FilterQuery = Type.Object({
  types: text(
    `Comma-separated list of types and groups (${Object.keys(GROUPS).join(", ")}); messages of type \`gap\` always come.`,
    "superchat,members",
  ),
  minTier: text(
    "Leaves out paid messages below this tier of Super Chats, 1 to 7, and those without one. Messages that were not paid, deletions and gaps come as before.",
    "3",
  ),
  minAmount: text(
    "Leaves out paid messages below this amount of this currency, and those of another currency or without a readable amount.",
    "5EUR",
  ),
  badges: text(
    `Only messages of authors with one of these badges (${BADGES.join(", ")}), deletions and gaps.`,
    "owner,moderator",
  ),
});
export type FilterQuery = Static<typeof FilterQuery>;
