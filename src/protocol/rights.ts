/**
 * What may be asked of the service, as RELAY_PUBLIC and the claim `relay` of a token name it: a list of
 * rights. `watch:NAME` is the right to watch one video, or the videos of one channel.
 */
import { isChannel, parseVideoOrChannel } from "./channel.ts";

export const RIGHTS = ["watch", "rooms", "probe", "poll", "record"] as const;
export type Right = (typeof RIGHTS)[number];

/** What a right may be, for errors. */
export const RIGHT_FORMS = `${RIGHTS.join(", ")}, or watch:NAME with a video, a handle such as @name or a channel id`;

/** Before the name of a video or channel. */
export const WATCH = "watch:";

/**
 * The right that a text names, in one form: names of videos and channels as `parseVideoOrChannel` returns
 * them. Undefined if it is none. The name of an old URL is none: no page of a video shows it.
 */
export function rightIn(text: string): string | undefined {
  if (RIGHTS.some((right) => right === text)) return text;
  if (!text.startsWith(WATCH)) return undefined;
  try {
    const name = parseVideoOrChannel(text.slice(WATCH.length));
    return /^(?:c|user)\//.test(name) ? undefined : WATCH + name;
  } catch {
    return undefined;
  }
}

/** A set of rights. */
export class Rights {
  readonly #all: ReadonlySet<string>;
  /** The channels whose videos may be watched. */
  readonly channels: readonly string[];

  /** `rights`: as `rightIn` returns them. */
  constructor(rights: Iterable<string>) {
    this.#all = new Set(rights);
    const names = [...this.#all].filter((right) => right.startsWith(WATCH));
    this.channels = names.map((right) => right.slice(WATCH.length)).filter(isChannel);
  }

  /** Whether it holds the right for everything. */
  has(right: Right): boolean {
    return this.#all.has(right);
  }

  /** Whether it holds the right, be it for some videos or channels only. */
  hasSome(right: Right): boolean {
    return this.has(right) || (right === "watch" && [...this.#all].some((held) => held.startsWith(WATCH)));
  }

  /** Whether it holds the right to watch the video or channel of this name. See also `channels`. */
  mayWatch(name: string): boolean {
    return this.has("watch") || this.#all.has(WATCH + name);
  }

  and(others: Rights): Rights {
    return new Rights([...this.#all, ...others.#all]);
  }
}
