/**
 * A client's connection through the project's own SDK, over the built-in fetch. It reconnects by itself until
 * it is cut or the chat is over. It reads everything at once, so it is never slow.
 */
import { type Chat, chat } from "../../../client/index.ts";
import { wireJson } from "../../../src/base/wire-json.ts";
import type { CheckedStream } from "./checked-stream.ts";
import type { Connection, ConnectionContext } from "./connection.ts";
import { isStream } from "./sse.ts";

const RETRY_MS = 3000;
const BACKOFF = { baseMs: 1000, maxMs: 2000 };

export class SdkConnection implements Connection {
  readonly #context: ConnectionContext;
  readonly #chat: Chat;
  #stream: CheckedStream | undefined;

  constructor(context: ConnectionContext) {
    this.#context = context;
    const { origin, searchParams } = context.url;
    const lastEventId = context.lastEventId();
    this.#chat = chat(origin, {
      videoId: searchParams.get("videoId") ?? "",
      backfill: Number(searchParams.get("backfill") ?? 50),
      details: searchParams.has("details"),
      cursor: lastEventId === undefined ? undefined : Number(lastEventId),
      backoff: BACKOFF,
      fetch: (url, init) => this.#fetch(String(url), init),
    });
    this.#chat.on("init", (init) => this.#hear("init", init));
    this.#chat.on("end", (end) => this.#hear("end", end));
    this.#chat.on("error", ({ code }) => this.#hear("error", { code }));
    this.#chat.on("message", ({ cursor, ...message }) => this.#hear("message", message, String(cursor)));
    this.#chat.on("state", (state) => {
      if (state === "reconnecting") this.#stream?.closed();
      if (state === "closed") context.over();
    });
  }

  stall(): void {}

  trickle(): void {}

  cut(): void {
    this.#chat.close();
  }

  /** Serialised as the service does it, so that the text can be compared with that of other clients. */
  #hear(event: string, value: object, id?: string): void {
    this.#stream?.frame({ event, id, data: wireJson(value) });
  }

  async #fetch(url: string, init: RequestInit | undefined): Promise<Response> {
    const lastEventId = new Headers(init?.headers).get("last-event-id");
    const stream = this.#context.begin(lastEventId ?? undefined);
    this.#stream = stream;
    try {
      const response = await fetch(url, init);
      const headers = new Map(response.headers);
      stream.head(response.status, headers);
      if (isStream(response.status, headers)) {
        stream.retry(RETRY_MS); // the SDK does not report the reconnection time
        return response;
      }
      stream.body(await response.clone().text());
      stream.closed();
      return response;
    } catch (error) {
      stream.closed();
      throw error;
    }
  }
}
