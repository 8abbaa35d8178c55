/**
 * The writing side of the Durable Streams protocol, for its conformance suite: a stream is a simulated chat,
 * an append is something that the chat says, and a close is its end. Reads go to the service's log as they
 * came, and its answers come back as they are; only the items become the appended bytes again. It can write
 * no more than the tests of reading need.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { portOf } from "../chaos/line.ts";
import { textAction } from "./chat-actions.ts";
import { readLog } from "./log.ts";
import type { TestRelay } from "./relay.ts";
import { Stream } from "./stream.ts";

/** A message holds 10,000 characters, and says its bytes in base64. */
const BYTES_PER_MESSAGE = 7500;
/** What one answer of the upstream can hold. */
const MAX_BODY_BYTES = 1024 * 1024;
/** Streams whose rooms stay open. A test needs fewer, and rooms of earlier tests would only cost time. */
const MAX_OPEN = 20;
/** A video without a chat, for streams that nobody has created. */
const NO_CHAT = "no-chat-her";

interface Staged {
  videoId: string;
  contentType: string;
  chat: ReturnType<TestRelay["upstream"]["chat"]>;
  /** A viewer, which keeps the room open and shows the durable messages. */
  viewer: Stream;
  /** Messages that the chat has said. */
  said: number;
}

