/** The events of a connection that carries several chats, as text. The data of each begins with its video. */

import { wireJson } from "../../base/wire-json.ts";
import type { Init, StreamEnd } from "../../protocol/chat.ts";
import type { ErrorBody } from "../../protocol/errors.ts";
import type { Format } from "../form.ts";
import { RETRY_MS, terminal } from "../framing.ts";

/** A message's place: its video and cursor, and the id from which the connection resumes after it. */
interface FramePlace {
  videoId: string;
  cursor: number;
  id: string;
}

export interface Events {
  /** The beginning of the connection. */
  readonly head: string;
  /** An event without a place. */
  event(name: string, data: object): string;
  /** The beginning of a message's frame, before the rest that all connections share. */
  message(place: FramePlace): string;
  /** Moves the id from which the client resumes, without a message. */
  cursor(place: FramePlace): string;
  readonly keepalive: string;
}

export const EVENTS: Record<Format, Events> = {
  sse: {
    head: `retry: ${RETRY_MS}\n\n`,
    event: (name, data) => `event: ${name}\ndata: ${wireJson(data)}\n\n`,
    message: ({ videoId, id }) => `id: ${id}\nevent: message\ndata: {"videoId":"${videoId}",`,
    cursor: ({ id }) => `id: ${id}\n\n`,
    keepalive: ": keepalive\n\n",
  },
  ndjson: {
    head: "",
    event: (name, data) => `${wireJson({ event: name, ...data })}\n`,
    message: ({ videoId, cursor, id }) =>
      `{"event":"message","videoId":"${videoId}","cursor":${cursor},"id":"${id}",`,
    cursor: (place) => `${wireJson({ event: "cursor", ...place })}\n`,
    keepalive: '{"event":"keepalive"}\n',
  },
};

export function initEvent(events: Events, { videoId, ...rest }: Init): string {
  return events.event("init", { videoId, ...rest });
}

export function errorEvent(events: Events, videoId: string, error: ErrorBody): string {
  return events.event("error", { videoId, ...error });
}

/** The last event of a chat. */
export function endEvent(events: Events, videoId: string, end: StreamEnd): string {
  const [name, data] = terminal(end);
  return events.event(name, { videoId, ...data });
}
