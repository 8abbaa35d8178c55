/**
 * What may be asked of the service, as RELAY_PUBLIC and the claim `relay` of a token name it: a list of
 * rights. `watch:NAME` is the right to watch one video, or the videos of one channel, and `feature:NAME` that
 * to feature their messages.
 */
import { isChannel, parseVideoOrChannel } from "./channel.ts";

export const RIGHTS = ["watch", "rooms", "probe", "poll", "record", "feature"] as const;
export type Right = (typeof RIGHTS)[number];

/** The rights that may be for one video, or for the videos of one channel. */
const NAMING: readonly Right[] = ["watch", "feature"];

/** What a right may be, for errors. */
export const RIGHT_FORMS = `${RIGHTS.join(", ")}, or ${NAMING.map((right) => `${right}:NAME`).join(" or ")} with a video, a handle such as @name or a channel id`;

/** Before the name of a video or channel that may be watched. */
export const WATCH = "watch:";

/**
 * The right that a text names, in one form: names of videos and channels as `parseVideoOrChannel` returns
 * them. Undefined if it is none. The name of an old URL is none: no page of a video shows it.
 */
export function rightIn(text: string): string | undefined {
  if (RIGHTS.some((right) => right === text)) return text;
  const right = NAMING.find((each) => text.startsWith(`${each}:`));
  if (!right) return undefined;
  try {
    const name = parseVideoOrChannel(text.slice(right.length + 1));
    return /^(?:c|user)\//.test(name) ? undefined : `${right}:${name}`;
  } catch {
    return undefined;
  }
}

/** A set of rights. */
export class Rights {
  readonly #all: ReadonlySet<string>;

  /** `rights`: as `rightIn` returns them. */
  constructor(rights: Iterable<string>) {
    this.#all = new Set(rights);
  }

  /** Whether it holds the right for everything. */
  has(right: Right): boolean {
    return this.#all.has(right);
  }

  /** Whether it holds the right, be it for some videos or channels only. */
  hasSome(right: Right): boolean {
    return this.has(right) || this.#namesOf(right).length > 0;
  }

  /** Whether it holds the right for the video or channel of this name. See also `channelsOf`. */
  hasFor(right: Right, name: string): boolean {
    return this.has(right) || this.#all.has(`${right}:${name}`);
  }

  /** The channels for whose videos it holds the right. */
  channelsOf(right: Right): string[] {
    return this.#namesOf(right).filter(isChannel);
  }

  #namesOf(right: Right): string[] {
    const prefix = `${right}:`;
    return [...this.#all].filter((held) => held.startsWith(prefix)).map((held) => held.slice(prefix.length));
  }

  and(others: Rights): Rights {
    return new Rights([...this.#all, ...others.#all]);
  }
}
