/** The controls of the overlay's parameters. Each shows the value in a URL, and gives it back. */
import { BADGES } from "../../../src/protocol/kinds.ts";
import { make } from "../../chat/dom.ts";
import { type NumberRange, Parameters, type Warn, wordsOf } from "../../chat/parameters.ts";
import { chipOf, TypeBoxes } from "../../chat/type-boxes.ts";
import { CHOICES, NUMBERS, readOptions } from "../options.ts";

export interface Field {
  name: string;
  label: string;
  element: HTMLElement;
  /** Shows the value in the query; a value that cannot be used counts as absent. */
  show(query: string): void;
  /** The value for the URL; "" if it is the default, or cannot be used. */
  value(): string;
  /** Says below the control why its value is a fault, and returns these words; "" if it is none. */
  judge?(): string;
}

type Choice = keyof typeof CHOICES;
type NumberName = keyof typeof NUMBERS;

const BADGE_LABELS = {
  owner: "Owner",
  moderator: "Moderators",
  verified: "Verified",
  member: "Members",
} as const;

let ids = 0;

/** The control under its label, with a hint below it. */
function labelled(label: string, control: HTMLElement, hint?: string): HTMLElement {
  ids += 1;
  control.id = `field-${ids}`;
  const words = hint ? make("p", { class: "hint", id: `hint-${ids}` }, hint) : undefined;
  if (words) control.setAttribute("aria-describedby", words.id);
  return make("div", { class: "field" }, make("label", { for: control.id }, label), control, words);
}

export function textField(name: string, label: string, placeholder: string, hint?: string): Field {
  const input = make("input", { name, type: "text", placeholder, spellcheck: "false", autocomplete: "off" });
  return {
    name,
    label,
    element: labelled(label, input, hint),
    show: (query) => {
      input.value = new Parameters(query).text(name);
    },
    value: () => input.value.trim(),
  };
}

/** The field, with the judge's words below its control. */
export function judged(field: Field, judge: () => string): Field {
  const problem = make("p", { class: "problem", role: "status" });
  field.element.append(problem);
  return {
    ...field,
    judge: () => {
      const words = judge();
      if (problem.textContent !== words) problem.textContent = words;
      return words;
    },
  };
}

/** A text that the overlay reads; says what the overlay does not use of it, as the overlay's console does. */
export function optionField(
  name: string,
  label: string,
  placeholder: string,
  { hint, read = readOptions }: { hint?: string; read?: (overlay: URL, warn: Warn) => unknown } = {},
): Field {
  const field = textField(name, label, placeholder, hint);
  return judged(field, () => {
    const found: string[] = [];
    const overlay = new URL("../overlay", location.href);
    overlay.searchParams.set(name, field.value());
    read(overlay, (words) => found.push(words));
    return found.join(" ");
  });
}

/** An empty field is the default, which the field shows as its placeholder. */
export function numberField(name: NumberName, label: string, hint: string, placeholder?: string): Field {
  const range: NumberRange & { usual?: number } = NUMBERS[name];
  const { min, max, isWhole, usual } = range;
  const attributes = { name, type: "number", inputmode: "decimal", step: isWhole ? 1 : "any", min, max };
  const input = make("input", { ...attributes, placeholder: placeholder ?? String(usual) });
  // A field also takes `.5` and `1e2`: the URL has the number as the overlay reads it.
  const value = (): string =>
    input.value !== "" && input.validity.valid && Number(input.value) !== usual
      ? String(Number(input.value))
      : "";
  const field: Field = {
    name,
    label,
    value,
    element: labelled(label, input, hint),
    show: (query) => {
      const number = new Parameters(query).number(name, range, undefined);
      input.value = number === undefined ? "" : String(number);
    },
  };
  return judged(field, () => (input.validity.valid ? "" : `Not used: enter ${wordsOf(range)}.`));
}

export function switchField(name: Choice, label: string): Field {
  const input = make("input", { name, type: "checkbox", role: "switch" });
  const [usual] = CHOICES[name];
  return {
    name,
    label,
    element: make("label", { class: "switch" }, input, make("span", {}, label)),
    show: (query) => {
      input.checked = new Parameters(query).oneOf(name, CHOICES[name]) === "on";
    },
    value: () => {
      const value = input.checked ? "on" : "off";
      return value === usual ? "" : value;
    },
  };
}

/** `labels`: of the values, in their order. */
export function choiceField(name: Choice, label: string, labels: readonly string[]): Field {
  const values: readonly string[] = CHOICES[name];
  const options = values.map((value, at) => make("option", { value }, labels[at]));
  const select = make("select", { name }, ...options);
  return {
    name,
    label,
    element: labelled(label, select),
    show: (query) => {
      select.value = new Parameters(query).oneOf(name, CHOICES[name]);
    },
    value: () => (select.value === values[0] ? "" : select.value),
  };
}

/** The themes, each with a sample of itself. */
export function themeField(labels: readonly string[]): Field {
  const [usual] = CHOICES.theme;
  const inputs = CHOICES.theme.map((value) => make("input", { type: "radio", name: "theme", value }));
  const cards = inputs.map((input, at) => {
    const words = make("span", { class: "words" }, make("b", {}, "mia"), " ", make("span", {}, "hello!"));
    const attributes = { class: "sample", "data-sample": input.value, "aria-hidden": "true" };
    const sample = make("span", attributes, words);
    return make("label", { class: "theme" }, input, sample, make("span", {}, labels[at]));
  });
  const label = "Theme";
  const group = make("fieldset", { class: "themes" }, make("legend", {}, label), ...cards);
  return {
    name: "theme",
    label,
    element: group,
    show: (query) => {
      const chosen = new Parameters(query).oneOf("theme", CHOICES.theme);
      for (const input of inputs) input.checked = input.value === chosen;
    },
    value: () => {
      const value = inputs.find(({ checked }) => checked)?.value ?? usual;
      return value === usual ? "" : value;
    },
  };
}

/** Chips for the badges whose authors alone are shown, and `badges`, which shows or hides all of them. */
export function badgesField(shown: Field, label: string): Field {
  const chips = BADGES.map((kind) => chipOf("badge-kinds", kind, BADGE_LABELS[kind]));
  const kinds = make(
    "fieldset",
    { class: "chips" },
    make("legend", {}, label),
    ...chips.map(({ chip }) => chip),
  );
  return {
    ...shown,
    element: make("div", { class: "badges" }, shown.element, kinds),
    show: (query) => {
      const wanted = new Parameters(query).list("badges");
      for (const { box } of chips) box.checked = wanted.includes(box.value);
      // With kinds, the badges are shown: otherwise nobody sees why only these authors are.
      shown.show(chips.some(({ box }) => box.checked) ? "" : query);
    },
    value: () => chips.flatMap(({ box }) => (box.checked ? box.value : [])).join() || shown.value(),
  };
}

/** Only messages with a link. */
export function linksField(label: string): Field {
  const input = make("input", { name: "only", type: "checkbox", role: "switch" });
  return {
    name: "only",
    label,
    element: make("label", { class: "switch" }, input, make("span", {}, label)),
    show: (query) => {
      input.checked = new Parameters(query).text("only") === "links";
    },
    value: () => (input.checked ? "links" : ""),
  };
}

export function typesField(label: string): Field {
  const group = make("fieldset", { class: "chips" }, make("legend", {}, label));
  const boxes = new TypeBoxes(group);
  return {
    name: "types",
    label,
    element: group,
    show: (query) => boxes.show(new Parameters(query).types()),
    value: () => boxes.list(),
  };
}
