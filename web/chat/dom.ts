/** Builds elements with DOM methods only, so text is never parsed as HTML. */

type Attributes = Record<string, string | number | undefined>;
type Child = Node | string | undefined;

/** Skips attributes that are undefined or empty, and children that are undefined. */
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

/** Sets the attributes; removes those that are undefined or empty. */
export function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === "") element.removeAttribute(name);
    else element.setAttribute(name, String(value));
  }
}

/**
 * The element for this selector, in the whole page or within another element. Throws if there is none of this
 * class.
 */
export function find<E extends Element>(
  selector: string,
  type: new () => E,
  within: ParentNode = document,
): E {
  const element = within.querySelector(selector);
  if (!(element instanceof type)) throw new Error(`the page has no ${selector}`);
  return element;
}
