/** What the pages of a browser and their shared worker say to each other. */

/** What a line of the worker carries. */
export type SharedStreamName = { videoId: string } | { channel: string };

export type ToWorker =
  | { open: number; name: SharedStreamName }
  | { close: number }
  | { alive: true }
  /** The page is gone. */
  | { leave: true };

/**
 * `id`: the number that the page gave. The event `alone`: the worker cannot carry the chat beside its others.
 * `gone`: it took the page for gone, and has forgotten its chats.
 */
export type FromWorker = { beat: true } | { gone: true } | { id: number; event: string; value: unknown };

/** The worker says at this interval that it lives, and each page answers. */
export const BEAT_MS = 4000;
