/** The overlay in a frame of the source's size, scaled down to the space that the page has for it. */
import { find } from "../../chat/dom.ts";

/** While the user types, the overlay must not be loaded at each key. */
const WAIT_MS = 300;

export class Preview {
  readonly #frame = find("#preview", HTMLIFrameElement);
  readonly #screen = find("#screen", HTMLElement);
  readonly #backdrop = find("#backdrop", HTMLElement);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #url = "";

  constructor() {
    new ResizeObserver(() => this.#scale()).observe(this.#backdrop);
  }

  /** Loads a changed URL once no further change follows for a moment. */
  load(url: string): void {
    clearTimeout(this.#timer);
    if (url === this.#url) return;
    const isFirst = this.#url === "";
    const load = (): void => {
      this.#url = url;
      this.#frame.contentWindow?.location.replace(url); // makes no entry in the history
    };
    if (isFirst) load();
    else this.#timer = setTimeout(load, WAIT_MS);
  }

  /** Lengths in CSS pixels. */
  resize(width: number, height: number): void {
    Object.assign(this.#frame.style, { width: `${width}px`, height: `${height}px` });
    this.#scale();
  }

  #scale(): void {
    const { offsetWidth, offsetHeight } = this.#frame;
    const scale = Math.min(1, this.#backdrop.clientWidth / offsetWidth, (innerHeight * 0.7) / offsetHeight);
    this.#frame.style.transform = `scale(${scale})`;
    Object.assign(this.#screen.style, {
      width: `${offsetWidth * scale}px`,
      height: `${offsetHeight * scale}px`,
    });
  }
}
