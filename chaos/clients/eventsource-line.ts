/**
 * A viewer's line on the `eventsource` package over the built-in fetch: it comes back by itself, three seconds after
 * a connection broke, as the stream tells it to; a refusal ends it. It hears what an EventSource hears, which is
 * neither comments nor frames of other names.
 */
import { EventSource, type EventSourceFetchInit, type FetchLikeResponse } from "eventsource";
import { at } from "../../src/simulator/json.ts";
import { isStream } from "../sse-response.ts";
import type { Reading } from "./reading.ts";
import type { Call, Line } from "./returning-client.ts";
import { type Next, SlowReader } from "./slow-reader.ts";

const RETRY_LINE = "retry: 3000";

export class EventSourceLine implements Line {
  readonly #call: Call;
  readonly #source: EventSource;
  readonly #cut = new AbortController();
  #reading: Reading | undefined;
  #reader: SlowReader | undefined;
  #lastMessage = { lastEventId: "", data: "" };
  #isOver = false;

  constructor(call: Call) {
    this.#call = call;
    this.#source = new EventSource(call.url, { fetch: (_url, init) => this.#fetch(init) });
    for (const event of ["init", "message", "end"])
      this.#source.addEventListener(event, (frame) => this.#hear(frame));
    this.#source.addEventListener("error", (event: Event) => {
      if (event instanceof MessageEvent) this.#hear(event);
      else if (this.#source.readyState === this.#source.CLOSED) this.#finish();
      else this.#reading?.closed(); // it comes back by itself
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
    this.#call.over();
  }

  /** A new EventSource knows no id yet: it is given the one that its client has. */
  async #fetch(init: EventSourceFetchInit): Promise<FetchLikeResponse> {
    const known = this.#call.lastEventId();
    const sent = { ...(known === undefined ? {} : { "Last-Event-ID": String(known) }), ...init.headers };
    const lastEventId = sent["Last-Event-ID"];
    const reading = this.#call.begin(lastEventId === undefined ? undefined : Number(lastEventId));
    this.#reading = reading;
    try {
      const response = await fetch(this.#call.url, { headers: sent, signal: init.signal });
      const { status, url, redirected, headers } = response;
      const head = { status, headers: new Map(headers) };
      reading.head(head.status, head.headers);
      const body = isStream(head) ? this.#slowed(response, reading) : null;
      if (!body) reading.body(await response.text());
      return { status, url, redirected, headers, body };
    } catch (error) {
      throw told(error, reading);
    }
  }

  #slowed(response: Response, reading: Reading): FetchLikeResponse["body"] {
    const reader = response.body?.getReader();
    let opening = "";
    const take = async (): Promise<Next> => {
      try {
        const next = await (reader?.read() ?? { done: true as const });
        if (next.done) return { done: true };
        if (!opening.includes("\n")) {
          opening += Buffer.from(next.value).toString("latin1");
          checkOpening(opening, reading);
        }
        return next;
      } catch (error) {
        throw told(error, reading);
      }
    };
    const slow = new SlowReader(take, this.#cut.signal);
    this.#reader = slow;
    return { getReader: () => slow };
  }

  /** What has no id of its own comes with the last one, which only a message that is the same may bring again. */
  #hear({ type, data, lastEventId }: MessageEvent): void {
    const isForeign = lastEventId === this.#lastMessage.lastEventId && data !== this.#lastMessage.data;
    const id = isForeign ? undefined : lastEventId;
    if (type === "message") this.#lastMessage = { lastEventId, data };
    this.#reading?.frame({ event: type, id, data });
  }
}

/** An EventSource does not tell how a stream begins. */
function checkOpening(text: string, reading: Reading): void {
  const line = /^(.*?)\r?\n/.exec(text)?.[1];
  if (line === undefined) return;
  if (line === RETRY_LINE) reading.retry(3000);
  else reading.beforeRetry(line);
}

/** The failure of a request; the reading is told where the form of the answer was wrong, and not only its end missing. */
function told(error: unknown, reading: Reading): unknown {
  const words = String(at(error, "cause", "message"));
  if (at(error, "cause", "name") === "HTTPParserError" && !words.includes("EOF")) reading.malformed(words);
  return error;
}
