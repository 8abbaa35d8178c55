/**
 * The stylesheet for *Custom CSS* in OBS: a box for any CSS, and fields that write the overlay's custom
 * properties at its end.
 */
import { make } from "../../chat/dom.ts";
import { type Field, judged, textField } from "./fields.ts";

interface Property {
  name: string;
  label: string;
  placeholder: string;
  /** The property of CSS whose values it takes. */
  like: string;
}

const PROPERTIES: readonly Property[] = [
  { name: "chat-font-family", label: "Font", placeholder: "Georgia, serif", like: "font-family" },
  { name: "chat-color", label: "Colour of text", placeholder: "#ffffff", like: "color" },
  { name: "chat-author-color", label: "Colour of names", placeholder: "#cfd6e4", like: "color" },
  { name: "chat-background", label: "Background", placeholder: "rgb(0 0 0 / 60%)", like: "color" },
  { name: "chat-width", label: "Width", placeholder: "420px", like: "width" },
];
const DEFAULT_COLOR = /^#[0-9a-f]{6}$/i;
/** What the fields have written. */
const WRITTEN = /\n*:root \{\n(?: {2}--chat-[\w-]+: .*;\n)+\}\n?$/;

export class DesignFields {
  readonly fields: readonly Field[];
  readonly css = make("textarea", { name: "css", rows: 7, spellcheck: "false", autocomplete: "off" });
  readonly #fields = PROPERTIES.map((property) => ({ property, field: newField(property) }));

  constructor() {
    for (const { field } of this.#fields) field.element.addEventListener("input", () => this.#write());
    this.css.placeholder = '@import url("https://fonts.example/css?family=Inter");';
    this.fields = this.#fields.map(({ field }) => field);
  }

  /** Shows the values in the query. */
  show(query: string): void {
    for (const { field } of this.#fields) field.show(query);
    this.#write();
  }

  /** The fields' values for the page's own URL. */
  chosen(): [string, string][] {
    return this.#fields
      .map(({ property, field }): [string, string] => [property.name, field.value()])
      .filter(([, value]) => value !== "");
  }

  /** `@import` must come before all rules, so these are at the end. */
  #write(): void {
    const written = this.#fields
      .filter(({ field }) => field.judge?.() === "" && field.value() !== "")
      .map(({ property, field }) => `  --${property.name}: ${field.value()};\n`);
    const own = this.css.value.replace(WRITTEN, "");
    const block = written.length === 0 ? "" : `:root {\n${written.join("")}}\n`;
    this.css.value = own !== "" && block !== "" ? `${own}\n\n${block}` : own + block;
  }
}

function newField({ name, label, placeholder, like }: Property): Field {
  const field = textField(name, label, placeholder);
  const input = field.element.querySelector("input");
  if (like === "color" && input) {
    const value = DEFAULT_COLOR.test(placeholder) ? placeholder : "#000000";
    const picker = make("input", { type: "color", value, "aria-label": `${label}: choose` });
    picker.addEventListener("input", () => {
      input.value = picker.value; // before the event reaches those that read the field
    });
    input.after(picker);
  }
  return judged(field, () =>
    field.value() === "" || CSS.supports(like, field.value()) ? "" : `Not used: CSS knows no such ${like}.`,
  );
}
