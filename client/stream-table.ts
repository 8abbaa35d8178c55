/**
 * The three streams of the service in one table: the chat of a video, of a channel, and several chats. Each
 * has its own form of id, which names the places after which it resumes.
 */
/** How many chats are remembered: more than the twenty that a connection shows. */
const MAX_CHATS = 1000;

/**
 * A place in a chat. The video is undefined if the stream has only one. `name`: of several chats, what the
 * caller has named, the video or its channel.
 */
export type ChatCursor = readonly [videoId: string | undefined, cursor: number, name?: string | undefined];

/**
 * The cursor of each chat, and the last video of each channel by its name. The last cursor is of the chat
 * that began last.
 */
// biome-ignore lint/suspicious/noExplicitAny: two maps in one, as the SDK must stay small
export type Cursors = Map<string | undefined, any>;

export interface Stream {
  readonly path: string;
  /** The option, and parameter, that names what the stream carries. */
  readonly option: "videoId" | "channel" | "videoIds";
  /** The form of each name in this option. */
  readonly form: RegExp;
  /** The places in an id of a stream of these names; a cursor that it lacks is NaN. */
  parse(id: string, names: readonly string[]): ChatCursor[];
  /** The id after which a stream of these names resumes. */
  format(cursors: Cursors, names: readonly string[]): string | number | undefined;
}

export const VIDEO: Stream = {
  path: "v1/stream",
  option: "videoId",
  form: /\S/,
  parse: (id) => [[undefined, +(id || "-")]], // strict, unlike `parseInt`
  format: (cursors) => cursors.get(undefined),
};

/** `<videoId>.<cursor>` */
export const CHANNEL: Stream = {
  ...VIDEO,
  option: "channel",
  parse: (id) => [[id.slice(0, 11), +(id.slice(12) || "-")]],
  format: (cursors) => [...cursors].at(-1)?.join("."),
};

/**
 * The cursors in the order of the names, in base 36, each of a channel behind its video; `_` for a chat
 * without one. Videos must be named by their ids.
 */
export const MERGED: Stream = {
  path: "v1/merged",
  option: "videoIds",
  form: /^[\w-]{11}$/,
  parse: (id, names) =>
    id
      .split(".")
      .map((part, index) => [part.split(":")[1] ?? names[index], Number.parseInt(part, 36), names[index]]),
  format: (cursors, names) => {
    const parts = names.map((name) => {
      const known = cursors.get(name) ?? "_";
      return cursors.has(known) ? `${cursors.get(known).toString(36)}:${known}` : known.toString(36);
    });
    return cursors.size ? parts.join(".") : undefined;
  },
};

/** A chat that begins becomes the last one. */
export function moveTo(cursors: Cursors, [videoId, cursor, name]: ChatCursor, isBeginning?: boolean): void {
  if (isBeginning) cursors.delete(videoId);
  if (name) cursors.set(name, videoId); // if it is the video itself, its cursor follows
  cursors.set(videoId, cursor);
  for (const [oldest] of cursors) if (cursors.size > MAX_CHATS) cursors.delete(oldest);
}
