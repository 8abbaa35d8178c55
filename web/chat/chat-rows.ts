/**
 * The chat's rows: each message once, with deletions and replacements applied, one row per poll, and the
 * pinned message. The pages decide where a row appears in the document.
 */
import { GROUPS } from "../../client/index.ts";
import { EVENT_WORDS } from "./captions.ts";
import { make } from "./dom.ts";
import { draw, pollIdOf } from "./draw.ts";
import type { Display, Fate, ShownMessage } from "./shown-message.ts";
import { learnZone } from "./zone.ts";

/** Types that change other rows. They are rows themselves only if the filter asks for their type. */
export const EVENTS: ReadonlySet<string> = new Set(Object.keys(EVENT_WORDS));

/**
 * Message ids to remember: a room that is bootstrapped again repeats messages under new cursors, and a
 * deletion may come before its message.
 */
const MAX_SEEN_IDS = 5000;

/** One row of the log. A gap that the SDK detected itself has no message. */
export interface Row {
  message: ShownMessage | undefined;
  fate: Fate;
  /** Created when the row is first shown. */
  element?: HTMLElement;
}

interface Changes {
  /** A new row. */
  taken?(message: ShownMessage): void;
  /** A row whose element must be redrawn. */
  changed(row: Row): void;
  /** A row that must leave the page. */
  removed(row: Row): void;
}

export class ChatRows {
  /** The newest pinned message, until it is unpinned or deleted. The one before does not come back. */
  #pinned: Row | undefined;
  readonly #rows = new Map<string, Row>();
  readonly #polls = new Map<string, Row>();
  readonly #seen = new Set<string>();
  /** The messages that deletions were about, which may come later. */
  readonly #deleted = new Set<string>();
  readonly #display: Pick<Display, "deleted">;
  readonly #changes: Changes;

  constructor(display: Pick<Display, "deleted">, changes: Changes) {
    this.#display = display;
    this.#changes = changes;
  }

  get pinned(): Row | undefined {
    return this.#pinned;
  }

