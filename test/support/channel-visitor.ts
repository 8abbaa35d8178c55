/**
 * A viewer of a channel in virtual time: what `/v1/stream?channel=` sends, or `/v1/merged` for a query that
 * names several chats, without its socket.
 */
import { createParser } from "eventsource-parser";
import type { StreamService } from "../../src/http/streams/stream-parts.ts";
import type { ChannelState } from "../../src/protocol/channel.ts";
import { FORMS } from "../../src/serving/form.ts";
import { requestStream } from "../harness/origin-api.ts";
import { SimulatedSink } from "../harness/sink.ts";
import { HANDLE } from "./watched-channel.ts";

/** The interval of the relay's keepalives. */
export const KEEPALIVE_MS = 15_000;

interface ChannelEvent {
  event: string;
  id: string | undefined;
  data: ChannelState & { id: string; cursor: number; code: string; message: string };
}

export class ChannelVisitor {
  readonly events: ChannelEvent[] = [];
  readonly sink: SimulatedSink;
  /** When its answer began, on the virtual clock, in milliseconds; undefined until then. */
  beganAt: number | undefined;
  /** Why it was refused. */
  refusal: unknown;
  readonly #gone = new AbortController();

  constructor(
    service: StreamService,
    lastEventId?: string,
    query:
      | { channel?: string; backfill?: number; types?: string; standing?: string; all?: string }
      | { channels: string; videoIds?: string; cursors?: string; standing?: string } = {},
  ) {
    const parser = createParser({
      onEvent: ({ event = "", id, data }) => this.events.push({ event, id, data: JSON.parse(data) }),
    });
    this.sink = new SimulatedSink(FORMS.sse.plain.bare, (bytes) => {
      this.text += bytes;
      parser.feed(bytes.toString());
    });
    const open = () => {
      this.beganAt = service.clock.monotonic();
      return this.sink;
    };
    const [path, asked] =
      "channels" in query ? ["/v1/merged", query] : ["/v1/stream", { channel: HANDLE, ...query }];
    const texts = Object.entries(asked).map(([name, value]) => [name, `${value}`]);
    const headers = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    requestStream(
      service,
      { path: `${path}?${new URLSearchParams(texts)}`, headers },
      "viewer",
      open,
      this.#gone.signal,
    ).catch((error: unknown) => {
      this.refusal = error;
    });
  }

  /** Everything it was sent, as text. */
  text = "";

  /** The events since the last call, in short; several messages of a video in a row are one. */
  news(): string[] {
    const words: string[] = [];
    for (const { event, data, id } of this.events.splice(0)) {
      const { state = "", videoId = "", reason = "", code = "" } = data;
      const word = [event, state, videoId, reason, code].filter(Boolean).join(" ");
      if (event !== "message" || words.at(-1) !== word) words.push(word);
      if (id !== undefined) this.lastId = id;
      if (event === "message") this.ids.push(data.id);
    }
    return words;
  }

  /** The ids of the messages that `news` has seen, and the last id of the connection. */
  readonly ids: string[] = [];
  lastId: string | undefined;

  leave(): void {
    this.#gone.abort(new Error("the viewer left"));
    this.sink.leave();
  }
}
