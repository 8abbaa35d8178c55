/**
 * Keeps the newest row in view until the reader scrolls up. From then on, the rows in view do not move while
 * rows above them change. (`column.ts` has the button that leads back.)
 */

/** Tolerance for fractions of a pixel and for rounding on a zoomed page. */
const AT_BOTTOM_PX = 4;

export class Follower {
  readonly #chat: HTMLElement;
  readonly #content: HTMLElement;
  readonly #changed: (following: boolean) => void;
  readonly #isNewest: () => boolean;
  #following = true;
  #lastTop = 0;
  /** The `scrollTop` of the bottom when it was looked at last. */
  #lastBottom = 0;
  #read: { element: Element; top: number }[] = [];

  /**
   * `isNewest`: whether the lowest row is the newest one. If not, reaching the bottom does not resume
   * following.
   */
  constructor(
    chat: HTMLElement,
    content: HTMLElement,
    changed: (following: boolean) => void,
    isNewest: () => boolean,
  ) {
    this.#isNewest = isNewest;
    this.#chat = chat;
    this.#content = content;
    this.#changed = changed;
    chat.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    chat.addEventListener("keydown", ({ key }) => key === "End" && this.follow());
    const sizes = new ResizeObserver(() => this.#settle());
    sizes.observe(chat);
    sizes.observe(content);
  }

  get following(): boolean {
    return this.#following;
  }

  follow(): void {
    this.#set(true);
    this.#settle();
  }

  /** Shows the row in the middle, and stops following the newest ones. */
  show(row: HTMLElement): void {
    this.#set(false);
    row.scrollIntoView({ block: "center" });
    this.#remember();
    this.#note();
  }

  /** Changes the rows without moving the rows in view. */
  keep(change: () => void): void {
    this.#scrolled(); // a scroll whose event has not fired yet
    change();
    this.#settle();
  }

  #scrolled(): void {
    const { scrollTop, clientHeight } = this.#chat;
    const upPx = this.#lastTop - scrollTop;
    // Rows that shrink by themselves, such as those of pictures that fail, move the view a little, too.
    const isByReader = this.#bottom === this.#lastBottom || upPx > clientHeight / 2;
    if (this.#bottom - scrollTop <= AT_BOTTOM_PX && this.#isNewest()) this.#set(true);
    else if (upPx > 1 && isByReader) this.#set(false);
    this.#remember();
    if (!this.#following) this.#note();
  }

  #set(following: boolean): void {
    if (following === this.#following) return;
    this.#following = following;
    this.#changed(following);
    if (following) this.#settle();
  }

  get #bottom(): number {
    return this.#chat.scrollHeight - this.#chat.clientHeight;
  }

  #remember(): void {
    this.#lastTop = this.#chat.scrollTop;
    this.#lastBottom = this.#bottom;
  }

  #settle(): void {
    if (this.#following) this.#chat.scrollTop = this.#chat.scrollHeight;
    else {
      const kept = this.#read.find(({ element }) => element.isConnected);
      if (kept) this.#chat.scrollTop += kept.element.getBoundingClientRect().top - kept.top;
      this.#note();
    }
    this.#remember();
  }

  /** Remembers the places of the rows in view. */
  #note(): void {
    const { top, bottom } = this.#chat.getBoundingClientRect();
    const rows = this.#content.children;
    let [first, end] = [0, rows.length];
    while (first < end) {
      const middle = (first + end) >> 1;
      if ((rows[middle]?.getBoundingClientRect().top ?? 0) < top) first = middle + 1;
      else end = middle;
    }
    this.#read = [];
    for (const element of [...rows].slice(Math.max(0, first), first + 100)) {
      const at = element.getBoundingClientRect().top;
      if (at > bottom) return;
      this.#read.push({ element, top: at });
    }
  }
}
