/**
 * What the viewer of one chat hands to a connection that carries several chats. The frames of its messages
 * are shared by all such connections; each connection adds the video and its own id when it writes them:
 * only then does it know what the client has of the other chats.
 */

import { onOneLine } from "../../base/wire-json.ts";
import type { Init, StreamEnd } from "../../protocol/chat.ts";
import { messageJson, type StoredMessage } from "../../store/stored-message.ts";
import { type Form, type Format, ownBytes, type Packet } from "../form.ts";

export type ChatPart =
  | { kind: "init"; init: Init }
  /**
   * Each buffer holds the cursor, a line feed, and the part of the message's frame that follows the field
   * `videoId`.
   */
  | { kind: "messages"; frames: readonly Buffer[] }
  /** The cursor has moved past messages that are not sent. */
  | { kind: "cursor"; cursor: number }
  | { kind: "idle" }
  | { kind: "end"; end: StreamEnd; unreported: number | undefined };

/** A packet without bytes of its own. */
interface PartPacket extends Packet {
  readonly part: ChatPart;
}

const NOTHING = Buffer.alloc(0);
const IDLE = packetOf({ kind: "idle" });

/** The byte after the cursor in a frame: a line feed. */
export const CURSOR_END = 0x0a;

/** The part that a packet stands for, if it was made by one of `PART_FORMS`. */
export function partOf(packet: Packet): ChatPart {
  return (packet as PartPacket).part;
}

function packetOf(part: ChatPart, size = 0): PartPacket {
  return { bytes: NOTHING, size, part };
}

/**
 * By format: the part of a message's frame that follows `videoId` and the ids, and is the same on all
 * connections.
 */
const RESTS: Record<Format, (message: StoredMessage, details: boolean) => string> = {
  sse: (message, details) => `${fieldsOf(messageJson(message, details))}\n\n`,
  // The line's `id` is the id to resume from, so the message's own id becomes `messageId`.
  ndjson: (message, details) => {
    const { id: messageId, ...others } = JSON.parse(messageJson(message, details));
    return `${fieldsOf(JSON.stringify({ messageId, ...others }))}\n`;
  },
};

/** The text of a JSON object without its first brace. */
function fieldsOf(json: string): string {
  return onOneLine(json).slice(1);
}

function formOf(format: Format, details: boolean): Form {
  const frameText = (message: StoredMessage) => `${message.cursor}\n${RESTS[format](message, details)}`;
  const name = `part ${format} ${details ? "detailed" : "plain"}`;
  return {
    ...{ key: name, name },
    framing: { frameText },
    head: (init) => packetOf({ kind: "init", init }),
    frame: (message) => ownBytes(frameText(message)),
    pack: (frames) => packetOf({ kind: "messages", frames }, sizeOf(frames)),
    keepalive: IDLE,
    keepaliveAt: (cursor) => packetOf({ kind: "cursor", cursor }),
    end: (end, _cursor, unreported) => packetOf({ kind: "end", end, unreported }),
  };
}

function sizeOf(frames: readonly Buffer[]): number {
  return frames.reduce((sum, { length }) => sum + length, 0);
}

/** By format, and by whether messages carry `details`. */
export const PART_FORMS = {
  sse: { plain: formOf("sse", false), detailed: formOf("sse", true) },
  ndjson: { plain: formOf("ndjson", false), detailed: formOf("ndjson", true) },
};
