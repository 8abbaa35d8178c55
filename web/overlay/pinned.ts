/**
 * The pinned messages, above the chat: a third of the source at most, however small it is. Text that does not
 * fit is cut off after a whole line; if not even one line of each fits, the older ones are hidden.
 */

const MAX_LINES = 40;

export class Pinned {
  readonly #place: HTMLElement;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(place: HTMLElement) {
    this.#place = place;
    addEventListener("resize", () => this.fit());
    // A picture takes its place only once it is there, or its text does once it fails.
    for (const event of ["load", "error"]) place.addEventListener(event, () => this.#fitSoon(), true);
  }

  get count(): number {
    return this.#place.childElementCount;
  }

  /** The elements, the oldest first. */
  show(elements: readonly HTMLElement[]): void {
    if (elements.length === this.count && elements.every((each) => each.isConnected)) return;
    this.#place.replaceChildren(...elements);
    this.fit();
  }

  /** Finds the maximum number of lines that fit. */
  fit(): void {
    if (this.count === 0) return;
    const rows = [...this.#place.children] as HTMLElement[];
    for (const row of rows) row.toggleAttribute("hidden", false);
    if (this.#hasPlaceFor(MAX_LINES)) return;
    while (!this.#hasPlaceFor(1) && rows.length > 0) rows.shift()?.toggleAttribute("hidden", true);
    let lines = 1;
    while (lines < MAX_LINES && this.#hasPlaceFor(lines + 1)) lines += 1;
    this.#hasPlaceFor(lines);
  }

  /** Once for all pictures that come together. */
  #fitSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.fit());
  }

  /**
   * Sets the number of lines, and returns whether everything fits then, up to a fraction of a pixel. Uses
   * positions of the layout, which an animation does not change.
   */
  #hasPlaceFor(lines: number): boolean {
    const place = this.#place;
    place.style.setProperty("--pinned-lines", String(lines));
    const last = place.lastElementChild as HTMLElement;
    return last.offsetTop + last.offsetHeight - place.offsetTop <= place.clientHeight + 1;
  }
}
