/**
 * A client on the `eventsource` package over the built-in fetch. It reconnects by itself three seconds after
 * a broken connection, as the stream asks; a refusal ends it. Like every EventSource it sees neither comments
 * nor frames with other names.
 */
import { EventSource, type EventSourceFetchInit, type FetchLikeResponse } from "eventsource";
import { dig } from "../../../simulator/plain-json.ts";
import type { CheckedStream } from "./checked-stream.ts";
import type { Connection, ConnectionContext } from "./connection.ts";
import { type Next, SlowReader } from "./slow-reader.ts";
import { isStream } from "./sse.ts";

const RETRY_LINE = "retry: 3000";

export class EventSourceConnection implements Connection {
  readonly #context: ConnectionContext;
  readonly #source: EventSource;
  readonly #cut = new AbortController();
  #stream: CheckedStream | undefined;
  #reader: SlowReader | undefined;
  #lastMessage = { lastEventId: "", data: "" };
  #isOver = false;

  constructor(context: ConnectionContext) {
    this.#context = context;
    this.#source = new EventSource(context.url, { fetch: (_url, init) => this.#fetch(init) });
    for (const event of ["init", "message", "end", "channel"])
      this.#source.addEventListener(event, (frame) => this.#hear(frame));
    this.#source.addEventListener("error", (event: Event) => {
      if (event instanceof MessageEvent) this.#hear(event);
      else if (this.#source.readyState === this.#source.CLOSED) this.#finish();
      else this.#stream?.closed(); // it reconnects by itself
    });
  }

  stall(ms: number): void {
    this.#reader?.stall(ms);
  }

  trickle(ms: number): void {
    this.#reader?.trickle(ms);
  }

  cut(): void {
    this.#source.close();
    this.#cut.abort();
    this.#finish();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#context.over();
  }

  /** A new EventSource has no id yet, so the client's id is added. */
  async #fetch(init: EventSourceFetchInit): Promise<FetchLikeResponse> {
    const known = this.#context.lastEventId();
    const sent = { ...(known === undefined ? {} : { "Last-Event-ID": known }), ...init.headers };
    const lastEventId = sent["Last-Event-ID"];
    const stream = this.#context.begin(lastEventId);
    this.#stream = stream;
    try {
      const response = await fetch(this.#context.url, { headers: sent, signal: init.signal });
      const { status, url, redirected, headers } = response;
      const fields = new Map(headers);
      stream.head(status, fields);
      const body = isStream(status, fields) ? this.#slowed(response, stream) : null;
      if (!body) stream.body(await response.text());
      return { status, url, redirected, headers, body };
    } catch (error) {
      throw reportFailure(error, stream);
    }
  }

  #slowed(response: Response, stream: CheckedStream): FetchLikeResponse["body"] {
    const reader = response.body?.getReader();
    let opening = "";
    const take = async (): Promise<Next> => {
      try {
        const next = await (reader?.read() ?? { done: true as const });
        if (next.done) return { done: true };
        if (!opening.includes("\n")) {
          opening += Buffer.from(next.value).toString("latin1");
          checkOpening(opening, stream);
        }
        return next;
      } catch (error) {
        throw reportFailure(error, stream);
      }
    };
    const slow = new SlowReader(take, this.#cut.signal);
    this.#reader = slow;
    return { getReader: () => slow };
  }

  /** An event without an id has the last one; only an identical message may repeat an id. */
  #hear({ type, data, lastEventId }: MessageEvent): void {
    const isForeign = lastEventId === this.#lastMessage.lastEventId && data !== this.#lastMessage.data;
    const id = isForeign ? undefined : lastEventId;
    if (type === "message") this.#lastMessage = { lastEventId, data };
    this.#stream?.frame({ event: type, id, data });
  }
}

/** An EventSource does not report how a stream begins. */
function checkOpening(text: string, stream: CheckedStream): void {
  const line = /^(.*?)\r?\n/.exec(text)?.[1];
  if (line === undefined) return;
  if (line === RETRY_LINE) stream.retry(3000);
  else stream.beforeRetry(line);
}

/** Returns the failure of a request, and reports it if the answer is malformed and not merely incomplete. */
function reportFailure(error: unknown, stream: CheckedStream): unknown {
  const words = String(dig(error, "cause", "message"));
  if (dig(error, "cause", "name") === "HTTPParserError" && !words.includes("EOF")) stream.malformed(words);
  return error;
}
