/**
 * Draws one message into its element: attributes for stylesheets and scripts, and one `data-field` for each thing
 * that is shown. Whatever the message lacks is left out.
 */
import { GROUPS } from "../../client/index.ts";
import type { Badge } from "../../src/protocol/kinds.ts";
import { make, setAttributes } from "./element.ts";
import type { Fate, Look, ShownMessage } from "./message.ts";
import { paint } from "./paint.ts";
import { drawParts } from "./parts.ts";
import { drawPicture } from "./pictures.ts";
import { drawPoll } from "./poll.ts";

/** What stands in place of words that were taken down. */
const TAKEN_DOWN = { message: "Message deleted", author: "Author’s messages deleted" } as const;

/** What happened, where a moderation log shows as rows what changes others. */
export const EVENT_WORDS: Readonly<Record<string, string>> = {
  deleted: "A message was deleted.",
  author_deleted: "An author’s messages were deleted.",
  replaced: "A message was replaced.",
  banner_removed: "What was pinned was taken down.",
};

/** How the stylesheets draw a type that is not drawn as words of a viewer. */
const MANNERS: ReadonlyMap<string, string> = new Map([
  ...GROUPS.paid.map((type) => [type, "card"] as const),
  ...(["membership", "milestone", "gift"] as const).map((type) => [type, "card"] as const),
  ...[...GROUPS.notices, "poll_result"].map((type) => [type, "notice"] as const),
  ...Object.keys(EVENT_WORDS).map((type) => [type, "event"] as const),
]);

/** Draws the message, or draws it anew after something became of it. */
export function draw(element: HTMLElement, message: ShownMessage, fate: Fate, look: Look): void {
  const { details, amount, type } = message;
  const isHidden = fate.deleted !== undefined && look.deleted !== "strike";
  const { value, currency } = details.amount ?? {};
  setAttributes(element, {
    "data-message-id": message.id,
    "data-type": type,
    "data-cursor": message.cursor,
    "data-author-id": details.authorId,
    "data-badges": details.badges?.map(({ kind }) => kind).join(" "),
    "data-amount": isHidden ? undefined : amount,
    "data-tier": details.tier,
    "data-currency": currency ?? undefined,
    "data-value": value ?? undefined,
    "data-deleted": fate.deleted,
    "data-poll-id": details.poll && pollIdOf(message.id),
    "data-poll-state": details.poll && (details.poll.state === "closed" ? "closed" : "open"),
  });
  element.toggleAttribute("data-replaced", fate.replaced === true);
  element.toggleAttribute("data-gap", type === "gap");
  const isPainted = paint(element, message);
  element.className = `row ${isPainted ? "card" : (MANNERS.get(type) ?? "")}`.trim();
  const isStruck = fate.deleted !== undefined && look.deleted === "strike";
  const kept = (node: Node | undefined) => (node && isStruck ? make("del", {}, node) : node);
  const face = drawFace(message, look);
  const head = drawHead(message, look, isHidden, kept);
  const said = isHidden ? [takenDown(fate.deleted)] : drawSaid(message, look).map(kept);
  const body = make("div", { class: "said" }, head, " ", ...said);
  element.replaceChildren(...(face ? [face, body] : [body]));
}

/** Of a poll's message id the part that all its states share. */
export function pollIdOf(messageId: string): string {
  const end = messageId.lastIndexOf(":");
  return end > messageId.indexOf(":") ? messageId.slice(0, end) : messageId;
}

function takenDown(by: Fate["deleted"]): HTMLElement {
  return make("span", { class: "taken-down" }, TAKEN_DOWN[by ?? "message"]);
}

/** The picture of the author over the first letter of the name, which is left where the picture cannot be shown. */
function drawFace({ author, details }: ShownMessage, look: Look): HTMLElement | undefined {
  if (!look.avatars || author === "") return undefined;
  const attributes = { "data-field": "avatar", alt: "" };
  const photo = look.images ? drawPicture(details.authorPhoto, attributes, () => undefined) : undefined;
  const initial = /[\p{L}\p{N}]/u.exec(author)?.[0].toUpperCase() ?? "•";
  const face = make("span", { class: "face", "aria-hidden": "true", "data-initial": initial }, photo);
  face.style.setProperty("--hue", String(hueOf(details.authorId ?? author)));
  return face;
}

/** The same for the same text, spread over the circle. */
function hueOf(text: string): number {
  let hash = 0;
  for (const character of text) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 360;
  return hash;
}

/** Who said it, when, and what it is: one line above or before the words. */
function drawHead(
  { type, timestamp, author, amount, details }: ShownMessage,
  look: Look,
  isHidden: boolean,
  kept: (node: Node | undefined) => Node | undefined,
): HTMLElement {
  const header = [details.banner?.header, details.header, details.level].filter(Boolean).join(" · ");
  const badges = look.badges ? (details.badges ?? []) : [];
  return make(
    "span",
    { class: "head" },
    look.timestamps ? field("timestamp", timestamp) : undefined,
    Object.hasOwn(EVENT_WORDS, type) ? make("span", {}, EVENT_WORDS[type]) : undefined,
    field("author", author),
    ...badges.map((badge) => drawBadge(badge, look.images)),
    isHidden ? undefined : kept(field("amount", amount)),
    isHidden ? undefined : kept(field("header", header)),
  );
}

/** The words, the sticker and the poll, as far as the message has them. */
function drawSaid(message: ShownMessage, { images }: Look): Node[] {
  const { details, type } = message;
  const said: Node[] = [];
  if (message.message !== "" && !details.poll && !(type === "supersticker" && details.sticker)) {
    said.push(make("bdi", { "data-field": "message" }, ...drawParts(message, images)));
  }
  if (details.poll) said.push(drawPoll(details.poll));
  if (details.sticker) said.push(drawSticker(details.sticker, images));
  return said;
}

function drawSticker({ label, url }: { label: string; url?: string }, images: boolean): Node {
  const asText = () => make("bdi", { "data-field": "sticker" }, label);
  if (!images) return asText();
  return drawPicture(url, { "data-field": "sticker", alt: label, title: label }, asText) ?? asText();
}

/** A badge without a picture of its own has its kind's, by the stylesheet. */
function drawBadge({ kind, label, url }: Badge, images: boolean): Node {
  const own = { "data-field": "badge", "data-kind": kind, title: label };
  const asText = () => make("span", { ...own, role: "img", "aria-label": label || kind }, label || kind);
  if (!images) return asText();
  return drawPicture(url, { ...own, alt: label || kind }, asText) ?? asText();
}

function field(name: string, text: string): HTMLElement | undefined {
  return text === "" ? undefined : make("bdi", { "data-field": name }, text);
}
