/**
 * The pinned message and the open poll, above the chat: a third of the source at most, half of it with a
 * poll. Text that does not fit is cut off after a whole line; if not even one line fits, the message is
 * hidden.
 */

const MAX_LINES = 40;
/** With fewer lines, the words of the message take the place of its headings, and the poll has no foot. */
const HEADED_LINES = 3;

export class Pinned {
  readonly #place: HTMLElement;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(place: HTMLElement) {
    this.#place = place;
    addEventListener("resize", () => this.fit());
    // A picture takes its place only once it is there, or its text does once it fails.
    for (const event of ["load", "error"]) place.addEventListener(event, () => this.#fitSoon(), true);
  }

  /** `elements`: the message, then the poll, as far as there are such. */
  show(elements: readonly HTMLElement[]): void {
    const { children } = this.#place;
    if (elements.length === children.length && elements.every((each, at) => each === children[at])) return;
    this.#place.replaceChildren(...elements);
    this.#place.toggleAttribute("data-poll", elements.some(isPoll));
    this.fit();
  }

  /** Finds the maximum number of lines that fit. */
  fit(): void {
    const rows = [...this.#place.children] as HTMLElement[];
    if (rows.length === 0) return;
    for (const row of rows) row.toggleAttribute("hidden", false);
    this.#place.toggleAttribute("data-tight", false);
    if (this.#hasPlaceFor(MAX_LINES)) return;
    this.#place.toggleAttribute("data-tight", this.#mostLines() < HEADED_LINES);
    if (!this.#hasPlaceFor(1)) for (const row of rows) row.toggleAttribute("hidden", !isPoll(row));
    this.#hasPlaceFor(this.#mostLines());
  }

  #mostLines(): number {
    let lines = 1;
    while (lines < MAX_LINES && this.#hasPlaceFor(lines + 1)) lines += 1;
    return lines;
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

function isPoll({ dataset }: HTMLElement): boolean {
  return dataset.pollId !== undefined;
}
