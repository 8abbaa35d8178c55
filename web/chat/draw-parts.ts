/**
 * Draws a message's text, links and custom emoji. The text content of the result, with each picture's `alt`,
 * equals the message.
 */
import type { Part } from "../../src/protocol/message.ts";
import { toAddress } from "./address.ts";
import { make } from "./dom.ts";
import { drawPicture } from "./pictures.ts";

export function drawParts(
  { type, parts, message }: { type: string; parts: readonly Part[]; message: string },
  images: boolean,
): (Node | string)[] {
  if (parts.map(({ text }) => text).join("") !== message) return [message];
  const drawn = parts.map((part) => drawPart(part, images));
  // A change of mode and its sub-text, with a space between them. The stylesheet draws a full stop there.
  const end = type === "mode" ? parts.findIndex(({ text }) => text === " ") : -1;
  return end < 1 ? drawn : [make("span", { class: "sentence" }, ...drawn.splice(0, end)), ...drawn];
}

function drawPart(part: Part, images: boolean): Node | string {
  if (part.kind === "link") return drawLink(part);
  if (part.kind !== "emoji" || !part.custom || !images) return part.text;
  const { text, url } = part;
  const asText = () => document.createTextNode(text);
  return drawPicture(url, { class: "emoji", alt: text, title: text }, asText) ?? text;
}

function drawLink({ text, url }: { text: string; url: string }): Node | string {
  const address = toAddress(url);
  if (!address || !/^https?:$/.test(address.protocol)) return text;
  const href = address.href;
  return make("a", { href, target: "_blank", rel: "noopener noreferrer nofollow ugc", title: href }, text);
}
