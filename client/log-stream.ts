/**
 * The stream of a video's chat made from its log (`/v1/log`), for networks that hold Server-Sent Events back:
 * the answers of pages and long polls become the frames that `/v1/stream` would send. Messages of all types
 * come; `types` only decides where the stream begins. Loaded only when it is needed, it imports nothing but
 * types, so that it can be a module of its own.
 */
import type { ChatType } from "../src/protocol/chat.ts";
import type { ChatError } from "./chat-error.ts";
import type { Service } from "./relay-service.ts";

interface Item {
  cursor: number;
  details?: object;
}

/** What `/v1/messages` has: the range of the room's cursors, and its last messages. */
interface Stored {
  videoId: string;
  chatType: ChatType;
  floor: number;
  head: number;
  messages: Item[];
}

/** Resolves to an answer with a status of 2xx; rejects with `ChatError` for any other. */
type Ask = (path: string) => Promise<Response>;

/** The default and the maximum backfill of a live chat, as in the service's `resume-or-backfill.ts`. */
const BACKFILL_DEFAULT = 50;
const BACKFILL_MAX = 500;
/** The digits of an offset, as in the service's `log-position.ts`. */
const DIGITS = 16;
const COMMENT = ": keepalive\n\n";
const EVENTS = { headers: { "content-type": "text/event-stream" } };
/** Each answer of a log has this header. */
const NEXT = "stream-next-offset";

/**
 * Makes the service answer requests for the stream of a video from the video's log: if the caller has
 * `chosen` the log, or if the service answers `/healthz` itself. A log that was not chosen is left for the
 * stream when it refuses, when its answer is not the service's, and when this function is called again.
 */
export async function useLog(service: Service, signal: AbortSignal, chosen?: string): Promise<void> {
  const leave = () => !chosen && Reflect.deleteProperty(service, "request");
  if (Object.hasOwn(service, "request")) {
    leave();
    return;
  }
  if (!chosen && !(await isThere(service, signal))) return;
  const streams = service.request;
  /** Throws what the chat must hear of. A final refusal is not: the stream may still be there. */
  const refused = (error?: ChatError): void => {
    if (!error || error.isFinal) leave();
    if (error && (chosen || !error.isFinal)) throw error;
  };
  service.request = async (...asked) => {
    const [path, signal, headers] = asked;
    if (!path.startsWith("v1/stream?videoId=")) return streams.apply(service, asked);
    const ask: Ask = (path) => streams.call(service, path, signal);
    const after = headers?.["last-event-id"];
    const query = new URLSearchParams(path.split("?")[1]);
    const cursor = after === undefined ? after : Number(after);
    const response = await streamOfLog(ask, query, cursor, refused).catch((error: ChatError) =>
      error.code ? refused(error) : cutStream(error),
    );
    if (response) return response;
    leave();
    return chosen ? new Response() : streams.apply(service, asked);
  };
}

/** The stream of a connection that is cut while the log's first answers are read. */
function cutStream(error: unknown): Response {
  const body = new ReadableStream({ start: (controller) => controller.error(error) });
  return new Response(body, EVENTS);
}

/** Whether it is the service that answers, and not what a network has in front of it. */
async function isThere(service: Service, signal: AbortSignal): Promise<boolean> {
  const asked = service.request("healthz", signal).then(jsonIn);
  const health = (await asked.catch(() => signal.throwIfAborted())) as { status?: unknown } | undefined;
  return health?.status === "alive";
}

/**
 * Resolves to a response whose body is the stream after the cursor `after`, or without one that of a new
 * viewer; to undefined if an answer is not the service's. Rejects as `ask` does, and so do reads of the body,
 * with what `refused` throws. If it throws nothing, or a later answer is not the service's, the body ends
 * without an end frame, like a connection that was cut.
 */
