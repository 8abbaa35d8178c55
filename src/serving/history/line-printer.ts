/** Prints a message as one line for people: time, author with badges, type, text. */
import type { styleText } from "node:util";
import { dropOldest } from "../../base/maps.ts";
import { cleanText } from "../../base/sanitised-text.ts";
import type { Details } from "../../protocol/kinds.ts";
import { wholeText } from "../../protocol/whole-text.ts";
import { choicesText, type ReceivedMessage } from "./received-message.ts";

type Style = Parameters<typeof styleText>[0];
/** Colours a text, or returns it unchanged. */
export type Paint = (style: Style, text: string) => string;

export const plain: Paint = (_style, text) => text;

/** Maximum names, and maximum deletions, to remember: a printed deletion names its author. */
const MAX_KNOWN = 5000;

const AUTHOR_STYLES: ReadonlyMap<string, Style> = new Map<string, Style>([
  ["owner", "yellow"],
  ["moderator", "blueBright"],
  ["member", "green"],
  ["verified", "cyan"],
]);
const PAID_STYLE: Style = ["bold", "yellow"];
const REMOVED_STYLE: Style = "red";

export class LinePrinter {
  readonly #paint: Paint;
  /** Author names by the id of a message and of an author. */
  readonly #names = new Map<string, string>();
  /** The messages that deletions were about, which may come later. */
  readonly #deleted = new Map<string, true>();

  constructor(paint: Paint) {
    this.#paint = paint;
  }

  /** The line with its only line break at the end; control characters are removed. */
  line(message: ReceivedMessage): string {
    const { details = {} } = message;
    if (message.author !== "") {
      remember(this.#names, message.id, message.author);
      if (details.authorId) remember(this.#names, details.authorId, message.author);
    }
    if (message.type === "deleted") remember(this.#deleted, details.target?.messageId ?? "", true);
    const to = details.replyTo ? `to ${cleanText(details.replyTo.author)}` : "";
    const who = [this.#author(message, details), to, this.#what(message)]
      .filter((part) => part !== "")
      .join(" ");
    const words = cleanText(this.#words(message, details));
    const time = this.#paint("dim", cleanText(message.timestamp).padEnd(8));
    return `${time}  ${[who, words].filter((part) => part !== "").join(": ")}\n`;
  }

  #author({ author }: ReceivedMessage, { badges = [] }: Details): string {
    const name = cleanText(author);
    const style = badges.map(({ kind }) => AUTHOR_STYLES.get(kind)).find((found) => found !== undefined);
    const shown = style && name !== "" ? this.#paint(style, name) : name;
    const kinds = badges.map(({ kind }) => cleanText(kind)).join(", ");
    return kinds === "" ? shown : `${shown} (${kinds})`;
  }

  /** The type, unless it is an ordinary chat message, and the amount. */
  #what({ type, amount }: ReceivedMessage): string {
    const isRemoval = type === "deleted" || type === "author_deleted";
    const kind = type === "chat" ? "" : `[${cleanText(type).replaceAll("_", " ")}]`;
    const label = `${kind}${amount === "" ? "" : ` ${cleanText(amount)}`}`.trim();
    if (isRemoval) return this.#paint(REMOVED_STYLE, label);
    return amount === "" ? label : this.#paint(PAID_STYLE, label);
  }

  #words(received: ReceivedMessage, { target, poll, header }: Details): string {
    const { type, id, author, message } = received;
    if (poll) return `${poll.question} | ${choicesText(poll.choices)} (${poll.state})`;
    if (type === "deleted") {
      const author = this.#names.get(target?.messageId ?? "");
      return author ? `a message by ${author}` : `message ${target?.messageId ?? ""}`;
    }
    if (type === "author_deleted") {
      const author = this.#names.get(target?.authorId ?? "") ?? target?.authorId ?? "";
      return `all messages by ${author}`;
    }
    const isBlank = type === "chat" && author === "" && message === "";
    if (isBlank || this.#deleted.has(id)) return "(deleted)";
    return [header, wholeText(received)].filter(Boolean).join(": ");
  }
}

function remember<Value>(known: Map<string, Value>, id: string, value: Value): void {
  known.set(id, value);
  dropOldest(known, MAX_KNOWN);
}
