/**
 * Draws one message into its element: attributes for stylesheets and scripts, and one `data-field` for each
 * visible part. Parts that the message lacks are left out.
 */
import { GROUPS } from "../../client/index.ts";
import type { Badge, Details } from "../../src/protocol/kinds.ts";
import { EVENT_WORDS, HEADINGS, TAKEN_DOWN } from "./captions.ts";
import { make, setAttributes } from "./dom.ts";
import { drawParts } from "./draw-parts.ts";
import { drawPoll } from "./draw-poll.ts";
import { paint } from "./paint.ts";
import { drawPicture } from "./pictures.ts";
import type { Display, Fate, ShownMessage } from "./shown-message.ts";
import { inReadersZone } from "./zone.ts";

/** The stylesheets' variant of each type that is not drawn as an ordinary chat message. */
const MANNERS: ReadonlyMap<string, string> = new Map([
  ...GROUPS.paid.map((type) => [type, "card"] as const),
  ...(["membership", "milestone", "gift"] as const).map((type) => [type, "card"] as const),
  ...[...GROUPS.notices, "poll_result"].map((type) => [type, "notice"] as const),
  ...Object.keys(EVENT_WORDS).map((type) => [type, "event"] as const),
]);

/** Draws the message, or redraws it after a deletion or replacement. */
export function draw(element: HTMLElement, message: ShownMessage, fate: Fate, display: Display): void {
  const { details, amount, type } = message;
  const isHidden = fate.deleted !== undefined && display.deleted !== "strike";
  const { value, currency } = details.amount ?? {};
  setAttributes(element, {
    "data-message-id": message.id,
    "data-type": type,
    "data-cursor": message.cursor,
    "data-author-id": details.authorId,
    "data-badges": details.badges?.map(({ kind }) => kind).join(" "),
    "data-amount": isHidden ? undefined : amount,
    "data-tier": details.tier,
    "data-currency": isHidden ? undefined : (currency ?? undefined),
    "data-value": isHidden ? undefined : (value ?? undefined),
    "data-deleted": fate.deleted,
    "data-video-id": message.source?.videoId,
    "data-poll-id": details.poll && pollIdOf(message.id),
    "data-poll-state": details.poll && (details.poll.state === "closed" ? "closed" : "open"),
  });
  element.toggleAttribute("data-replaced", fate.replaced === true);
  element.toggleAttribute("data-gap", type === "gap");
  element.toggleAttribute("data-marked", !isHidden && display.isMarked?.(message) === true);
  const isPainted = paint(element, message);
  if (message.source)
    element.style.setProperty("--source-color", `var(--source-color-${message.source.place})`);
  element.style.setProperty("--hue", String(hueOf(details.authorId ?? message.author)));
  element.className = `row ${isPainted ? "card" : (MANNERS.get(type) ?? "")}`.trim();
  const isStruck = fate.deleted !== undefined && display.deleted === "strike";
  const kept = (node: Node | undefined) => (node && isStruck ? make("del", {}, node) : node);
  const face = drawFace(message, display);
  const head = drawHead(message, display, isHidden, kept, drawEvent(message, fate));
  const said = isHidden ? [takenDown(fate.deleted)] : drawSaid(message, display).map(kept);
  if (type === "deleted" && fate.about && display.deleted === "strike")
    said.unshift(make("del", {}, field("target", wordsOf(fate.about))), document.createTextNode(" "));
  if (isStruck) said.push(document.createTextNode(" "), make("span", { class: "taken-down" }, "deleted"));
  const body = make("div", { class: "said" }, head, " ", ...said);
  element.replaceChildren(...(face ? [face, body] : [body]));
  display.finish?.(element, message, fate);
  if (display.sought) display.markFound?.(element, display.sought);
}

/** The part of a poll's message id that all its states share. */
export function pollIdOf(messageId: string): string {
  const end = messageId.lastIndexOf(":");
  return end > messageId.indexOf(":") ? messageId.slice(0, end) : messageId;
}

function takenDown(by: Fate["deleted"]): HTMLElement {
  return make("span", { class: "taken-down" }, TAKEN_DOWN[by ?? "message"]);
}

/**
 * The author's picture on top of the name's first letter, which stays visible if the picture does not load.
 */
function drawFace({ author, details }: ShownMessage, display: Display): HTMLElement | undefined {
  if (!display.avatars || author === "") return undefined;
  const attributes = { "data-field": "avatar", alt: "" };
  const photo = display.images ? drawPicture(details.authorPhoto, attributes, () => undefined) : undefined;
  const initial = /[\p{L}\p{N}]/u.exec(author)?.[0].toUpperCase() ?? "•";
  const face = make("span", { class: "face", "aria-hidden": "true", "data-initial": initial }, photo);
  return face;
}

/** A hue derived from the text: equal texts get equal hues, and hues spread over the circle. */
function hueOf(text: string): number {
  let hash = 0;
  for (const character of text) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 360;
  return hash;
}

