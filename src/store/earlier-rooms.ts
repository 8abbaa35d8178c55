/**
 * Rooms of schemas in which a room was named by its video alone, and the replay of a stream was appended to
 * the live chat that was stored before: their chats, as conditions in SQL. The text of a checkpoint and of
 * details is that of the releases with these schemas. Such a room is the chat that its first messages are of.
 */
import { ENDED } from "../protocol/chat.ts";

const READ_AS_REPLAY = String.raw`{"position":"{\"version\":1,\"chatType\":\"liveChatReplayRenderer\"`;

/** Whether a checkpoint is that of a replay. */
export function isOfReplay(checkpoint: string): string {
  return `(substr(coalesce(${checkpoint}, ''), 1, ${READ_AS_REPLAY.length}) = '${READ_AS_REPLAY}')`;
}

/** Whether a room was read as a replay at last. */
export const READ_REPLAY = isOfReplay("checkpoint");

/** Whether a room was imported from a capture. `find` is as in `beganAsReplay`. */
export function isImported(find: "instr" | "strpos"): string {
  return `${find}(checkpoint, ',"recording":{') > 0`;
}

/**
 * Whether a room that was read as a replay is one from its beginning. `find`: the database's function that
 * finds a text in another one. `firstDetails`: the details of the room's first message.
 */
export function beganAsReplay(find: "instr" | "strpos", firstDetails: string): string {
  return `(${isImported(find)} or coalesce(${find}(${firstDetails}, '"offsetMs":') > 0, true))`;
}

/** How a live chat ended into which a replay was read. */
export const ENDED_TEXT = JSON.stringify(ENDED);