async function streamOfLog(
  ask: Ask,
  query: URLSearchParams,
  after: number | undefined,
  refused: (error?: ChatError) => void,
): Promise<Response | undefined> {
  const video = `${query.get("videoId")}`;
  const backfill = query.get("backfill");
  const until = query.get("until");
  let chat = query.get("chat");
  const log = (offset: string) =>
    `v1/log/${encodeURIComponent(video)}?offset=${offset}${chat ? `&chat=${chat}` : ""}`;
  const count = Math.min(BACKFILL_MAX, Math.trunc(Number(backfill ?? BACKFILL_DEFAULT)));
  const last = new URLSearchParams({ videoId: video, details: "true", limit: `${Math.max(1, count)}` });
  last.set("before", `${Number.MAX_SAFE_INTEGER}`);
  if (chat) last.set("chat", chat);
  else if (after) last.set("after", `${after}`); // only one chat has the cursor
  const types = query.get("types");
  if (types) last.set("types", types);
  const stored = async () => {
    const answer = await ask(`v1/messages?${last}`);
    return (await jsonIn(answer)) as Stored | undefined;
  };
  const room = await stored().catch(async (error) => {
    if (until || error.code !== "NOT_STORED") throw error;
    await ask(log("-1")); // opens the room
    return stored();
  });
  if (!room || !Array.isArray(room.messages)) return undefined;
  const { videoId, chatType, floor, head, messages } = room;
  const [oldest] = messages;
  const isReplay = chatType === "liveChatReplayRenderer";
  if (isReplay) chat = "replay";
  let cursor = after || floor;
  if (after === undefined && !(backfill === null && (until || isReplay)))
    cursor = oldest && count > 0 ? oldest.cursor - 1 : head;
  let answer = await ask(log(offsetOf(cursor))).catch((error) => {
    if (error.status !== 410) throw error;
    // The log has lost the messages after the cursor, or never had them: it is read from its beginning, by
    // name, since caches may keep an answer to -1 from before they were lost.
    cursor = floor;
    return ask(log(offsetOf(floor)));
  });
  if (!answer.headers.has(NEXT)) return undefined;

  async function* parts(): AsyncGenerator<string, void> {
    yield frame("init", { videoId, chatType, cursor });
    while (true) {
      const next = answer.headers.get(NEXT);
      const items = next && (yield* itemsOf(answer));
      if (!items) return refused();
      let text = COMMENT;
      for (const { cursor, ...message } of items) {
        if (query.get("details") !== "true") delete message.details;
        text += `id: ${cursor}\n${frame("message", message)}`;
      }
      const isUpToDate = answer.headers.has("stream-up-to-date");
      const isClosed = answer.headers.has("stream-closed");
      const isUntil = until && (isUpToDate || Number(next) >= head);
      if (isUntil || isClosed) {
        yield text + frame("end", { reason: isUntil ? "until" : "no more continuations" });
        return;
      }
      yield text;
      const poll = `&live=long-poll&cursor=${answer.headers.get("stream-cursor") ?? ""}`;
      try {
        answer = await ask(log(next) + (isUpToDate ? poll : ""));
      } catch (error) {
        if ((error as { status?: number }).status !== 410) throw error;
        return; // the log has lost the offset: the stream begins again, behind a gap
      }
    }
  }

  const frames = parts();
  const body = new ReadableStream({
    async pull(controller) {
      const part = await frames.next().catch(refused);
      if (part?.value) controller.enqueue(new TextEncoder().encode(part.value));
      else controller.close();
    },
  });
  return new Response(body, EVENTS);
}

/**
 * Returns the messages of an answer; undefined if it is not the service's. Yields a comment for each piece of
 * it, so that the chat does not take a page that comes slowly for silence.
 */
async function* itemsOf(answer: Response): AsyncGenerator<string, Item[] | undefined> {
  if (answer.status === 204) return [];
  const reader = answer.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let piece = await reader?.read(); piece?.value; piece = await reader?.read()) {
    text += decoder.decode(piece.value, { stream: true });
    yield COMMENT;
  }
  const items = parse(text);
  return Array.isArray(items) ? items : undefined;
}

/** The body of an answer; undefined if it is not JSON. Rejects if the connection is cut. */
async function jsonIn(answer: Response): Promise<unknown> {
  return parse(await answer.text());
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function offsetOf(cursor: number): string {
  return `${cursor}`.padStart(DIGITS, "0");
}

function frame(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