/** Author, time, badges and amount: one line above or before the text. */
function drawHead(
  { timestamp, author, amount, details, source }: ShownMessage,
  display: Display,
  isHidden: boolean,
  kept: (node: Node | undefined) => Node | undefined,
  event: Node | undefined,
): HTMLElement {
  const header = [details.header, details.level].filter(Boolean).join(" · ");
  const badges = display.badges ? (details.badges ?? []) : [];
  const drawn = [
    source?.label ? make("bdi", { "data-source": source.label }, source.label) : undefined,
    drawPinnedBy(details.banner?.header),
    display.timestamps ? drawTime(timestamp, details, display) : undefined,
    event,
    drawAuthor(author, display),
    drawReplyTo(details.replyTo?.author),
    ...badges.map((badge) => drawBadge(badge, display.images)),
    isHidden ? undefined : kept(field("amount", amount)),
    isHidden ? undefined : kept(field("header", header)),
  ].filter((node) => node !== undefined);
  return make("span", { class: "head" }, ...drawn.flatMap((node, at) => (at === 0 ? [node] : [" ", node])));
}

/** Only one of the names can be reached by Tab: the page decides which one. */
function drawAuthor(author: string, { opensAuthors }: Display): HTMLElement | undefined {
  const name = field("author", author);
  if (name && opensAuthors) setAttributes(name, { role: "button", tabindex: -1 });
  return name;
}

/** The text of a moderation row, with the affected author's name. */
function drawEvent({ type, details }: ShownMessage, { about }: Fate): Node | undefined {
  if (!Object.hasOwn(EVENT_WORDS, type)) return undefined;
  const { text = "", named } = EVENT_WORDS[type] ?? {};
  const name = about?.author || details.target?.authorId;
  if (!named || !name) return make("span", {}, text);
  return make("span", {}, named[0], make("bdi", { class: "whom" }, name), named[1]);
}

/** The amount and the words, in one line. */
function wordsOf({ amount, message, details }: ShownMessage): string {
  return [amount, message || details.sticker?.label].filter(Boolean).join(" ");
}

function drawReplyTo(author: string | undefined): HTMLElement | undefined {
  return author ? make("span", { class: "reply-to" }, "to ", field("reply-to", author)) : undefined;
}

function drawPinnedBy(header: string | undefined): HTMLElement | undefined {
  if (!header) return undefined;
  const sign = make("span", { class: "sign", "data-kind": "pinned", "aria-hidden": "true" });
  return make("span", { class: "heading" }, sign, make("bdi", { "data-field": "header" }, header));
}

/** The text, the sticker and the poll that the message has. */
function drawSaid(message: ShownMessage, { images }: Display): Node[] {
  const { details, type } = message;
  const said: Node[] = [];
  const heading = HEADINGS.get(type);
  if (heading) {
    const sign = make("span", { class: "sign", "data-kind": type, "aria-hidden": "true" });
    said.push(make("span", { class: "heading" }, sign, heading), document.createTextNode(" "));
  }
  if (message.message !== "" && !details.poll && !(type === "supersticker" && details.sticker)) {
    const words = heading ? withoutLine(message, heading) : message;
    said.push(make("bdi", { "data-field": "message" }, ...drawParts(words, images)));
  }
  if (details.poll) said.push(drawPoll(details.poll));
  const sticker = details.sticker && drawSticker(details.sticker, images);
  if (sticker) said.push(...(said.length > 0 ? [document.createTextNode(" ")] : []), sticker);
  return said;
}

/** The message without its first line if this is the heading, which a summary says itself. */
function withoutLine(message: ShownMessage, heading: string): ShownMessage {
  const line = `${heading}\n`;
  if (!message.message.startsWith(line)) return message;
  const lineEnd = message.parts.findIndex(({ text }) => text.endsWith("\n"));
  return { ...message, message: message.message.slice(line.length), parts: message.parts.slice(lineEnd + 1) };
}

function drawSticker({ label, url }: { label: string; url?: string }, images: boolean): Node | undefined {
  const asText = () => field("sticker", label);
  if (!images) return asText();
  return drawPicture(url, { "data-field": "sticker", alt: label, title: label }, asText);
}

/** The stylesheet draws a badge without a picture by its kind. */
function drawBadge({ kind, label, url }: Badge, images: boolean): Node {
  const own = { "data-field": "badge", "data-kind": kind, title: label };
  const asText = () => make("span", { ...own, role: "img", "aria-label": label || kind }, label || kind);
  if (!images) return asText();
  return drawPicture(url, { ...own, alt: label || kind }, asText) ?? asText();
}

/**
 * The message's time; that of a live chat can be in the reader's time zone instead of the service's. If the
 * exact time is known, the title is the whole date.
 */
function drawTime(timestamp: string, details: Details, { localTimes }: Display): HTMLElement | undefined {
  const moment = new Date(details.publishedAt ?? "");
  const isLocal = localTimes === true && details.offsetMs === undefined;
  if (timestamp === "" || Number.isNaN(moment.getTime()))
    return field("timestamp", isLocal ? inReadersZone(timestamp) : timestamp);
  const local = moment
    .toLocaleTimeString("en", { hour: "numeric", minute: "2-digit" })
    .replace("\u202f", " ");
  return make(
    "time",
    { "data-field": "timestamp", datetime: moment.toISOString(), title: moment.toLocaleString("en") },
    isLocal ? local : timestamp,
  );
}

function field(name: string, text: string): HTMLElement | undefined {
  return text === "" ? undefined : make("bdi", { "data-field": name }, text);
}
