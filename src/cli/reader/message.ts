/** A message as the SDK hands it out. Its details may be those of any type: a newer service sends types of its own. */
import type { Message } from "../../../client/index.ts";
import type { Details } from "../../protocol/kinds.ts";

export type ReceivedMessage = Omit<Message, "details"> & { details?: Details };
