/**
 * The three streams of the service in one table: the chat of a video, of a channel, and several chats. Each
 * has its own form of id, which names the places after which it resumes.
 */
import { keepNewest } from "./bounded.ts";

/** A place in a chat. The video is undefined if the stream has only one. */
export type Place = readonly [videoId: string | undefined, cursor: number];

/** The cursor of each chat. The last entry belongs to the chat that began last. */
export type Cursors = Map<string | undefined, number>;

export interface Stream {
  readonly path: string;
  /** The option, and parameter, that names what the stream carries. */
  readonly option: "videoId" | "channel" | "videoIds";
  /** The form of the names in this option, joined by commas. */
  readonly form: RegExp;
  /** The places in an id of a stream of these names; a cursor that it lacks is NaN. */
  parse(id: string, names: readonly string[]): Place[];
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

/** The cursors in the order of the names, in base 36; `_` for a chat without one. Names must be ids. */
export const MERGED: Stream = {
  path: "v1/merged",
  option: "videoIds",
  form: /^[\w-]{11}(,[\w-]{11})*$/,
  parse: (id, names) => id.split(".").map((part, index) => [names[index], Number.parseInt(part, 36)]),
  format: (cursors, names) =>
    cursors.size ? names.map((name) => cursors.get(name)?.toString(36) ?? "_").join(".") : undefined,
};

/** A chat that begins becomes the last one. */
export function moveTo(cursors: Cursors, [videoId, cursor]: Place, isBeginning?: boolean): void {
  if (isBeginning) cursors.delete(videoId);
  cursors.set(videoId, cursor);
  keepNewest(cursors);
}
