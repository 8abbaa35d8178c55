/** Checkboxes as chips: one for each group of types, as the controls of both pages have them. */
import { make } from "./dom.ts";
import { typesOf } from "./parameters.ts";

const LABELS = {
  chat: "Chat",
  paid: "Paid",
  members: "Members",
  polls: "Polls",
  pinned: "Pinned",
  notices: "Notices",
  moderation: "Moderation",
} as const;
const GROUPS = Object.keys(LABELS) as (keyof typeof LABELS)[];
/** The groups that are shown if no types are named. */
const USUAL: readonly string[] = GROUPS.filter((name) => name !== "moderation");

/** A checkbox as a chip. */
export function chipOf(name: string, value: string, label: string) {
  const box = make("input", { type: "checkbox", name, value });
  // Enter would submit the form: on a chip it does the same as on a button.
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    box.click();
  });
  return { box, chip: make("label", { class: "chip" }, box, make("span", {}, label)) };
}

export class TypeBoxes {
  readonly #boxes: readonly HTMLInputElement[];
  /** The types shown last; if only some types of a group are shown, its box keeps exactly these. */
  #types: ReadonlySet<string> | undefined;

  constructor(place: HTMLElement) {
    this.#boxes = GROUPS.map((value) => {
      const { box, chip } = chipOf("types", value, LABELS[value]);
      box.checked = true;
      place.append(chip);
      return box;
    });
  }

  /** Undefined: the usual types. */
  show(types: ReadonlySet<string> | undefined): void {
    this.#types = types;
    for (const box of this.#boxes) {
      const own = typesOf(box.value);
      const chosen = types ? own.filter((type) => types.has(type)) : USUAL.includes(box.value) ? own : [];
      box.checked = chosen.length === own.length;
      box.indeterminate = chosen.length > 0 && !box.checked;
    }
  }

  /**
   * A list for the URL: a group's name if all its types are chosen; empty for the usual types. A `gap` is
   * always shown, so it stands for no type at all.
   */
  list(): string {
    const chosen = this.#boxes.flatMap((box) => {
      if (box.checked) return [box.value];
      return box.indeterminate ? typesOf(box.value).filter((type) => this.#types?.has(type)) : [];
    });
    return chosen.join() === USUAL.join() ? "" : chosen.join() || "gap";
  }
}
