/** The overlay in a frame of the source's size, scaled down to the space that the page has for it. */
import { find } from "../../chat/dom.ts";

/** While the user types, the overlay must not be loaded at each key. */
const WAIT_MS = 300;
/** As in the stylesheet: the preview is beside the controls, else above them. */
const WIDE = matchMedia("(min-width: 900px)");
/** Above and below what stays in sight. */
const MARGIN_PX = 32;
/** The part of the window's height that the preview has at least, above the controls at most. */
const LOW = 0.35;

export class Preview {
  readonly #frame = find("#preview", HTMLIFrameElement);
  readonly #screen = find("#screen", HTMLElement);
  readonly #backdrop = find("#backdrop", HTMLElement);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #url = "";
  #css = "";

  constructor() {
    this.#frame.addEventListener("load", () => this.#dress());
    new ResizeObserver(() => this.#scale()).observe(this.#backdrop);
    addEventListener("resize", () => this.#scale());
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

  /** Adds the user's stylesheet to the overlay, as OBS does. */
  dress(css: string): void {
    this.#css = css;
    this.#dress();
  }

  #dress(): void {
    const overlay = this.#frame.contentDocument;
    if (!overlay || overlay.URL === "about:blank") return; // it comes, or no page may embed it
    const known = overlay.querySelector("#custom-css");
    if ((known?.textContent ?? "") === this.#css) return;
    const style = known ?? overlay.head.appendChild(overlay.createElement("style"));
    style.id = "custom-css";
    style.textContent = this.#css;
  }

  /** Lengths in CSS pixels. */
  resize(width: number, height: number): void {
    Object.assign(this.#frame.style, { width: `${width}px`, height: `${height}px` });
    this.#scale();
  }

  #scale(): void {
    const { offsetWidth, offsetHeight } = this.#frame;
    const heightPx = WIDE.matches ? innerHeight - this.#backdrop.offsetTop - MARGIN_PX : innerHeight * LOW;
    const fitting = Math.max(innerHeight * LOW, heightPx) / offsetHeight;
    const scale = Math.min(1, this.#backdrop.clientWidth / offsetWidth, fitting);
    this.#frame.style.transform = `scale(${scale})`;
    Object.assign(this.#screen.style, {
      width: `${offsetWidth * scale}px`,
      height: `${offsetHeight * scale}px`,
    });
  }
}