export class StreamsStage implements AsyncDisposable {
  readonly #relay: TestRelay;
  readonly #streams = new Map<string, Staged>();
  // A connection that is closed just as its client asks again would fail the suite: it stays open.
  readonly #server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    this.#answer(request, response).catch((error) => response.writeHead(400).end(`${error}`));
  });
  #created = 0;

  static async start(relay: TestRelay): Promise<StreamsStage> {
    const stage = new StreamsStage(relay);
    stage.#server.listen(0, "127.0.0.1");
    await once(stage.#server, "listening");
    return stage;
  }

  private constructor(relay: TestRelay) {
    this.#relay = relay;
  }

  get url(): string {
    return `http://127.0.0.1:${portOf(this.#server)}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await Promise.all([...this.#streams.values()].map(({ viewer }) => viewer.close()));
  }

  async #answer(asked: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = "", query] = (asked.url ?? "").split("?", 2);
    if (asked.method !== "PUT" && asked.method !== "POST")
      return this.#read(this.#streams.get(path), query, asked, response);
    const body = await buffer(asked);
    const isClosing = asked.headers["stream-closed"] === "true";
    const status =
      body.length > MAX_BODY_BYTES
        ? 413
        : asked.method === "PUT"
          ? await this.#create(path, `${asked.headers["content-type"]}`, body, isClosing)
          : await this.#append(path, body, isClosing);
    const stream = this.#streams.get(path);
    if (stream) {
      const { next } = await readLog(this.#relay.url, stream.videoId, {}, { method: "HEAD" });
      response.setHeader("content-type", stream.contentType).setHeader("stream-next-offset", next);
    }
    response.writeHead(status).end();
  }

  async #create(path: string, contentType: string, body: Buffer, isClosing: boolean): Promise<number> {
    const videoId = `stream${String(this.#created++).padStart(5, "0")}`;
    const chat = this.#relay.upstream.chat(videoId, { timeoutMs: 5 });
    const viewer = await Stream.open(this.#relay.url, { videoId });
    const stream: Staged = { videoId, contentType, chat, viewer, said: 0 };
    this.#streams.set(path, stream);
    await [...this.#streams.values()].at(-MAX_OPEN - 1)?.viewer.close();
    await say(stream, body, isClosing);
    return 201;
  }

  async #append(path: string, body: Buffer, isClosing: boolean): Promise<number> {
    const stream = this.#streams.get(path);
    if (!stream) return 404;
    await say(stream, body, isClosing);
    return 204;
  }

  /** Asks the service, and passes its answer on. */
  #read(
    stream: Staged | undefined,
    query: string | undefined,
    asked: IncomingMessage,
    response: ServerResponse,
  ) {
    const { videoId = NO_CHAT, contentType = "application/json" } = stream ?? {};
    const url = new URL(this.#relay.url);
    const path = `/v1/log/${videoId}${query === undefined ? "" : `?${query}`}`;
    const headers = { ...asked.headers, host: url.host, "accept-encoding": "identity" };
    const upstream = request({ host: url.hostname, port: url.port, path, method: asked.method, headers });
    response.once("close", () => upstream.destroy());
    upstream.on("error", () => response.destroy());
    upstream.on("response", (answer) => {
      const { "content-length": _length, "transfer-encoding": _coding, ...passed } = answer.headers;
      const { statusCode = 0 } = answer;
      const isEvents = passed["content-type"] === "text/event-stream";
      const isItems = statusCode === 200 && !isEvents;
      if (isItems) passed["content-type"] = contentType;
      if (isEvents && isBinary(contentType)) passed["stream-sse-data-encoding"] = "base64";
      response.writeHead(statusCode, passed);
      if (isEvents) void passEvents(answer, response, contentType);
      else
        void buffer(answer).then(
          (body) => response.end(isItems && body.length > 0 ? unsaid(`${body}`, contentType) : body),
          () => response.destroy(),
        );
    });
    upstream.end();
  }
}

const isJson = (contentType: string) => /^application\/json\b/i.test(contentType);
const isBinary = (contentType: string) => !isJson(contentType) && !/^text\//i.test(contentType);

/** Lets the chat say the body, and end; resolves once the service has stored it. */
async function say(stream: Staged, body: Buffer, isClosing: boolean): Promise<void> {
  const texts = messagesOf(body, stream.contentType).map((bytes) => bytes.toString("base64"));
  stream.chat.say(texts.map((text, at) => textAction(`said-${stream.said + at}`, { text })));
  stream.said += texts.length;
  const { said } = stream;
  if (isClosing) stream.chat.end("continuations-absent", { lastWords: true });
  await stream.viewer.untilMessages(said);
  if (isClosing) await stream.viewer.ended();
}

/** A JSON value is one message, and so is each element of an array. Other bodies are cut anywhere. */
function messagesOf(body: Buffer, contentType: string): Buffer[] {
  if (body.length > 0 && isJson(contentType))
    return [JSON.parse(`${body}`)].flat().map((value) => Buffer.from(JSON.stringify(value)));
  return Array.from({ length: Math.ceil(body.length / BYTES_PER_MESSAGE) }, (_, n) =>
    body.subarray(n * BYTES_PER_MESSAGE, (n + 1) * BYTES_PER_MESSAGE),
  );
}

/** The appended bytes, from the items that they became. */
function unsaid(items: string, contentType: string): Buffer {
  const said = (JSON.parse(items) as { message: string }[]).map(({ message }) =>
    Buffer.from(message, "base64"),
  );
  return isJson(contentType) ? Buffer.from(`[${said.join()}]`) : Buffer.concat(said);
}

async function passEvents(answer: IncomingMessage, response: ServerResponse, contentType: string) {
  let rest = "";
  try {
    for await (const chunk of answer.setEncoding("utf8")) {
      const blocks = `${rest}${chunk}`.split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) response.write(`${passedEvent(block, contentType)}\n\n`);
    }
    response.end();
  } catch {
    response.destroy();
  }
}

/** An event with the appended bytes, as the protocol writes it for this content type. */
function passedEvent(block: string, contentType: string): string {
  const [, items] = /^event: data\ndata:(.*)$/.exec(block) ?? [];
  if (items === undefined) return block;
  const said = unsaid(items, contentType);
  const text = isBinary(contentType) ? said.toString("base64") : `${said}`;
  return `event: data\n${text
    .split(/\r\n|[\r\n]/)
    .map((line) => `data:${line}`)
    .join("\n")}`;
}
