/** A generated chatter: name, channel, photo and badges in the upstream's format. */
import type { JsonObject } from "./plain-json.ts";
import type { Random } from "./random.ts";
import * as words from "./words.ts";

export interface Author {
  name: string;
  channelId: string;
  photo: JsonObject;
  badges: JsonObject[];
}

export function newAuthor(random: Random): Author {
  const kind = random.next();
  return {
    name: `@${random.pick(words.NAMES)}-${random.text(3).toLowerCase()}`,
    channelId: `UC${random.text(17).slice(0, 22)}`,
    photo: thumbnails(`https://yt4.ggpht.com/${random.text(12)}=s`, 32, 64),
    badges: kind < 0.15 ? [memberBadge(random)] : kind < 0.17 ? [iconBadge("VERIFIED", "Verified")] : [],
  };
}

export function iconBadge(iconType: string, tooltip: string): JsonObject {
  const accessibility = { accessibilityData: { label: tooltip } };
  return { liveChatAuthorBadgeRenderer: { icon: { iconType }, tooltip, accessibility } };
}

export function memberBadge(random: Random): JsonObject {
  const tooltip = random.pick(["New member", "Member (2 months)", "Member (1 year)"]);
  const customThumbnail = thumbnails(`https://yt3.ggpht.com/${random.text(18)}=s`, 16, 32);
  return {
    liveChatAuthorBadgeRenderer: {
      customThumbnail,
      tooltip,
      accessibility: { accessibilityData: { label: tooltip } },
    },
  };
}

export function thumbnails(url: string, ...sizes: readonly number[]): JsonObject {
  return {
    thumbnails: sizes.map((size) => ({
      url: `${url}${size}-c-k-c0x00ffffff-no-rj`,
      width: size,
      height: size,
    })),
  };
}

/** The fields that describe the author and the time of every item. */
export interface Origin {
  author: Author;
  /** Microseconds since 1970, as text. */
  usec: string;
  id: string;
}
