/**
 * The stream of a video's chat made from its log (`/v1/log`), for networks that hold Server-Sent Events back:
 * the answers of pages and long polls become the frames that `/v1/stream` would send. Messages of all types
 * come; `types` only decides where the stream begins. Loaded only when it is needed, it imports nothing but
 * types, so that it can be a module of its own.
 */
import type { ChatType } from "../src/protocol/chat.ts";
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

/** How many messages a live chat begins with by default, and at most, as the service's `resume.ts` says. */
const BACKFILL_DEFAULT = 50;
const BACKFILL_MAX = 500;
/** The digits of an offset, as in the service's `log-position.ts`. */
const DIGITS = 16;

/**
 * Makes the service answer requests for the stream of a video from the video's log, from now on: if the
 * caller has `chosen` the log, or if two streams in a row were empty while the service answers `/healthz`.
 * The empty streams of an outage do not count.
 */
export async function useLog(service: Service, signal: AbortSignal, chosen?: string): Promise<void> {
  const streams = service.request;
  if (chosen === undefined) {
    const failed = service.empty;
    const isThere = await service.request("healthz", signal).then(
      () => true,
      () => false,
    );
    service.empty = isThere ? failed : 0.5;
    if (service.empty < 2) return;
  }
  if (Object.hasOwn(service, "request")) return;
  service.request = (path, signal, headers, body) => {
    if (!path.startsWith("v1/stream?videoId=")) return streams.call(service, path, signal, headers, body);
    const ask: Ask = (asked) => streams.call(service, asked, signal);
    const after = headers?.["last-event-id"];
    return streamOfLog(
      ask,
      new URLSearchParams(path.split("?")[1]),
      after === undefined ? after : Number(after),
    );
  };
}

/**
 * Resolves to a response whose body is the stream after the cursor `after`, or without one that of a new
 * viewer. Rejects as `ask` does, and so do reads of the body. If an answer is not the service's, the body
 * ends without an end frame, like a connection that was cut.
 */
async function streamOfLog(ask: Ask, query: URLSearchParams, after: number | undefined): Promise<Response> {
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
    return (await answer.json().catch(() => undefined)) as Stored | undefined;
  };
  const room = await stored().catch(async (error) => {
    if (until || error.code !== "NOT_STORED") throw error;
    await ask(log("-1")); // opens the room
    return stored();
  });
  if (!room || !Array.isArray(room.messages)) return new Response(); // not the service's, so no stream
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

  async function* parts(): AsyncGenerator<string, void> {
    yield frame("init", { videoId, chatType, cursor });
    while (true) {
      const next = answer.headers.get("stream-next-offset");
      if (!next) return; // the answer is not the service's
      let text = ": keepalive\n\n";
      const items = answer.status === 204 ? [] : ((await answer.json()) as Item[]);
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
      const { value, done } = await frames.next();
      if (done) controller.close();
      else controller.enqueue(new TextEncoder().encode(value));
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

function offsetOf(cursor: number): string {
  return `${cursor}`.padStart(DIGITS, "0");
}

function frame(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
