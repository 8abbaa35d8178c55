/**
 * `view=goal`: how many members, or how much money in one currency, there has been since a moment, against a
 * target. Counts the stored messages first, and then those that come.
 */
import type { ChatError, HistoryOptions, history } from "../../client/index.ts";
import { make } from "../chat/dom.ts";
import { completed, type ShownMessage } from "../chat/shown-message.ts";
import type { GoalOptions } from "./options.ts";

interface Stored {
  service: string;
  token: string | undefined;
  /** The types that the goal counts, and deletions. */
  types: readonly string[] | undefined;
}

/** `read`: the SDK's `history`, which the page has already. */
export function openGoal(options: GoalOptions, place: HTMLElement, stored: Stored, read: typeof history) {
  const { service, ...selection } = stored;
  const goal = new Goal(options, place);
  let reading = new AbortController();
  return {
    take: (items: readonly (ShownMessage | "gap")[]): void => {
      for (const item of items) if (item !== "gap") goal.take(item);
      goal.show();
    },
    clear: (): void => goal.clear(),
    beginBackfill: (): void => {},
    /** Counts the stored messages before this cursor. */
    readPast: async (videoId: string, before: number, startedAt = ""): Promise<void> => {
      goal.since = options.since ?? Date.parse(startedAt);
      reading.abort();
      reading = new AbortController();
      const { signal } = reading;
      const query = { ...selection, videoId, before, from: options.since, details: true, signal };
      const retry = (error: ChatError): number | undefined => (error.isFinal ? undefined : RETRY_MS);
      try {
        for await (const message of read(service, { ...query, retry } as unknown as HistoryOptions<true>))
          goal.take(completed(message));
        goal.show();
      } catch (error) {
        if (!signal.aborted) console.error("stored messages cannot be counted:", error);
      }
    },
  };
}

const RETRY_MS = 10_000;
const TITLES = { members: "Members", paid: "Super Chats" };
/** Amounts are added in thousandths, which all currencies have as whole numbers. */
const PARTS = 1000;

class Goal {
  /** Earlier messages do not count. In ms since 1970; NaN: all count. */
  since = Number.NaN;
  readonly #options: GoalOptions;
  readonly #bar = make("div", { id: "goal", role: "progressbar", "aria-valuemin": 0 });
  readonly #numbers = make("span", { class: "goal-numbers" });
  #currency: string;
  /** By id, what each message adds, in thousandths, and its author. */
  readonly #added = new Map<string, { parts: number; authorId: string | undefined; cursor: number }>();
  /** Deletions, by id or by author with the deletion's cursor: its message may be read later. */
  readonly #deleted = new Set<string>();
  readonly #deletedAuthors = new Map<string, number>();
  #parts = 0;

  constructor(options: GoalOptions, place: HTMLElement) {
    this.#options = options;
    this.#currency = options.currency;
    const title = options.title || TITLES[options.counts];
    this.#bar.setAttribute("aria-label", title);
    const head = make("div", { class: "goal-head" }, make("bdi", {}, title), " ", this.#numbers);
    this.#bar.append(head, make("div", { class: "goal-track" }, make("div", { class: "goal-bar" })));
    place.append(this.#bar);
    this.show();
  }

  /** Another broadcast begins. */
  clear(): void {
    this.#added.clear();
    this.#parts = 0;
    this.#currency = this.#options.currency;
    this.show();
  }

  /** Each message once, in any order. Call `show` afterwards. */
  take(message: ShownMessage): void {
    const { id, type, cursor, details } = message;
    if (type === "deleted") this.#remove(details.target?.messageId ?? id.slice(id.indexOf(":") + 1));
    else if (type === "author_deleted")
      this.#removeAuthor(details.target?.authorId ?? id.split(":")[1] ?? "", cursor);
    else {
      const { authorId } = details;
      const saidAt = Date.parse(String(details.publishedAt));
      const isEarlier = saidAt < this.since;
      const isDeleted =
        this.#deleted.has(id) ||
        (authorId !== undefined && cursor < (this.#deletedAuthors.get(authorId) ?? 0));
      const parts = isEarlier || isDeleted || this.#added.has(id) ? 0 : this.#partsOf(message);
      if (parts === 0) return;
      this.#added.set(id, { parts, authorId, cursor });
      this.#parts += parts;
    }
  }

  show(): void {
    const { target, counts } = this.#options;
    const value = this.#parts / PARTS;
    const share = Math.min(1, value / target);
    this.#bar.dataset.value = String(value);
    this.#bar.dataset.target = String(target);
    this.#bar.setAttribute("aria-valuemax", String(target));
    this.#bar.setAttribute("aria-valuenow", String(Math.min(value, target)));
    this.#bar.style.setProperty("--goal-share", `${share * 100}%`);
    const [reached, aim] = [value, target].map((each) =>
      format(each, counts === "paid" ? this.#currency : ""),
    );
    this.#numbers.textContent = `${reached} / ${aim}`;
    this.#bar.setAttribute("aria-valuetext", `${reached} of ${aim}`);
  }

  #partsOf({ type, details }: ShownMessage): number {
    if (this.#options.counts === "members") {
      if (type === "membership") return PARTS;
      return type === "gift" ? (details.gift?.count ?? 1) * PARTS : 0;
    }
    if (type !== "superchat" && type !== "supersticker") return 0;
    const { value, currency } = details.amount ?? {};
    if (typeof value !== "number" || !currency) return 0;
    this.#currency ||= currency;
    return currency === this.#currency ? Math.round(value * PARTS) : 0;
  }

  #remove(id: string): void {
    this.#deleted.add(id);
    this.#parts -= this.#added.get(id)?.parts ?? 0;
    this.#added.delete(id);
  }

  #removeAuthor(authorId: string, cursor: number): void {
    this.#deletedAuthors.set(authorId, cursor);
    for (const [id, added] of this.#added)
      if (added.authorId === authorId && added.cursor < cursor) {
        this.#parts -= added.parts;
        this.#added.delete(id);
      }
  }
}

function format(value: number, currency: string): string {
  try {
    if (currency !== "")
      return value.toLocaleString("en", {
        style: "currency",
        currency,
        ...(Number.isInteger(value) && { maximumFractionDigits: 0 }),
      });
  } catch {} // no currency of this name
  return `${value.toLocaleString("en")} ${currency}`.trim();
}
