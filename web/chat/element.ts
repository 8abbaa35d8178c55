/** Makes elements by DOM methods alone: text stays text, whatever it says. */

type Attributes = Record<string, string | number | undefined>;
type Child = Node | string | undefined;

/** An attribute whose value is undefined or empty is left out, and so is a child that is undefined. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/** Sets the attributes; takes away those whose value is undefined or empty. */
export function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === "") element.removeAttribute(name);
    else element.setAttribute(name, String(value));
  }
}

/** The element that the page's own HTML holds under this selector. Throws where it holds none of this class. */
export function find<E extends Element>(selector: string, type: new () => E): E {
  const element = document.querySelector(selector);
  if (!(element instanceof type)) throw new Error(`the page has no ${selector}`);
  return element;
}
