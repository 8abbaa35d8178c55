/**
 * The error of a store: what the operator and callers get for it, and how to try again while the store is
 * unavailable.
 */
import type { Clock } from "../base/clock.ts";
import { retry } from "../base/retry.ts";
import type { Chat } from "../protocol/chat.ts";
import { RelayError } from "../protocol/errors.ts";

/** Why a store does not work, in words that may be public: without a path, a host or a user. */
export type StoreTrouble =
  | "the disk is full"
  | "its disk fails"
  | "it cannot be opened"
  | "it cannot be written"
  | "it is locked"
  | "it is damaged"
  | "its file is gone"
  | "the database cannot be reached"
  | "it does not answer"
  | "it failed";

export class StoreError extends Error {
  override readonly name: string = "StoreError";
  readonly kind: "fenced" | "unavailable";
  readonly trouble: StoreTrouble;

  /** The message is only for the operator. */
  constructor(
    kind: StoreError["kind"],
    message: string,
    { trouble = "it failed", ...cause }: { trouble?: StoreTrouble; cause?: unknown } = {},
  ) {
    super(message, cause);
    this.kind = kind;
    this.trouble = trouble;
  }

  /** The error that callers of the service get for it. */
  get refusal(): RelayError {
    return storeUnavailable(this);
  }
}

/**
 * The error of an operation that begins after the store's `close`: this service is stopping, and the store
 * has not failed.
 */
export class StoreClosed extends StoreError {
  constructor() {
    super("unavailable", "the store is closed");
  }
}

/** The error that callers of the service get while the store does not work. */
export function storeUnavailable(cause?: StoreError): RelayError {
  return new RelayError("STORE_UNAVAILABLE", "The store is unavailable; try again shortly.", { cause });
}

/** The error that callers of the service get if nothing is stored of a video, or of this chat of it. */
export function notStored(videoId: string, chat?: Chat): RelayError {
  const what = chat ? `the ${chat} chat of video` : "video";
  const advice = "/v1/stream without `until` reads its chat";
  return new RelayError("NOT_STORED", `Nothing is stored of ${what} ${videoId}; ${advice}.`);
}

/** Refuses a store that a migration has not filled completely. */
export const HALF_FILLED = "is incomplete: let livechat-relay migrate-store finish, or use another store";

/** Refuses a store of a schema from which no step leads to this program's. The caller adds another way. */
export const EARLIER_SCHEMA = (schema: number, first: number) =>
  `has schema ${schema}, this program upgrades none before ${first}: export its chats with the version that wrote it`;

/** Refuses to begin a migration into a store with rooms. */
export const NOT_EMPTY = (place: string) => `${place} already contains rooms: use an empty store`;

/** Whether a write was refused because the room has another owner or another head, or is finished. */
export function isFenced(error: unknown): error is StoreError {
  return error instanceof StoreError && error.kind === "fenced";
}

/** Whether the store failed temporarily, so that the operation may be tried again. */
export function isUnavailable(error: unknown): error is StoreError {
  return error instanceof StoreError && error.kind === "unavailable";
}

/** For a `catch`: returns `value` if the store is unavailable, and throws any other error. */
export function ifUnavailable<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (!isUnavailable(error)) throw error;
    return value;
  };
}

const WAITS = { firstMs: 100, maxMs: 5000 };

/**
 * The result of a read, once the store is available. Rejects with the signal's reason, and at once with any
 * other error of the read.
 */
export function retryRead<T>(clock: Clock, signal: AbortSignal, read: () => Promise<T>): Promise<T> {
  return retry(WAITS, clock, signal, isUnavailable, read);
}
