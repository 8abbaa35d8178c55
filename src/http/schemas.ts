/** The requests' schemas: what validates them, types them and describes them. */
import { type Static, Type } from "typebox";

/** Longest text of a video id or URL that is looked at. */
const MAX_VIDEO_ID_INPUT = 2048;

export const StreamQuery = Type.Object({
  videoId: Type.String({
    maxLength: MAX_VIDEO_ID_INPUT,
    description: "Full video URL or bare 11-character id.",
  }),
  // Text, as a query's values are: which texts are numbers is the protocol's rule, not a validator's coercion.
  backfill: Type.Optional(
    Type.String({
      maxLength: 400,
      description: "How many recent messages to prime the connection with: 0 to 500, by default 50.",
    }),
  ),
  details: Type.Optional(
    Type.Union([Type.Literal("true"), Type.Literal("false")], {
      description: "Whether messages carry `details`.",
    }),
  ),
});
export type StreamQuery = Static<typeof StreamQuery>;
