/**
 * A message from the SDK. Its details may be those of any type, because a newer service may send types of its
 * own.
 */
import type { Message } from "../../../client/index.ts";
import type { Details } from "../../protocol/kinds.ts";

export type ReceivedMessage = Omit<Message, "details"> & { details?: Details };
