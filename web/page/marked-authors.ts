/**
 * Whose messages are highlighted and whose are muted: those that the parameters `mark` and `hide` name, and
 * those chosen on the page, which this browser remembers.
 */
import { find, make } from "../chat/dom.ts";
import { Parameters } from "../chat/parameters.ts";
import type { ShownMessage } from "../chat/shown-message.ts";
import { remember, remembered } from "./remembered.ts";

const KINDS = { mark: "Highlighted", hide: "Muted" } as const;
export type MarkKind = keyof typeof KINDS;
/** Maximum remembered authors of each kind; beyond it the oldest are forgotten. */
const MAX_PEOPLE = 200;

interface List {
  /** The parameter that was read last. */
  text: string;
  isNamed(message: ShownMessage): boolean;
  /** Names by channel id, or by name if there is no id. */
  chosen: Map<string, string>;
}

export class Marks {
  readonly #lists: Readonly<Record<MarkKind, List>> = { mark: newList(), hide: newList() };
  readonly #changed: (kind: MarkKind, isNarrower: boolean) => void;

  /** `changed` gets the list, and whether it now only shows less. */
  constructor(changed: (kind: MarkKind, isNarrower: boolean) => void) {
    this.#changed = changed;
    this.#remember();
    addEventListener("storage", ({ key }) => {
      if (key !== null && !Object.hasOwn(KINDS, key)) return; // another setting
      this.#remember();
      changed(key === "mark" ? key : "hide", false);
    });
  }

  /** Reads the parameters. Returns whether they have changed. */
  read(): boolean {
    const parameters = new Parameters(location.search);
    let isNew = false;
    for (const [kind, list] of this.#each()) {
      const text = parameters.text(kind);
      if (text === list.text) continue;
      Object.assign(list, { text, isNamed: parameters.people(kind) });
      isNew = true;
    }
    return isNew;
  }

  has(kind: MarkKind, id: string): boolean {
    return this.#lists[kind].chosen.has(id);
  }

  applies(kind: MarkKind, message: ShownMessage): boolean {
    const { chosen, isNamed } = this.#lists[kind];
    return chosen.has(message.details.authorId ?? message.author) || isNamed(message);
  }

  toggle(kind: MarkKind, id: string, name: string): void {
    const { chosen } = this.#lists[kind];
    const isTaken = chosen.delete(id);
    if (!isTaken) chosen.set(id, name);
    const [oldest = ""] = chosen.keys();
    if (chosen.size > MAX_PEOPLE) chosen.delete(oldest);
    remember(kind, JSON.stringify([...chosen]));
    this.#show();
    this.#changed(kind, !isTaken);
  }

  #each(): [MarkKind, List][] {
    return Object.entries(this.#lists) as [MarkKind, List][];
  }

  #remember(): void {
    for (const [kind, list] of this.#each()) list.chosen = readChosen(kind);
    this.#show();
  }

  /** The list in the controls, from which an author can be removed. */
  #show(): void {
    const items = this.#each().flatMap(([kind, { chosen }]) =>
      [...chosen].map(([id, name]) => {
        const button = make(
          "button",
          { type: "button", "aria-label": `${KINDS[kind]}: ${name}. Remove` },
          "Remove",
        );
        button.addEventListener("click", () => this.toggle(kind, id, name));
        return make("li", {}, `${KINDS[kind]}: `, make("bdi", {}, name), " ", button);
      }),
    );
    find("#people ul", HTMLElement).replaceChildren(...items);
    find("#people", HTMLElement).hidden = items.length === 0;
  }
}

function newList(): List {
  return { text: "", isNamed: () => false, chosen: new Map() };
}

/** Another version, or a user, may have written anything. */
function readChosen(kind: MarkKind): Map<string, string> {
  try {
    const pairs: unknown = JSON.parse(remembered(kind) ?? "[]");
    if (!Array.isArray(pairs)) return new Map();
    return new Map(
      pairs.slice(-MAX_PEOPLE).map((pair: unknown) => [String(Object(pair)[0]), String(Object(pair)[1])]),
    );
  } catch {
    return new Map();
  }
}