  /** Applies the message. Returns its row if it belongs in the log, before any filter. */
  take(message: ShownMessage): Row | undefined {
    if (this.#seen.has(message.id)) return undefined;
    remember(this.#seen, message.id);
    learnZone(message.timestamp, message.details); // as another script may have completed it
    this.#announce(message);
    const fate: Fate = isBlank(message) ? { deleted: "message" } : {};
    if (this.#isDeleted(message)) {
      fate.deleted = "message";
      this.#nameIn(message);
    }
    const about = this.#targetOf(message);
    if (about) fate.about = about;
    this.#apply(message);
    if (this.#rows.has(message.id)) return undefined; // it was restored from the store before it came
    const row: Row = { message, fate };
    if (message.type === "banner") {
      this.#unpin();
      if (!row.fate.deleted) this.#pinned = row;
      return undefined;
    }
    if (row.fate.deleted && this.#display.deleted === "remove") return undefined;
    if (message.details.poll && this.#updatePoll(message)) return undefined;
    return this.#keep(message, row);
  }

  /**
   * The row of a message that was read from the store; undefined if there is already such a row, or if the
   * message is not a row. `apply` changes the row as later messages ask for it.
   */
  restore(message: ShownMessage, apply: (row: Row) => void): Row | undefined {
    if (message.type === "banner" || this.#rows.has(message.id)) return undefined;
    const row: Row = { message, fate: isBlank(message) ? { deleted: "message" } : {} };
    apply(row);
    const { message: present = message } = row;
    const poll = message.details.poll && this.#polls.get(pollIdOf(message.id));
    if (poll) {
      if (present === message && message.cursor > (poll.message?.cursor ?? 0)) this.#updatePoll(message);
      return undefined;
    }
    this.#nameIn(message);
    return row.fate.deleted && this.#display.deleted === "remove" ? undefined : this.#keep(present, row);
  }

  /** Pins a message that is older than all that came, unless one of these has pinned another or ended it. */
  recall(row: Row): void {
    const { id = "", details } = row.message ?? {};
    const ends = ["banner:", `banner_removed:${restOf(id)}`, `author_deleted:${details?.authorId}`];
    const isOver = [...this.#seen].some((seen) => ends.some((end) => seen.startsWith(end)));
    if (row.message && !isOver && !this.#isDeleted(row.message)) this.#pinned = row;
  }

  /** The last message that the deletion is about, if it is here. */
  #targetOf(event: ShownMessage): ShownMessage | undefined {
    if (event.type === "deleted") return this.#rows.get(targetOf(event).messageId)?.message;
    if (event.type !== "author_deleted") return undefined;
    const rows = [...this.#rows.values()].reverse();
    return rows.find(({ message }) => message && isAbout(event, message))?.message;
  }

  /**
   * A deletion can come before the message that it deletes, without an author's name. When the message comes,
   * this writes its author's name into the row of the deletion.
   */
  #nameIn(said: ShownMessage): void {
    for (const row of this.#rows.values()) {
      if (!row.message || row.fate.about || !isAbout(row.message, said)) continue;
      row.fate.about = said;
      this.#changes.changed(row);
    }
  }

  #keep(message: ShownMessage, row: Row): Row {
    this.#rows.set(message.id, row);
    if (message.details.poll) this.#polls.set(pollIdOf(message.id), row);
    return row;
  }

  /** Forgets a row that left the page or was never shown. */
  drop({ message }: Row): void {
    if (!message) return;
    this.#rows.delete(message.id);
    if (message.details.poll) this.#polls.delete(pollIdOf(message.id));
  }

  /** A message with unexpected details must not keep others from being shown. */
  #announce(message: ShownMessage): void {
    try {
      this.#changes.taken?.(message);
    } catch (error) {
      console.error(`message ${message.id} cannot be counted:`, error);
    }
  }

  /** Whether a deletion came before the message, or before what shows it again. */
  #isDeleted(message: ShownMessage): boolean {
    if (message.type === "deleted") return false;
    return (
      this.#deleted.has(message.id) || (showsOther(message) && this.#deleted.has(targetOf(message).messageId))
    );
  }

  #apply(message: ShownMessage): void {
    const { type, id } = message;
    const { messageId, authorId } = targetOf(message);
    if (type === "deleted") {
      remember(this.#deleted, messageId);
      this.#delete("message", (said) => said.id === messageId || showsAgain(said, messageId));
    } else if (type === "author_deleted") {
      this.#delete("author", (said) => said.details.authorId === authorId);
    } else if (type === "replaced") this.#replace(messageId, message);
    else if (type === "banner_removed" && this.#pinned?.message?.id === `banner:${restOf(id)}`) this.#unpin();
  }

  #delete(deleted: NonNullable<Fate["deleted"]>, isMeant: (said: ShownMessage) => boolean): void {
    if (this.#pinned?.message && isMeant(this.#pinned.message)) this.#unpin();
    for (const row of [...this.#rows.values()]) {
      if (!row.message || !isMeant(row.message)) continue;
      row.fate.deleted = deleted;
      if (this.#display.deleted === "remove") {
        this.drop(row);
        this.#changes.removed(row);
      } else this.#changes.changed(row);
    }
  }

  #replace(target: string, replacement: ShownMessage): void {
    const pinned = this.#pinned;
    for (const row of [this.#rows.get(target), pinned]) {
      if (!row?.message || (row === pinned && !showsAgain(row.message, target))) continue;
      replaceContent(row, replacement);
      this.#changes.changed(row);
    }
  }

  /** Updates the poll's row with its new state. Returns whether there was a row. */
  #updatePoll(message: ShownMessage): boolean {
    const row = this.#polls.get(pollIdOf(message.id));
    if (!row?.message) return false;
    this.#rows.delete(row.message.id);
    this.#rows.set(message.id, row);
    row.message = { ...message, cursor: row.message.cursor };
    this.#changes.changed(row);
    return true;
  }

  #unpin(): void {
    const row = this.#pinned;
    this.#pinned = undefined;
    if (row) this.#changes.removed(row);
  }
}

function restOf(id: string): string {
  return id.slice(id.indexOf(":") + 1);
}

/** The message and the author that a deletion or a replacement is about. */
export function targetOf({ id, details }: ShownMessage): { messageId: string; authorId: string } {
  const { messageId = restOf(id), authorId = restOf(id) } = details.target ?? {};
  return { messageId, authorId };
}

/** Whether the event is a deletion of the message. */
function isAbout(event: ShownMessage, { id, details }: ShownMessage): boolean {
  if (event.type === "deleted") return targetOf(event).messageId === id;
  return event.type === "author_deleted" && targetOf(event).authorId === details.authorId;
}

/** Gives the row the content of the message that replaces its own. It keeps its id, cursor and place. */
export function replaceContent(
  row: Row,
  { message, author, amount, color, parts, details }: ShownMessage,
): void {
  if (!row.message) return;
  const { target: own, banner } = row.message.details;
  const { target: _, ...content } = details;
  const kept = { ...(own && { target: own }), ...(banner && { banner }) };
  row.message = { ...row.message, message, author, amount, color, parts, details: { ...content, ...kept } };
  row.fate.replaced = true;
}

/** Types that have an author. */
const SAID: ReadonlySet<string> = new Set([...GROUPS.chat, ...GROUPS.paid, ...GROUPS.members, "banner"]);

/** Whether the service has blanked the stored message; its deletion may be older than the backfill. */
function isBlank({ type, author, message, amount }: ShownMessage): boolean {
  return SAID.has(type) && author === "" && message === "" && amount === "";
}

/** A pinned message and a row of the moderation log show the text of another message. */
function showsOther({ type }: ShownMessage): boolean {
  return type === "banner" || type === "replaced";
}

function showsAgain(message: ShownMessage, target: string): boolean {
  return showsOther(message) && message.details.target?.messageId === target;
}

function remember(ids: Set<string>, id: string): void {
  ids.add(id);
  if (ids.size <= MAX_SEEN_IDS) return;
  for (const oldest of ids) {
    ids.delete(oldest);
    return;
  }
}

/** The row's element, drawn on first use. */
export function elementOf(row: Row, display: Display): HTMLElement {
  if (row.element) return row.element;
  row.element = make("div", { class: "row" });
  redraw(row, display);
  return row.element;
}

/** Redraws a row if it has an element. A message with odd details keeps its author and words. */
export function redraw({ element, message, fate }: Row, display: Display): void {
  if (!element) return;
  if (message) {
    try {
      draw(element, message, fate, display);
    } catch (error) {
      console.error(`message ${message.id} cannot be drawn in full:`, error);
      draw(element, { ...message, parts: [], details: {} }, fate, display);
    }
  } else {
    element.setAttribute("data-gap", "");
    element.textContent = "Messages are missing here: the service no longer keeps them.";
  }
}
