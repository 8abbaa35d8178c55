/**
 * Folds rows of more than ten lines: they show ten, and a button for the rest. The words stay in the
 * document. A row is measured once, and again when the log has another width.
 */
import { make } from "../chat/dom.ts";

const MAX_LINES = 10;
/** A shorter text has no eleven lines, whatever the size of its letters. */
const SHORT = 40;

export class Folds {
  readonly #content: HTMLElement;
  readonly #keep: (change: () => void) => void;
  #measured = new WeakSet<Element>();
  readonly #unfolded = new WeakSet<Element>();
  #width = 0;

  /** `keep` makes a change without moving the rows in view. */
  constructor(content: HTMLElement, keep: (change: () => void) => void) {
    this.#content = content;
    this.#keep = keep;
    new ResizeObserver(() => {
      const { clientWidth } = content;
      if (clientWidth === this.#width || clientWidth === 0) return;
      this.#width = clientWidth;
      this.#measured = new WeakSet();
      keep(() => this.check());
    }).observe(content);
    content.addEventListener("click", ({ target }) => {
      if (target instanceof HTMLElement && target.matches("button.more")) this.#unfold(target);
    });
  }

  /** The row was drawn again. */
  forget(row: Element): void {
    this.#measured.delete(row);
  }

  /** Folds the rows that are new, or have changed. All are measured before the first one changes. */
  check(): void {
    const rows = [...this.#content.children].filter((row) => !this.#measured.has(row)) as HTMLElement[];
    for (const row of rows) this.#measured.add(row);
    const long = rows.filter((row) => !this.#unfolded.has(row) && isLong(row));
    for (const row of rows) if (!long.includes(row)) fold(row, false);
    for (const row of long) fold(row, true);
  }

  #unfold(button: HTMLElement): void {
    const row = button.closest<HTMLElement>(".row");
    if (!row) return;
    this.#unfolded.add(row);
    const { parentElement: log } = this.#content;
    this.#keep(() => fold(row, false));
    log?.focus({ preventScroll: true }); // the button that had it is gone
  }
}

function isLong(row: HTMLElement): boolean {
  const field = row.querySelector("[data-field=message]");
  if (!field || (field.textContent ?? "").length < SHORT) return false;
  const boxes = [...field.getClientRects()]; // a text in a line has some in each line, a block has one
  const [first] = boxes;
  if (!first) return false;
  const lines = new Set(boxes.map(({ bottom }) => Math.round(bottom))).size;
  if (lines > 1) return lines > MAX_LINES;
  return first.height > (MAX_LINES + 0.5) * Number.parseFloat(getComputedStyle(field).lineHeight);
}

function fold(row: HTMLElement, isFolded: boolean): void {
  row.toggleAttribute("data-folded", isFolded);
  const button = row.querySelector(":scope > .more");
  if (isFolded && !button) row.append(make("button", { type: "button", class: "more" }, "More"));
  if (!isFolded) button?.remove();
}
