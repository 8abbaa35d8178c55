/**
 * A message as its readers have it: with its cursor. Its details may be those of any type, because a newer
 * service may send types of its own.
 */
import type { Details } from "../protocol/kinds.ts";
import type { Message } from "../protocol/message.ts";

export type ReceivedMessage = Omit<Message, "details"> & { cursor: number; details?: Details };
