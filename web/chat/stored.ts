/** Reads the stored messages of one video, page by page, from `GET /v1/messages`. */
import type { Init } from "../../client/index.ts";
import { completed, type ShownMessage } from "./shown-message.ts";

export interface StoredPage {
  /** In the order of cursors. */
  messages: ShownMessage[];
  /** The chats of the video that are stored. */
  chats: readonly string[];
  /** The newest stored cursor, of all messages; 0 if nothing is stored. */
  head: number;
  /** The `after` of the next page; null at the newest message, and at `before`. */
  next: number | null;
  /** The `before` of the previous page; null if nothing older is stored. */
  prev: number | null;
}

export type StoredQuery = Partial<
  Record<
    | "after"
    | "before"
    | "from"
    | "saidTo"
    | "limit"
    | "types"
    | "q"
    | "author"
    | "badges"
    | "minTier"
    | "minAmount",
    string | number
  >
>;

/** The form of a channel's id, as `author` takes it. */
export const CHANNEL_ID = /^UC[\w-]{22}$/;

/** The `before` of the newest page. */
export const AFTER_ALL = Number.MAX_SAFE_INTEGER;

/** A chat as the page shows it. */
export interface ShownChat {
  videoId: string;
  /** Undefined until it is known which one it is. */
  chat?: "live" | "replay" | undefined;
}

export function chatIn({ chatType }: Pick<Init, "chatType">): NonNullable<ShownChat["chat"]> {
  return chatType === "liveChatReplayRenderer" ? "replay" : "live";
}

/** Asks the service for a path. Rejects as `fetch` does. */
export type Ask = (path: string, signal?: AbortSignal) => Promise<Response>;

/** Rejects with the service's own words, and when `signal` aborts. */
export async function readStored(
  ask: Ask,
  { videoId, chat }: ShownChat,
  query: StoredQuery,
  signal?: AbortSignal,
): Promise<StoredPage> {
  const search = new URLSearchParams({ videoId, details: "true" });
  if (chat) search.set("chat", chat);
  for (const [name, value] of Object.entries(query)) search.set(name, String(value));
  const response = await ask(`v1/messages?${search}`, signal);
  const body = await response.json();
  if (body.code === "NOT_STORED") return { messages: [], chats: [], head: 0, next: null, prev: null };
  if (!response.ok) throw new Error(body.message);
  return { ...body, messages: body.messages.map(completed) };
}
