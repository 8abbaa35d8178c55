/** A tablist: a click chooses a tab, and so do the arrow keys. */

const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };

export class Tabs {
  readonly #tabs: readonly HTMLButtonElement[];

  /** `chosen` gets the tab's value. */
  constructor(list: HTMLElement, chosen: (value: string) => void) {
    this.#tabs = [...list.querySelectorAll<HTMLButtonElement>("[role=tab]")];
    for (const [at, tab] of this.#tabs.entries()) {
      tab.addEventListener("click", () => chosen(tab.value));
      tab.addEventListener("keydown", ({ key }) => {
        const step = STEPS[key];
        const next = step && this.#tabs.at((at + step) % this.#tabs.length);
        if (!next) return;
        next.focus();
        next.click();
      });
    }
  }

  show(value: string): void {
    for (const tab of this.#tabs) {
      tab.setAttribute("aria-selected", String(tab.value === value));
      tab.tabIndex = tab.value === value ? 0 : -1;
    }
  }
}
