/** Generates a chatter's text as runs of text, links and emoji. */
import { thumbnails } from "./author.ts";
import type { JsonObject } from "./plain-json.ts";
import type { Random } from "./random.ts";
import * as words from "./words.ts";

/** Usually a phrase; sometimes with emoji, a link, or text that looks like markup. */
export function writeRuns(random: Random): JsonObject[] {
  const kind = random.next();
  const phrase = { text: random.pick(words.PHRASES) };
  if (kind < 0.7) return [phrase];
  if (kind < 0.8) return [phrase, standardEmoji(random)];
  if (kind < 0.87) return [customEmoji(random), customEmoji(random), { text: " " }, phrase];
  if (kind < 0.9) return [standardEmoji(random)];
  if (kind < 0.93) return [{ text: "see " }, link(random)];
  if (kind < 0.94) return [phrase, { text: "", bold: true }, { text: "!", bold: true, italics: true }];
  if (kind < 0.95) return [{ text: "and " }, watchLink(random)];
  return [{ text: random.pick(words.TRAPS) }];
}

/**
 * One sentence in a form of the upstream: its runs as they are, one run, a plain text, or one run more. An
 * emoji stays a run of its own.
 */
export function divided(runs: readonly JsonObject[], random: Random): JsonObject {
  const [first = {}, ...others] = runs;
  const begin = String(first.text ?? "");
  const isPlain = runs.every(({ text }) => text !== undefined);
  const whole = runs.map(({ text }) => text).join("");
  const form = random.next();
  if (form < 0.5 || begin.length < 2) return { runs };
  if (form < 0.7)
    return { runs: [{ ...first, text: begin.slice(0, 2) }, { ...first, text: begin.slice(2) }, ...others] };
  if (!isPlain) return { runs };
  return form < 0.85 ? { runs: [{ text: whole }] } : { simpleText: whole };
}

export function standardEmoji(random: Random): JsonObject {
  const [emojiId, shortcut] = random.pick(words.STANDARD_EMOJI);
  const image = {
    thumbnails: [
      { url: `https://fonts.gstatic.com/s/e/notoemoji/15.1/${emojiId.codePointAt(0)?.toString(16)}/72.png` },
    ],
    accessibility: { accessibilityData: { label: emojiId } },
  };
  // some have no shortcuts
  return { emoji: { emojiId, ...(random.chance(0.7) && { shortcuts: [shortcut] }), image } };
}

function customEmoji(random: Random): JsonObject {
  const name = random.pick(words.CUSTOM_EMOJI);
  const image = {
    ...thumbnails(`https://yt3.ggpht.com/${random.text(20)}=w`, 24, 48),
    accessibility: { accessibilityData: { label: name } },
  };
  const emojiId = `UCsimulatedChannel000000/${random.text(20)}`;
  return {
    emoji: {
      emojiId,
      shortcuts: [`:_${name}:`, `:${name}:`],
      searchTerms: [name],
      image,
      isCustomEmoji: true,
    },
  };
}

/** The length of a link's text from which on the upstream shortens it. The target stays whole. */
const SHOWN_LENGTH = 37;

function link(random: Random): JsonObject {
  const target = random.pick(words.LINKS);
  const url = `https://www.youtube.com/redirect?event=live_chat&redir_token=${random.text(40)}&q=${encodeURIComponent(target)}`;
  const urlEndpoint = { url, target: "TARGET_NEW_WINDOW", nofollow: true };
  const commandMetadata = {
    webCommandMetadata: { url, webPageType: "WEB_PAGE_TYPE_UNKNOWN", rootVe: 83769 },
  };
  const text = target.length > SHOWN_LENGTH ? `${target.slice(0, SHOWN_LENGTH)}...` : target;
  return { text, navigationEndpoint: { commandMetadata, urlEndpoint } };
}

function watchLink(random: Random): JsonObject {
  const videoId = random.text(9).slice(0, 11);
  const commandMetadata = {
    webCommandMetadata: { url: `/watch?v=${videoId}`, webPageType: "WEB_PAGE_TYPE_WATCH", rootVe: 3832 },
  };
  return {
    text: `https://www.youtube.com/watch?v=${videoId}`,
    navigationEndpoint: { commandMetadata, watchEndpoint: { videoId, nofollow: true } },
  };
}
