/**
 * What the viewer of one chat hands to a connection that carries several chats. The frames of its messages
 * are shared by all such connections; each connection adds the video and its own id when it writes them:
 * only then does it know what the client has of the other chats.
 */
import type { Init, StreamEnd } from "../protocol/chat.ts";
import { type Form, ownBytes, type Packet } from "../serving/form.ts";
import { EVENTS, type Format, factData, initOf } from "../serving/framing.ts";
import type { Fact } from "../store/port.ts";
import type { StoredMessage } from "../store/stored-message.ts";

export type ChatEvent =
  | { kind: "init"; init: Init }
  /** `rest`: a message's frame without its beginning. */
  | { kind: "messages"; frames: readonly { cursor: number; rest: Buffer }[] }
  | { kind: "fact"; fact: Fact; frame: Buffer }
  /** The cursor has moved past messages that are not sent. */
  | { kind: "cursor"; cursor: number }
  | { kind: "idle" }
  | { kind: "end"; end: StreamEnd; unreported: number | undefined };

/** A packet without bytes of its own. */
interface EventPacket extends Packet {
  readonly event: ChatEvent;
}

const NOTHING = Buffer.alloc(0);
const IDLE = packetOf({ kind: "idle" });

/** The event that a packet stands for, if it was made by one of `CHAT_EVENT_FORMS`. */
export function eventOf(packet: Packet): ChatEvent {
  return (packet as EventPacket).event;
}

function packetOf(event: ChatEvent, size = 0): EventPacket {
  return { bytes: NOTHING, size, event };
}

function formOf(format: Format, details: boolean): Form {
  const name = `part ${format} ${details ? "detailed" : "plain"}`;
  const rest = (message: StoredMessage) => EVENTS[format].rest(message, details, true);
  return {
    key: name,
    name,
    writer: rest,
    head: (init) => packetOf({ kind: "init", init: initOf(init, details) }),
    frame: (message) => ownBytes(rest(message)),
    pack: (rests, _, { cursors }) => {
      const frames = cursors.flatMap((cursor, i) => (rests[i] ? { cursor, rest: rests[i] } : []));
      return packetOf({ kind: "messages", frames }, sizeOf(rests));
    },
    fact: (videoId, fact) => {
      const data = { videoId, ...factData(fact, details) };
      const frame = Buffer.from(EVENTS[format].event(fact.name, data));
      return packetOf({ kind: "fact", fact, frame }, frame.length);
    },
    keepalive: IDLE,
    keepaliveAt: (cursor) => packetOf({ kind: "cursor", cursor }),
    end: (end, _cursor, unreported) => packetOf({ kind: "end", end, unreported }),
  };
}

function sizeOf(frames: readonly Buffer[]): number {
  return frames.reduce((sum, { length }) => sum + length, 0);
}

/** By format, and by whether messages carry `details`. */
export const CHAT_EVENT_FORMS = {
  sse: { plain: formOf("sse", false), detailed: formOf("sse", true) },
  ndjson: { plain: formOf("ndjson", false), detailed: formOf("ndjson", true) },
};
